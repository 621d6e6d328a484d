//! From the plan to the steps that carry it out.

use std::collections::HashMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::gate;
use super::kernel::{self, right};
use super::op::{Beneath, Execution, Op};
use crate::error::SandboxError;
use crate::host::{Identity, Kind};
use crate::plan::{Entry, Network, Plan, ProcessLimit, Resource, Rule};
use crate::seccomp::{Architecture, Profile, program, watching};
use crate::spec::Access;
use crate::step::Step;

/// The folder around the old root while the new one is built. Nobody may look into it: only process 1 can, which still has its
/// capabilities. The command's process has none when it opens its first path, so that no link leads it through the old root.
const CLOSED: &str = "/.old";
/// Where the old root is.
const OLD: &str = "/.old/root";
const HIDDEN_FILE: &str = "/.hidden-file";
const HIDDEN_FOLDER: &str = "/.hidden-folder";
const COVER: &str = "/.cover";
/// Where writable trees are mounted once more, to keep what is in them in its place. The scratch space covers it.
const PINS: &str = "/tmp/.pins";

const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
const NODEV: u64 = libc::MOUNT_ATTR_NODEV;
const NOEXEC: u64 = libc::MOUNT_ATTR_NOEXEC;

/// Who runs the sandbox, outside and inside.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct User {
    pub(crate) outside: (u32, u32),
    pub(crate) inside: (u32, u32),
}

impl User {
    /// Inside, root is nobody special: a plain id of its own, so that no program tries what only root can do.
    pub(crate) fn current() -> Self {
        let outside = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let plain = |id: u32| if id == 0 { 1000 } else { id };
        Self { outside, inside: (plain(outside.0), plain(outside.1)) }
    }
}

/// The steps that every sandbox begins with: namespaces, the root and what every program needs.
pub(crate) fn base_steps(base: &[Entry], user: User) -> Result<Vec<Op>, SandboxError> {
    let write_to = |path: &str, text: String| {
        Ok::<_, SandboxError>(Op::WriteTo {
            step: Step::IdMap,
            path: text_of(path)?,
            bytes: text.into_bytes(),
        })
    };
    // The new root is mounted on a folder of the old one. Any will do, and a container that holds one program has no `/tmp`.
    let ground = if Path::new("/tmp").is_dir() { "/tmp" } else { "/dev" };
    let mut ops = vec![
        Op::DieWithParent,
        write_to("/proc/self/setgroups", "deny".into())?,
        write_to("/proc/self/uid_map", format!("{} {} 1", user.inside.0, user.outside.0))?,
        write_to("/proc/self/gid_map", format!("{} {} 1", user.inside.1, user.outside.1))?,
        Op::PrivateMounts,
        tmpfs(Step::Root, ground, "mode=755,size=4m,nr_inodes=4096")?,
        Op::ChangeDirectory { step: Step::Root, to: text_of(ground)? },
        Op::MakeDirectory { path: below_ground(CLOSED)?, mode: 0 },
        Op::MakeDirectory { path: below_ground(OLD)?, mode: 0 },
        Op::PivotRoot { old: below_ground(OLD)? },
    ];
    ops.push(Op::MakeFile { path: text_of(HIDDEN_FILE)?, mode: 0, content: Vec::new() });
    ops.push(Op::MakeDirectory { path: text_of(HIDDEN_FOLDER)?, mode: 0 });
    for entry in base.iter().filter(|entry| !is_narrowed(entry)) {
        add(&mut ops, entry, Some(user), None)?;
    }
    ops.push(Op::HostName { name: b"sandbox".to_vec() });
    ops.extend(inotify_steps()?);
    Ok(ops)
}

/// Whether [`Op::NarrowProc`] hides it without a mount: of `/proc`, what is not below a folder that is kept.
fn is_narrowed(entry: &Entry) -> bool {
    matches!(entry, Entry::Hidden { path, .. } if path.starts_with("/proc") && !path.starts_with("/proc/sys"))
}

/// The steps of process 1 that this plan asks for.
pub(crate) fn plan_steps(plan: &Plan, cgroups: usize) -> Result<Vec<Op>, SandboxError> {
    let mut ops = Vec::with_capacity(plan.root.len() * 2 + 8);
    if let Network::Gated(openings) = &plan.network {
        // First, so that the gate is opened while the rest goes on.
        ops.push(Op::RaiseLoopback);
        ops.push(Op::Routing { messages: gate::messages(openings) });
        ops.push(Op::OpenSockets { sockets: gate::sockets(openings) });
    }
    pin(&mut ops, plan)?;
    let protection = Protection::new(plan);
    for entry in &plan.root {
        add(&mut ops, entry, None, Some(&protection))?;
    }
    // A control group counts what waits in them.
    if cgroups == 0
        && let Some(memory) = plan.limits.memory
    {
        ops.extend(inotify_instances(memory.bytes())?);
    }
    // Last, so that the group pays for little more than the command.
    if cgroups > 0 {
        ops.push(Op::JoinCgroups { count: cgroups });
    }
    Ok(ops)
}

/// What a plan protects, by path.
struct Protection<'a> {
    plan: &'a Plan,
    identities: HashMap<&'a Path, Identity>,
}

impl<'a> Protection<'a> {
    fn new(plan: &'a Plan) -> Self {
        let all = plan.sensitive.iter().chain(&plan.shared);
        let identities = all.map(|one| (one.path.as_path(), one.identity)).collect();
        Self { plan, identities }
    }
}

/// Keeps folders and links in their place. The kernel neither renames nor removes what something is mounted on, whichever mount
/// that was done through; so it is done through one that the command does not see, and nothing stands between the folders that
/// it does see. Each is covered from below, the deepest first.
fn pin(ops: &mut Vec<Op>, plan: &Plan) -> Result<(), SandboxError> {
    let mut tree: Option<&Path> = None;
    for pin in plan.pins.iter().rev() {
        if tree != Some(&pin.tree) {
            tree = Some(&pin.tree);
            ops.push(Op::MakeDirectory { path: text_of(PINS)?, mode: 0o700 });
            ops.push(Op::Bind {
                may_be_gone: false,
                onto: None,
                source: old(&pin.tree)?,
                target: text_of(PINS)?,
                attributes: 0,
                identity: None,
                recursive: true,
            });
        }
        let below = pin.path.strip_prefix(&pin.tree).unwrap_or(&pin.path);
        let is_folder = pin.kind == Kind::Directory;
        ops.push(Op::Bind {
            may_be_gone: false,
            onto: Some(pin.identity),
            source: text_of(if is_folder { HIDDEN_FOLDER } else { HIDDEN_FILE })?,
            target: text(Path::new(PINS).join(below).as_os_str())?,
            attributes: 0,
            identity: None,
            recursive: false,
        });
    }
    Ok(())
}

/// The steps that close the root: the old one is detached, `/proc` shows little but processes, and the new one becomes read-only. They
/// cost little at the start, because the command's process restricts itself meanwhile: to detach is to wait for every processor.
pub(crate) fn closing_steps() -> Result<Vec<Op>, SandboxError> {
    Ok(vec![
        Op::Detach { path: text_of(OLD)? },
        Op::Remove { path: text_of(CLOSED)?, flags: libc::AT_REMOVEDIR as u32 },
        Op::NarrowProc { at: text_of("/proc")? },
        Op::Remove { path: text_of(HIDDEN_FILE)?, flags: 0 },
        Op::Remove { path: text_of(HIDDEN_FOLDER)?, flags: libc::AT_REMOVEDIR as u32 },
        Op::Attributes { path: text_of("/")?, attributes: RDONLY | NOSUID | NODEV | NOEXEC },
    ])
}

/// Signals that wait, and timers, are counted for the user too: a command has a quarter of what the user has.
pub(crate) fn queued_signals() -> Option<Op> {
    let most = rustix::process::getrlimit(rustix::process::Resource::Sigpending).maximum?;
    Some(Op::Limit { resource: libc::RLIMIT_SIGPENDING as libc::c_uint, value: most / 4 })
}

/// What a command would inherit of whoever starts us: it may neither take processors from others, nor lock more memory than the
/// 64 KiB that kernels long allowed everybody.
pub(crate) fn inherited_limits() -> [Op; 3] {
    const LOCKED: u64 = 64 << 10;
    let most = rustix::process::getrlimit(rustix::process::Resource::Memlock).maximum;
    let locked = most.map_or(LOCKED, |most| most.min(LOCKED));
    [(libc::RLIMIT_RTPRIO, 0), (libc::RLIMIT_NICE, 0), (libc::RLIMIT_MEMLOCK, locked)]
        .map(|(resource, value)| Op::Limit { resource: resource as libc::c_uint, value })
}

/// What is watched inside is counted for the user too: a sandbox has a quarter of what the user has.
fn inotify_steps() -> Result<Vec<Op>, SandboxError> {
    let quarters = inotify_quarters().iter();
    quarters.map(|(name, quarter)| inotify_setting(name, u64::from(*quarter))).collect()
}

/// Events that wait for a program are in no process: no more instances than fill a part of the memory limit, and enough for a program
/// that watches files.
fn inotify_instances(memory: u64) -> Result<Option<Op>, SandboxError> {
    let quarter = inotify_quarters().iter().find(|(name, _)| *name == "instances");
    let Some((name, quarter)) = quarter else { return Ok(None) };
    let fitting = (memory / INOTIFY_PART / inotify_queue()).max(LEAST_INOTIFY);
    let is_fewer = fitting < u64::from(*quarter);
    is_fewer.then(|| inotify_setting(name, fitting)).transpose()
}

/// Which part of the memory limit may wait as events.
const INOTIFY_PART: u64 = 4;
const LEAST_INOTIFY: u64 = 2;
/// An event with a name as long as names are.
const INOTIFY_EVENT: u64 = 512;

/// Returns how much memory the events of one instance take, in bytes.
fn inotify_queue() -> u64 {
    static QUEUE: OnceLock<u64> = OnceLock::new();
    *QUEUE.get_or_init(|| {
        let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").ok();
        let most = most.and_then(|most| most.trim().parse::<u64>().ok()).unwrap_or(16_384);
        most.max(1).saturating_mul(INOTIFY_EVENT)
    })
}

/// Returns a quarter of what the user has, by name.
fn inotify_quarters() -> &'static [(&'static str, u32)] {
    static QUARTERS: OnceLock<Vec<(&str, u32)>> = OnceLock::new();
    QUARTERS.get_or_init(|| {
        let quarter = |name: &'static str| {
            let most = std::fs::read_to_string(format!("/proc/sys/fs/inotify/max_user_{name}")).ok()?;
            Some((name, most.trim().parse::<u32>().ok()? / 4))
        };
        ["instances", "watches"].into_iter().filter_map(quarter).collect()
    })
}

fn inotify_setting(name: &str, value: u64) -> Result<Op, SandboxError> {
    let path = text_of(&format!("{OLD}/proc/sys/user/max_inotify_{name}"))?;
    Ok(Op::Setting { path, bytes: value.to_string().into_bytes() })
}

/// The steps of the command, the last of which executes it.
pub(crate) fn command_steps(
    plan: &Plan,
    profile: Profile,
    extra: &[ProcessLimit],
) -> Result<Vec<Op>, SandboxError> {
    let mut ops = vec![Op::Session { terminal: plan.terminal }, Op::CloseOnExecFrom { first: 3 }];
    // Where a gate listens it is up already; elsewhere nobody waits for it.
    ops.extend((!matches!(plan.network, Network::Gated(_))).then_some(Op::RaiseLoopback));
    ops.extend([
        Op::DropCapabilities,
        Op::NoNewPrivileges,
        // INVARIANT: nothing is opened by name before the capabilities are gone. See `CLOSED`.
        Op::ChangeDirectory { step: Step::WorkingDirectory, to: text(plan.directory.as_os_str())? },
        landlock(&plan.landlock.rules)?,
    ]);
    ops.extend(
        plan.process_limits
            .iter()
            .chain(extra)
            .map(|limit| Op::Limit { resource: resource(limit.resource), value: limit.value }),
    );
    ops.extend((!profile.counted_memory).then_some(Op::SmallPages));
    ops.extend(queued_signals());
    ops.extend(inherited_limits());
    ops.push(Op::Signals);
    if plan.recorded {
        // Before the other, which lets no filter be added. Nothing that follows is told of but the command's own start.
        ops.push(Op::Seccomp { program: watching(Architecture::HERE), observe: true });
    }
    ops.push(Op::Seccomp { program: program(profile, Architecture::HERE), observe: profile.observe });
    ops.push(Op::Execute(execution(&plan.program, &plan.arguments, &plan.environment)?));
    Ok(ops)
}

/// The Landlock domain of these rules, as far as this kernel's version goes.
pub(crate) fn landlock(rules: &[Rule]) -> Result<Op, SandboxError> {
    let version = kernel::landlock_version();
    let handled = kernel::handled(version);
    let rules = rules
        .iter()
        .map(|rule| {
            let rights = rights(rule.access, rule.file) & handled;
            Ok(Beneath { path: text(rule.path.as_os_str())?, rights, identity: rule.identity })
        })
        .filter(|rule| rule.as_ref().map_or(true, |rule| rule.rights != 0))
        .collect::<Result<_, SandboxError>>()?;
    Ok(Op::Landlock { handled, scoped: kernel::scoped(version), rules })
}

pub(crate) fn execution(
    program: &Path,
    arguments: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<Execution, SandboxError> {
    let arguments = arguments.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?;
    let variable = |(name, value): &(OsString, OsString)| {
        let mut pair = name.as_bytes().to_vec();
        pair.push(b'=');
        pair.extend(value.as_bytes());
        CString::new(pair).map_err(|_| SandboxError::Nul("a variable of the environment"))
    };
    let environment = environment.iter().map(variable).collect::<Result<_, _>>()?;
    Ok(Execution::new(text(program.as_os_str())?, arguments, environment))
}

pub(crate) const fn resource(resource: Resource) -> u32 {
    let number = match resource {
        Resource::Core => libc::RLIMIT_CORE,
        Resource::Cpu => libc::RLIMIT_CPU,
        Resource::Data => libc::RLIMIT_DATA,
        Resource::FileSize => libc::RLIMIT_FSIZE,
        Resource::MessageQueue => libc::RLIMIT_MSGQUEUE,
        Resource::OpenFiles => libc::RLIMIT_NOFILE,
        Resource::Processes => libc::RLIMIT_NPROC,
    };
    // The C libraries disagree about the sign.
    number as libc::c_uint
}

/// Returns what a step was about, for an error.
pub(crate) fn about(op: &Op) -> Option<PathBuf> {
    let path = match op {
        Op::Bind { target, .. } => target,
        Op::MakeDirectory { path, .. } | Op::MakeFile { path, .. } | Op::WriteTo { path, .. } => path,
        Op::ChangeDirectory { to, .. } => to,
        Op::Tmpfs { at, .. } => at,
        Op::Execute(execution) => return Some(execution.path()),
        _ => return None,
    };
    Some(PathBuf::from(OsStr::from_bytes(path.as_bytes())))
}

fn rights(access: Access, file: bool) -> u64 {
    let mut rights = 0;
    if access.read {
        rights |= right::READ_FILE | right::READ_DIR;
    }
    if access.write {
        rights |= right::WRITE_FILE | right::TRUNCATE | right::CHANGE_DIR | right::IOCTL_DEV;
    }
    if access.execute {
        rights |= right::EXECUTE;
    }
    if file { rights & right::ON_FILES } else { rights }
}

fn add(
    ops: &mut Vec<Op>,
    entry: &Entry,
    user: Option<User>,
    protection: Option<&Protection<'_>>,
) -> Result<(), SandboxError> {
    // What every sandbox hides may be missing on this machine.
    let may_be_gone = protection.is_none_or(|protection| protection.plan.may_be_gone(entry.path()));
    let path = text(entry.path().as_os_str())?;
    match entry {
        Entry::Directory { .. } => ops.push(Op::MakeDirectory { path, mode: 0o755 }),
        Entry::File { content, .. } => {
            // The stub of the user list names whoever runs inside.
            let content = user.map_or_else(
                || content.clone(),
                |user| {
                    content
                        .replace("{uid}", &user.inside.0.to_string())
                        .replace("{gid}", &user.inside.1.to_string())
                },
            );
            ops.push(Op::MakeFile { path, mode: 0o644, content: content.into_bytes() });
        }
        Entry::Cover { content, .. } => {
            let own = text_of(COVER)?;
            ops.push(Op::MakeFile { path: own.clone(), mode: 0o444, content: content.clone().into_bytes() });
            ops.push(Op::Bind {
                may_be_gone: false,
                onto: None,
                source: own.clone(),
                target: path,
                attributes: NOSUID | NODEV | RDONLY | NOEXEC,
                identity: None,
                recursive: false,
            });
            ops.push(Op::Remove { path: own, flags: 0 });
        }
        Entry::Link { to, .. } => ops.push(Op::Link { to: text(to.as_os_str())?, at: path }),
        Entry::Bind { access, file, identity, protected, path: at } => {
            let read_only = if access.write { 0 } else { RDONLY };
            let no_exec = if access.execute { 0 } else { NOEXEC };
            ops.push(Op::Bind {
                may_be_gone: *protected && may_be_gone,
                onto: (*protected && !may_be_gone).then_some(*identity),
                source: old(at)?,
                target: path,
                attributes: NOSUID | NODEV | read_only | no_exec,
                identity: Some(*identity),
                recursive: !file,
            });
        }
        Entry::Device { path: at } => {
            ops.push(Op::MakeFile { path: path.clone(), mode: 0o444, content: Vec::new() });
            ops.push(Op::Bind {
                may_be_gone: false,
                onto: None,
                source: old(at)?,
                target: path,
                // Writing to a device works on a read-only mount; changing its node does not.
                attributes: RDONLY | NOSUID | NOEXEC,
                identity: None,
                recursive: false,
            });
        }
        Entry::Proc => ops.push(Op::Proc { at: path }),
        // To the kernel, nothing is no limit.
        Entry::Scratch { bytes: u64::MAX, .. } => {
            ops.push(tmpfs(Step::Root, "/tmp", "mode=1777,size=0,nr_inodes=0")?);
        }
        Entry::Scratch { bytes, .. } => {
            let inodes = (bytes / 1024).clamp(1024, 1 << 20);
            ops.push(tmpfs(
                Step::Root,
                "/tmp",
                &format!("mode=1777,size={},nr_inodes={inodes}", (*bytes).max(4096)),
            )?);
        }
        Entry::Hidden { file, .. } => ops.push(Op::Bind {
            may_be_gone,
            onto: protection
                .filter(|_| !may_be_gone)
                .and_then(|protection| protection.identities.get(entry.path()).copied()),
            source: text_of(if *file { HIDDEN_FILE } else { HIDDEN_FOLDER })?,
            target: path,
            attributes: NOSUID | NODEV | RDONLY | NOEXEC,
            identity: None,
            recursive: false,
        }),
    }
    Ok(())
}

/// Makes the mount at a path noexec, and read-only where asked for.
pub(crate) fn no_exec(path: &Path, read_only: bool) -> Result<Op, SandboxError> {
    let no_devices = if path.starts_with("/dev") { 0 } else { NODEV };
    let attributes = NOSUID | no_devices | NOEXEC | if read_only { RDONLY } else { 0 };
    Ok(Op::Attributes { path: text(path.as_os_str())?, attributes })
}

fn tmpfs(step: Step, at: &str, options: &str) -> Result<Op, SandboxError> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    Ok(Op::Tmpfs { step, at: text_of(at)?, options: text_of(options)?, flags })
}

/// A path of the new root while it still is below the folder that it was mounted on.
fn below_ground(path: &str) -> Result<CString, SandboxError> {
    text_of(path.trim_start_matches('/'))
}

fn old(path: &Path) -> Result<CString, SandboxError> {
    let mut below = OLD.as_bytes().to_vec();
    below.extend(path.as_os_str().as_bytes());
    CString::new(below).map_err(|_| SandboxError::Nul("a path"))
}

fn text_of(text: &str) -> Result<CString, SandboxError> {
    CString::new(text).map_err(|_| SandboxError::Nul("a path"))
}

pub(crate) fn text(text: &OsStr) -> Result<CString, SandboxError> {
    CString::new(text.as_bytes()).map_err(|_| SandboxError::Nul("an argument"))
}
