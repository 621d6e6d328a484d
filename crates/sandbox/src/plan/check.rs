//! The second pair of eyes: a finished plan holds nothing that is not explained.
//!
//! INVARIANT: every path of a plan lies in a granted tree, is the system's, is a program that was named, or lies in the installation
//! of one. This looks again, by itself: it shares no code with what chose the paths, so that one mistake is not made twice.

mod choice;

use std::cell::RefCell;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use ringfence_policy::{Direction, FloorKind};

use self::choice::{Started, started};
use super::seen::Seen;
use super::{Entry, Plan};
use crate::error::SandboxError;
use crate::spec::{Access, Spec};

/// How a check sees the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Eyes {
    /// As it is.
    Open,
    /// Not at all, for plans of a machine that does not exist: every path is what it says, and root's.
    #[cfg(test)]
    Closed,
}

const SYSTEM: &[&str] =
    &["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix/store", "gnu/store", "System"];
const WORK: &[&str] = &["/usr/src", "/usr/local/src", "/usr/home"];
const SETTINGS: &[&str] = &[
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "java",
    "ld.so.cache",
    "localtime",
    "magic",
    "perl",
    "php",
    "pki",
    "ssl",
    "static",
];
/// Where the system keeps all its programs: to be started each by name.
const PROGRAMS: &[&str] = &[
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/games",
    "/bin",
    "/sbin",
    "/usr/libexec",
];
/// What an installation has of folders.
const PARTS: &[&str] = &["bin", "conf", "lib", "lib64", "libexec", "share"];
/// What a sandbox has of its own.
const OWN: &[&str] = &["/dev", "/etc", "/proc", "/tmp"];
const OWN_LINKS: &[&str] = &["/dev/fd", "/dev/shm", "/dev/stderr", "/dev/stdin", "/dev/stdout", "/var/tmp"];

/// Goes through a plan.
///
/// # Errors
///
/// The first path that nothing explains.
pub(super) fn check(plan: &Plan, spec: &Spec, seen: &Seen) -> Result<(), SandboxError> {
    let check = Check::new(plan, spec, seen);
    let is_known = was_checked(&plan.base);
    for entry in plan.base.iter().filter(|_| !is_known).chain(&plan.root) {
        let explained = match entry {
            Entry::Bind { path, access, protected, .. } => check.bind(path, *access, *protected),
            Entry::Link { path, .. } => check.link(path),
            // Made by us, of nothing that was there; or something that is taken away.
            Entry::Cover { .. }
            | Entry::Device { .. }
            | Entry::Directory { .. }
            | Entry::File { .. }
            | Entry::Hidden { .. }
            | Entry::Proc
            | Entry::Scratch { .. } => true,
        };
        if !explained {
            return Err(unexplained(entry.path(), "reading or writing it"));
        }
    }
    if !is_known && check.eyes == Eyes::Open {
        CHECKED.lock().unwrap_or_else(PoisonError::into_inner).push(plan.base.clone());
    }
    for rule in &plan.landlock.rules {
        if !check.rule(&rule.path, rule.access) {
            return Err(unexplained(&rule.path, "a rule on it"));
        }
    }
    if spec.image.is_none() && !check.started.iter().any(|one| one.asked == plan.program) {
        return Err(unexplained(&plan.program, "starting it"));
    }
    // What is in an image is not seen here.
    if spec.image.is_none() && !check.directory(&plan.directory) {
        return Err(unexplained(&plan.directory, "working there"));
    }
    Ok(())
}

/// What every sandbox of this machine holds: the same each time, without and with a terminal, so that it is looked at once.
static CHECKED: Mutex<Vec<Vec<Entry>>> = Mutex::new(Vec::new());

fn was_checked(base: &[Entry]) -> bool {
    CHECKED.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|known| known == base)
}

fn unexplained(path: &Path, what: &str) -> SandboxError {
    let why = format!("no grant and no folder of the system explains {what}, so that nothing is started");
    SandboxError::Path { path: path.to_path_buf(), error: std::io::Error::other(why) }
}

struct Check<'a> {
    plan: &'a Plan,
    spec: &'a Spec,
    eyes: Eyes,
    /// The granted trees, followed once more.
    granted: Vec<(PathBuf, Access)>,
    /// The programs that were named, followed once more, where no link on the way could have been planted.
    named: Vec<PathBuf>,
    started: Vec<Started<'a>>,
    /// Paths that were seen to be the system's, so that each folder is looked at once.
    seen: RefCell<HashSet<PathBuf>>,
}

impl<'a> Check<'a> {
    fn new(plan: &'a Plan, spec: &'a Spec, seen: &'a Seen) -> Self {
        let eyes = seen.eyes;
        let trees =
            spec.trees.iter().chain(&spec.possible).filter(|tree| !plan.left_out.contains(&tree.path));
        let granted = trees.filter_map(|tree| Some((eyes.real(&tree.path)?, tree.access))).collect();
        let mut all = Vec::new();
        seen.programs.iter().for_each(|program| started(program, None, &mut all));
        let check =
            Self { plan, spec, eyes, granted, named: Vec::new(), started: all, seen: RefCell::default() };
        let named = std::iter::once(&spec.program).chain(&spec.binaries).filter(|_| spec.image.is_none());
        let named = named.filter(|path| check.is_named_directly(path)).filter_map(|path| eyes.real(path));
        Self { named: named.collect(), ..check }
    }

    fn bind(&self, path: &Path, access: Access, protected: bool) -> bool {
        let granted = if protected {
            // It takes something away from a tree, and may be gone by now. It need not be readable to be kept from change.
            self.is_granted(path, Access { read: false, ..access })
        } else {
            self.is_granted(path, access) && self.eyes.is_plain(path)
        };
        let is_given = || !access.write && !protected && self.is_given(path);
        !self.is_on_the_floor(path, access) && (granted || is_given())
    }

    /// Tells whether trees around a path allow what is to be done there, together.
    fn is_granted(&self, path: &Path, wanted: Access) -> bool {
        let over =
            || self.granted.iter().filter(|(tree, _)| path.starts_with(tree)).map(|(_, access)| access);
        over().next().is_some()
            && (!wanted.read || over().any(|access| access.read))
            && (!wanted.write || over().any(|access| access.write))
    }

    /// Tells whether a path may be read that no tree covers.
    fn is_given(&self, path: &Path) -> bool {
        self.is_system(path)
            || self.named.iter().any(|named| named == path)
            || self.started.iter().filter(|one| self.may_be_used(one)).any(|one| {
                self.in_installation(path, one.real)
                    || self.in_environment(path, one)
                    || one.real == path && self.is_called_by_the_system(one.asked, path)
            })
    }

    /// Tells whether a command may start in a folder: one that is made here, or one in something mounted that no link leads to.
    fn directory(&self, path: &Path) -> bool {
        let has = |entry: &Entry| match entry {
            Entry::Directory { path: made } | Entry::Scratch { path: made, .. } => made == path,
            Entry::Bind { path: at, file: false, .. } => path.starts_with(at) && self.eyes.is_plain(path),
            Entry::Proc => path.starts_with("/proc"),
            _ => false,
        };
        path == Path::new("/") || self.plan.base.iter().chain(&self.plan.root).any(has)
    }

    fn rule(&self, path: &Path, access: Access) -> bool {
        if path == Path::new("/") {
            return !access.write && (!access.execute || self.spec.any_binary);
        }
        if OWN.iter().any(|own| path == Path::new(own)) && !access.execute {
            let changes = ["/dev", "/tmp"].iter().any(|own| path == Path::new(own));
            return !access.write || changes || self.has_bind(path, access);
        }
        let held = !(access.read || access.write) || self.has_bind(path, access);
        held && (!access.execute || self.may_start(path))
    }

    /// Tells whether something that is mounted, and so explained, gives what a rule allows.
    fn has_bind(&self, path: &Path, wanted: Access) -> bool {
        self.plan.base.iter().chain(&self.plan.root).any(|entry| match entry {
            Entry::Bind { path: at, access, .. } => {
                path.starts_with(at) && (access.read || !wanted.read) && (access.write || !wanted.write)
            }
            _ => false,
        })
    }

    fn may_start(&self, path: &Path) -> bool {
        let any = self.spec.any_binary;
        let by_tree =
            |(tree, has): &(PathBuf, Access)| path.starts_with(tree) && (has.execute || any && !has.write);
        let all_programs = PROGRAMS.iter().any(|folder| Path::new(folder).starts_with(path));
        let is_system = || !all_programs && self.is_system(path);
        let is_named = || self.named.iter().any(|named| named == path);
        // What is started by a script lies in a granted tree, is the system's, or was installed.
        let is_started = || {
            let granted = self.is_granted(path, Access::READ);
            let by = |asked: &Path| granted || self.is_called_by_the_system(asked, path);
            self.started.iter().any(|one| one.real == path && by(one.asked))
        };
        let is_part = || {
            self.started.iter().filter(|one| self.may_be_used(one)).any(|one| {
                self.in_installation(path, one.real) || self.in_granted_installation(path, one.real)
            })
        };
        self.granted.iter().any(by_tree) || is_system() || is_named() || is_started() || is_part()
    }

    /// Tells whether a path is a part of the folder that a program is installed in.
    fn in_installation(&self, path: &Path, program: &Path) -> bool {
        let Some(prefix) = installed_in(program) else { return false };
        let is_part = path == program || is_part_of(path, prefix);
        let in_tree = || self.granted.iter().any(|(tree, _)| prefix.starts_with(tree));
        is_part
            && self.has_shape(prefix, program)
            && !in_tree()
            && self.is_own_folder(prefix)
            && self.eyes.is_plain(path)
            && !self.is_on_the_floor(path, Access::READ)
    }

    fn in_granted_installation(&self, path: &Path, program: &Path) -> bool {
        let Some(prefix) = installed_in(program) else { return false };
        self.is_granted(path, Access::READ) && is_part_of(path, prefix) && self.eyes.is_plain(path)
    }

    /// Tells whether a folder can be one program's own: no home, nothing around one, nothing around what is written.
    fn is_own_folder(&self, prefix: &Path) -> bool {
        let holds = |path: &Path| path.starts_with(prefix);
        let homes = ["/root", "/home", "/Users"].map(Path::new);
        let in_homes = prefix.parent().is_some_and(|above| homes.iter().skip(1).any(|homes| above == *homes));
        let is_home =
            in_homes || homes.iter().any(|home| holds(home)) || self.spec.home.as_deref().is_some_and(holds);
        let is_written = self.granted.iter().any(|(tree, has)| has.write && holds(tree));
        !is_home
            && !is_written
            && prefix.components().count() > 2
            && self.is_no_home(prefix)
            && !self.is_on_the_floor(prefix, Access::READ)
            && self.eyes.is_own(prefix)
    }

    fn is_system(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix("/") else { return false };
        let first = |names: &[&str], below: &Path| names.iter().any(|name| below.starts_with(name));
        let setting = below.strip_prefix("etc").is_ok_and(|name| {
            let text = name.as_os_str().as_encoded_bytes();
            let versioned = [b"python".as_slice(), b"java-"].iter().any(|start| {
                text.strip_prefix(*start).and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
            });
            versioned || first(SETTINGS, name)
        });
        let other =
            ["Library/Developer", "var/lib/ca-certificates", "var/db/timezone", "private/var/db/timezone"];
        let known = first(SYSTEM, below) || setting || first(&other, below);
        known
            && !WORK.iter().any(|work| path.starts_with(work))
            && self.eyes.is_roots(path, &mut self.seen.borrow_mut())
    }

    /// A link is harmless where what it leads to is, or where something that is there lies below that.
    fn link(&self, path: &Path) -> bool {
        if OWN_LINKS.iter().any(|own| path == Path::new(own)) {
            return true;
        }
        // A link of the root that leads nowhere shows nothing.
        let Some(real) = self.eyes.real(path) else { return path.parent() == Some(Path::new("/")) };
        #[cfg(test)]
        if self.eyes == Eyes::Closed {
            return true;
        }
        let entries = self.plan.base.iter().chain(&self.plan.root);
        let mut binds = entries.filter(|entry| matches!(entry, Entry::Bind { .. })).map(Entry::path);
        binds.any(|bind| bind.starts_with(&real) || real.starts_with(bind)) || self.is_system(&real)
    }

    fn is_on_the_floor(&self, path: &Path, access: Access) -> bool {
        let denies = |direction| self.spec.named.denies(path, direction).map(|(line, _)| line.kind);
        // Hooks are kept from change, and may be read.
        let is_unreadable = access.read && denies(Direction::Read).is_some_and(|kind| kind != FloorKind::Git);
        is_unreadable || access.write && denies(Direction::Write).is_some()
    }
}

fn installed_in(program: &Path) -> Option<&Path> {
    let folder = program.parent().filter(|folder| folder.ends_with("bin") || folder.ends_with("sbin"))?;
    folder.parent()
}

fn is_part_of(path: &Path, prefix: &Path) -> bool {
    path.strip_prefix(prefix).is_ok_and(|below| PARTS.iter().any(|part| below.starts_with(part)))
}

impl Eyes {
    fn real(self, path: &Path) -> Option<PathBuf> {
        match self {
            Self::Open => std::fs::canonicalize(path).ok(),
            #[cfg(test)]
            Self::Closed => Some(path.to_path_buf()),
        }
    }

    /// Tells whether no link is on the way.
    fn is_plain(self, path: &Path) -> bool {
        self.real(path).as_deref() == Some(path)
    }

    /// Tells whether only whoever owns the machine can change a path and what is on the way to it.
    fn is_roots(self, path: &Path, seen: &mut HashSet<PathBuf>) -> bool {
        match self {
            Self::Open => {
                let new: Vec<&Path> = path.ancestors().take_while(|above| !seen.contains(*above)).collect();
                let root = owner();
                let own = rustix::process::geteuid().as_raw();
                let is_closed = |above: &&Path| {
                    std::fs::symlink_metadata(above).is_ok_and(|found| {
                        let others = if own == root { 0o002 } else { 0o002 | group_bit(found.gid()) };
                        !found.is_symlink() && found.uid() == root && found.mode() & others == 0
                    })
                };
                let all = new.iter().all(is_closed);
                seen.extend(new.into_iter().filter(|_| all).map(Path::to_path_buf));
                all
            }
            #[cfg(test)]
            Self::Closed => true,
        }
    }

    /// Tells whether a folder belongs to this user or to whoever owns the machine, and not everybody writes there.
    fn is_own(self, folder: &Path) -> bool {
        match self {
            Self::Open => {
                let root = owner();
                std::fs::symlink_metadata(folder).is_ok_and(|found| {
                    let known = [root, rustix::process::geteuid().as_raw()].contains(&found.uid());
                    known && found.is_dir() && found.mode() & 0o002 == 0
                })
            }
            #[cfg(test)]
            Self::Closed => true,
        }
    }
}

/// Whoever owns the machine.
fn owner() -> u32 {
    static OWNER: OnceLock<u32> = OnceLock::new();
    *OWNER.get_or_init(|| std::fs::symlink_metadata("/usr").map_or(0, |usr| usr.uid()))
}

/// The bit that lets this user write what belongs to a group.
fn group_bit(group: u32) -> u32 {
    let groups = rustix::process::getgroups().unwrap_or_default();
    let is_in =
        rustix::process::getegid().as_raw() == group || groups.iter().any(|one| one.as_raw() == group);
    if is_in { 0o020 } else { 0 }
}

#[cfg(test)]
mod tests;
