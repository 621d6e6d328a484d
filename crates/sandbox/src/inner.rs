//! The inner stage: what bwrap and firejail cannot do, done by a program of ours just before the command.
//!
//! The outer program starts it inside its sandbox with a descriptor from which it reads the rest of the plan. It makes
//! mounts noexec where it was given the right to, gives up everything, restricts itself by Landlock, limits and seccomp,
//! and becomes the command. If any of that fails, it says which step and exits; the command never runs.

#[cfg(target_os = "linux")]
mod alive;
mod expected;

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use self::expected::Expected;
use crate::error::SandboxError;
#[cfg(target_os = "linux")]
use crate::host::Identity;
use crate::plan::{Entry, Plan, ProcessLimit, Rule};
use crate::seccomp::Profile;
use crate::spec::Access;

/// The first argument by which a program knows that it is the inner stage; the second is the number of the plan's
/// descriptor. The one after it is a pipe that is closed when the process that asked for the sandbox has ended.
pub const ARGUMENT: &str = "--ringfence-inner-stage";

/// The first argument by which a program knows that it is to try what is forbidden; two files follow.
pub(crate) const PROBE: &str = "--ringfence-probe";

/// The exit code of an inner stage that failed.
pub const FAILED: u8 = 125;

/// What an inner stage that failed says first.
pub const FAILED_WORD: &str = "ringfence inner stage: ";

/// Becomes the command, when these arguments (without the program's own name) are those of an inner stage. Returns what to say
/// before exiting with [`FAILED`], only when that failed.
///
/// Where a machine has no shell, the program is also what a sandbox is tried with. It then says what it could do.
pub fn stage(arguments: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut arguments = arguments.into_iter();
    let first = arguments.next()?;
    if first == PROBE {
        let mut file = || arguments.next().map(PathBuf::from).unwrap_or_default();
        return Some(crate::probe::attempt(&file(), &file()));
    }
    if first != ARGUMENT {
        return None;
    }
    #[cfg(target_os = "linux")]
    {
        let descriptor = arguments.next().and_then(|number| number.into_string().ok()).unwrap_or_default();
        Some(format!("{FAILED_WORD}{}", enter(&descriptor)))
    }
    #[cfg(not(target_os = "linux"))]
    Some(format!("{FAILED_WORD}it exists on Linux only"))
}

/// The rest of a plan, as it is passed to the inner stage.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Inner {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) directory: PathBuf,
    pub(crate) rules: Vec<InnerRule>,
    pub(crate) limits: Vec<ProcessLimit>,
    pub(crate) seccomp: Profile,
    /// Mounts to be made noexec, and read-only where they are not to be written.
    pub(crate) no_exec: Vec<(PathBuf, bool)>,
    /// What must be there: the outer program mounts by name, and a name may lead elsewhere by then.
    expected: Expected,
}

/// A Landlock rule.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct InnerRule {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) file: bool,
    /// Device and inode of the file it must be on, where that is known.
    identity: Option<(u64, u64)>,
}

impl InnerRule {
    fn of(rule: &Rule) -> Self {
        let identity = rule.identity.map(|one| (one.device, one.inode));
        Self { path: rule.path.clone(), access: rule.access, file: rule.file, identity }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn to_rule(&self) -> Rule {
        let identity = self.identity.map(|(device, inode)| Identity { device, inode });
        Rule { path: self.path.clone(), access: self.access, file: self.file, identity }
    }
}

/// Whether the outer program mounted a root of our own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Root {
    /// Only what was granted exists.
    Own,
    /// Everything exists, and only rules hold it back.
    Shared,
}

impl Inner {
    pub(crate) fn new(
        plan: &Plan,
        limits: &[ProcessLimit],
        root: Root,
        counted_memory: bool,
    ) -> Result<Self, SandboxError> {
        let unicode = |text: &std::ffi::OsStr, what: &str| {
            text.to_str()
                .map(str::to_owned)
                .ok_or_else(|| SandboxError::Inexpressible { what: format!("{what} that is not UTF-8") })
        };
        let arguments =
            plan.arguments.iter().map(|one| unicode(one, "an argument")).collect::<Result<_, _>>()?;
        let pair = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
            Ok::<_, SandboxError>((unicode(name, "a variable")?, unicode(value, "a variable")?))
        };
        let rules = match root {
            Root::Own => plan.landlock.rules.clone(),
            Root::Shared => plan.landlock.without_the_root(plan),
        };
        // A part of the base that a granted folder covers is no mount of its own any more.
        let covers = |entry: &&Entry| {
            let folders = plan.root.iter().filter(|other| matches!(other, Entry::Bind { file: false, .. }));
            folders.map(Entry::path).any(|folder| entry.path().starts_with(folder))
        };
        let base = plan.base.iter().filter(|entry| !covers(entry));
        let no_exec = base.chain(&plan.root).filter_map(|entry| match entry {
            Entry::Bind { path, access, .. } if !access.execute => Some((path.clone(), !access.write)),
            Entry::Scratch { path, .. } => Some((path.clone(), false)),
            Entry::Proc => Some((PathBuf::from("/proc"), true)),
            Entry::Device { path } => Some((path.clone(), true)),
            _ => None,
        });
        Ok(Self {
            expected: Expected::of(plan, root)?,
            program: plan.program.clone(),
            arguments,
            environment: plan.environment.iter().map(pair).collect::<Result<_, _>>()?,
            directory: plan.directory.clone(),
            rules: rules.iter().map(InnerRule::of).collect(),
            limits: plan.process_limits.iter().chain(limits).copied().collect(),
            seccomp: Profile { counted_memory, ..plan.seccomp },
            no_exec: if root == Root::Own { no_exec.collect() } else { Vec::new() },
        })
    }
}

#[cfg(target_os = "linux")]
fn changed(inner: &Inner) -> Option<&std::path::Path> {
    inner.expected.changed()
}

/// Becomes the command that the outer program was started for. Returns only when that failed.
///
/// For a program's `main`, when its first argument is [`ARGUMENT`]; `descriptor` is its second. The program should then
/// exit with [`FAILED`].
#[cfg(target_os = "linux")]
pub fn enter(descriptor: &str) -> SandboxError {
    use std::io::{Read, Seek, Write};
    let open = || -> std::io::Result<(std::fs::File, u32)> {
        let number: u32 = descriptor.parse().map_err(std::io::Error::other)?;
        // Only what an outer program of ours made: this is about to be overwritten.
        let is_ours = std::fs::read_link(format!("/proc/self/fd/{number}"))?
            .as_os_str()
            .as_encoded_bytes()
            .starts_with(b"/memfd:ringfence-plan");
        if !is_ours {
            return Err(std::io::Error::other("the descriptor holds no plan"));
        }
        let path = format!("/proc/self/fd/{number}");
        Ok((std::fs::OpenOptions::new().read(true).write(true).open(path)?, number))
    };
    let failed = |error| SandboxError::Step { step: crate::Step::Control, path: None, error };
    let (mut file, number) = match open() {
        Ok(opened) => opened,
        Err(error) => return failed(error),
    };
    let mut bytes = Vec::new();
    let read = file
        .read_to_end(&mut bytes)
        .and_then(|_| serde_json::from_slice(&bytes).map_err(Into::into))
        .and_then(|inner| alive::check(number.saturating_add(1)).map(|()| inner));
    let error = match read {
        Ok(inner) => match changed(&inner) {
            Some(path) => expected::replaced(path),
            None => crate::linux::inner::become_command(&inner),
        },
        Err(error) => failed(error),
    };
    // The parent reads the same file: what failed is written where the plan was. Nothing else can be done about it.
    let _told =
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{FAILED_WORD}{error}"));
    error
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::{Access, DenyAll, Sandbox, Spec};

    #[test]
    fn a_folder_that_was_exchanged_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let (granted, other) = (root.join("granted"), root.join("other"));
        std::fs::create_dir(&granted).unwrap();
        std::fs::create_dir(&other).unwrap();
        let plan = Sandbox::new(DenyAll).plan(&Spec::new("/bin/true").tree(&granted, Access::READ)).unwrap();
        let inner = Inner::new(&plan, &[], Root::Own, false).unwrap();
        assert_eq!(changed(&inner), None);
        std::fs::rename(&granted, root.join("away")).unwrap();
        std::fs::rename(&other, &granted).unwrap();
        assert_eq!(changed(&inner), Some(granted.as_path()));
        std::fs::remove_dir(&granted).unwrap();
        std::os::unix::fs::symlink("away", &granted).unwrap();
        assert_eq!(changed(&inner), Some(granted.as_path()), "not by a link either");
    }

    #[test]
    fn a_protected_file_that_was_exchanged_or_is_not_covered_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let write = |name: &str| std::fs::write(root.join(name), "").unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        write("sub/.envrc");
        let sandbox = Sandbox::new(DenyAll);
        let plan = |spec: Spec| sandbox.plan(&spec).unwrap();
        let first = plan(Spec::new("/bin/true").tree(&root, Access::WRITE));
        let inner = Inner::new(&first, &[], Root::Own, false).unwrap();
        assert_eq!(changed(&inner), None);
        write("new");
        std::fs::rename(root.join("new"), root.join("sub/.envrc")).unwrap();
        assert_eq!(changed(&inner), Some(root.join("sub/.envrc").as_path()));
        assert!(Inner::new(&first, &[], Root::Own, false).is_err(), "nothing is handed on then");
        std::fs::remove_file(root.join("sub/.envrc")).unwrap();
        assert_eq!(changed(&inner), Some(root.join("sub/.envrc").as_path()), "nor may it be gone");

        // The folder above it, which keeps it in its place.
        write("sub/.envrc");
        let second = plan(Spec::new("/bin/true").tree(&root, Access::WRITE));
        let inner = Inner::new(&second, &[], Root::Own, false).unwrap();
        std::fs::rename(root.join("sub"), root.join("away")).unwrap();
        std::fs::create_dir(root.join("sub")).unwrap();
        std::fs::hard_link(root.join("away/.envrc"), root.join("sub/.envrc")).unwrap();
        assert_eq!(changed(&inner), Some(root.join("sub").as_path()));

        // Nothing covers it here: an outer program must have.
        std::fs::remove_file(root.join("sub/.envrc")).unwrap();
        std::fs::create_dir(root.join(".ssh")).unwrap();
        let third = plan(Spec::new("/bin/true").tree(&root, Access::READ));
        for kind in [Root::Own, Root::Shared] {
            let inner = Inner::new(&third, &[], kind, false).unwrap();
            assert_eq!(changed(&inner), Some(root.join(".ssh").as_path()), "{kind:?}");
        }
    }
}
