//! Joining what was asked for with what was seen.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ringfence_policy::{Direction, Limits};

use super::check::{Eyes, check};
use super::landlock::Executable;
use super::layout::{Base, Is, Layout, Wanted};
use super::seen::Seen;
use super::{Entry, Landlock, Network, Openings, Plan, ProcessLimit, Resource, SharedFiles};
use crate::error::SandboxError;
use crate::host::{Kind, Platform, Program, Role, Sensitive, Treatment, find};
use crate::seccomp::Profile;
use crate::spec::{Access, Spec, default_limits};

/// The devices of the machine that every sandbox has too.
pub(crate) const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
pub(super) const SCRATCH: &str = "/tmp";
/// Where every resolver looks for its servers.
pub(super) const RESOLVER: &str = "/etc/resolv.conf";
/// How many ports a gate listens on at most.
const MOST_PORTS: usize = 64;

impl Plan {
    /// Makes the plan of what was seen before, and looks at it again: nothing is in it that is not explained.
    ///
    /// # Errors
    ///
    /// The specification contradicts itself, as with a working directory that is not granted; or a path would be in the plan that
    /// neither a grant nor the system explains.
    pub fn new(spec: &Spec, seen: &Seen) -> Result<Self, SandboxError> {
        let plan = Self::join(spec, seen)?;
        check(&plan, spec, seen)?;
        Ok(plan)
    }

    fn join(spec: &Spec, seen: &Seen) -> Result<Self, SandboxError> {
        if spec.record && spec.observe {
            let what = "telling of refused calls and recording at once: the kernel tells one of them".into();
            return Err(SandboxError::Inexpressible { what });
        }
        let abroad = spec.image.is_some();
        let base = if abroad { Arc::default() } else { known_base(&seen.platform, spec.terminal) };
        let limits = with_defaults(&spec.limits, spec.service);
        let mut layout = Layout::over(Arc::clone(&base));
        layout.note(SCRATCH, Is::Folder);
        // First, so that a granted folder below it is mounted inside it.
        layout.entries.push(Entry::Scratch {
            path: PathBuf::from(SCRATCH),
            bytes: limits.scratch.unwrap_or(ringfence_policy::Size::UNLIMITED).bytes(),
        });
        let loader = |path: &PathBuf| Executable { path: path.clone(), file: true, identity: None };
        let mut executables: Vec<Executable> = seen.platform.loaders.iter().map(loader).collect();

        let mut wanted = Wanted::default();
        for found in &seen.folders {
            wanted.add(found, Access::EXECUTE);
        }
        // A granted folder around a part of the platform would cover it: that part is laid on top again.
        let platform =
            seen.platform.libraries.iter().filter(|_| !abroad).map(|found| (found, Access::EXECUTE));
        let data = seen.platform.data.iter().filter(|_| !abroad);
        let platform = platform.chain(data.map(|found| (found, Access::READ)));
        for (found, access) in platform {
            if seen.trees.iter().any(|(tree, _)| found.real.starts_with(&tree.real)) {
                wanted.add(found, access);
            }
        }
        for (found, access) in &seen.trees {
            let access = Access { execute: access.execute || (spec.any_binary && !access.write), ..*access };
            wanted.add(found, access);
            if spec.named.denies(&found.real, Direction::Write).is_some() {
                wanted.keep_read_only(found);
            }
            if access.execute {
                executables.push(Executable::of(found));
            }
        }
        for program in seen.programs.iter().flat_map(Program::all) {
            wanted.add(&program.found, Access::EXECUTE);
            executables.push(Executable::of(&program.found));
            for companion in &program.companions {
                wanted.add(
                    &companion.found,
                    match companion.role {
                        Role::Data => Access::READ,
                        Role::Library | Role::Programs => Access::EXECUTE,
                    },
                );
                if companion.role == Role::Programs {
                    executables.push(Executable::of(&companion.found));
                }
            }
        }
        executables.sort_by(|one, other| one.path.cmp(&other.path));
        executables.dedup_by(|one, other| one.path == other.path);
        wanted.lay(&mut layout);
        for path in ["/dev/shm", "/var/tmp"].iter().filter(|_| !abroad) {
            layout.link(Path::new(path), Path::new(SCRATCH));
        }
        protect(&mut layout, seen);
        if let Network::Gated(openings) = &spec.network {
            resolver(&mut layout, openings, seen)?;
        }

        let directory = directory(spec, seen, &layout)?;
        let root = layout.entries;
        let base = base.entries.clone();
        let all: Vec<&Entry> = base.iter().chain(&root).collect();
        let landlock = Landlock::new(&all, &executables, spec.any_binary);
        // By the path it was asked for: many a program looks at its own name.
        let program =
            seen.programs.first().map_or_else(|| spec.program.clone(), |program| program.asked.clone());
        let guarded =
            seen.trees.iter().filter(|(found, access)| access.write && found.kind == Kind::Directory);
        Ok(Self {
            arguments: std::iter::once(name_of(spec)).chain(spec.arguments.iter().cloned()).collect(),
            environment: environment(spec, &seen.programs),
            directory,
            landlock,
            seccomp: Profile {
                unix_sockets: spec.unix_sockets,
                observe: spec.observe,
                counted_memory: false,
            },
            process_limits: process_limits(&limits),
            limits,
            asked: spec.limits,
            network: spec.network.clone(),
            terminal: spec.terminal,
            guarded: guarded.map(|(found, _)| found.real.clone()).collect(),
            program,
            root,
            base,
            recorded: spec.record,
            left_out: seen.left_out.clone(),
            image: spec.image.clone(),
            assurance: spec.assurance,
            sensitive: seen.sensitive.clone(),
            shared: seen.hard_links.kept.clone(),
            shared_files: SharedFiles { count: seen.hard_links.files, first: seen.hard_links.first.clone() },
            pins: seen.pins.clone(),
            passing: seen.passing.clone(),
            pointed: seen.pointed.clone(),
            home: spec.home.clone(),
            recovered: Vec::new(),
            unmounted: Vec::new(),
            named: spec.named.write.clone(),
        })
    }
}

fn name_of(spec: &Spec) -> OsString {
    spec.name.clone().unwrap_or_else(|| spec.program.clone().into_os_string())
}

/// Returns where it starts: where it is told to, else where it is wished to, else in the scratch space.
fn directory(spec: &Spec, seen: &Seen, layout: &Layout) -> Result<PathBuf, SandboxError> {
    if let Some(directory) = spec.directory.as_deref().map(find_inside) {
        return match look_at_directory(&directory, spec, seen, layout) {
            Place::Folder => Ok(directory),
            Place::Missing => Err(SandboxError::Missing { path: directory }),
            Place::Other => Err(not_a_working_directory(directory, "a folder")),
            Place::Ungranted => Err(not_a_working_directory(directory, "granted")),
        };
    }
    // What is granted below it has made it, with nothing else in it; below a folder of an image lies what the image brings.
    let is_granted = |wished: &PathBuf| {
        seen.trees.iter().any(|(tree, _)| {
            let below =
                || tree.links.iter().map(|(at, _)| at).chain([&tree.real]).any(|at| at.starts_with(wished));
            wished.starts_with(&tree.real) || (spec.image.is_none() && below())
        })
    };
    let wished = spec.wished.as_deref().map(find_inside);
    let is_folder = |wished: &PathBuf| matches!(look_at_directory(wished, spec, seen, layout), Place::Folder);
    let wished = wished.filter(|wished| is_granted(wished) && is_folder(wished));
    Ok(wished.unwrap_or_else(|| PathBuf::from(SCRATCH)))
}

/// What a working directory is found to be.
enum Place {
    Folder,
    Missing,
    Other,
    Ungranted,
}

fn look_at_directory(directory: &Path, spec: &Spec, seen: &Seen, layout: &Layout) -> Place {
    // What is in an image is not seen here; what the sandbox makes itself is a folder.
    let is_made = layout.is(directory) == Some(Is::Folder) || directory == Path::new(SCRATCH);
    if !layout.holds(directory) {
        return Place::Ungranted;
    }
    if is_made || spec.image.is_some() || seen.eyes != Eyes::Open {
        return Place::Folder;
    }
    match find(directory) {
        Err(_) => Place::Missing,
        Ok(found) if found.kind != Kind::Directory => Place::Other,
        // The scratch folder of the machine is not that of the sandbox.
        Ok(_)
            if directory.starts_with(SCRATCH)
                && !seen.trees.iter().any(|(tree, _)| directory.starts_with(&tree.real)) =>
        {
            Place::Ungranted
        }
        Ok(_) => Place::Folder,
    }
}

fn not_a_working_directory(path: PathBuf, what: &str) -> SandboxError {
    let error = std::io::Error::other(format!("it is the working directory and is not {what}"));
    SandboxError::Path { path, error }
}

/// Where a path leads, as far as it exists.
fn find_inside(path: &Path) -> PathBuf {
    if path == Path::new(SCRATCH) {
        path.to_path_buf()
    } else {
        find(path).map_or_else(|_| path.to_path_buf(), |found| found.real)
    }
}

fn with_defaults(limits: &Limits, service: bool) -> Limits {
    let default = if service {
        Limits { wall: None, cpu: None, output: None, ..default_limits() }
    } else {
        default_limits()
    };
    Limits {
        wall: limits.wall.or(default.wall),
        cpu: limits.cpu.or(default.cpu),
        memory: limits.memory.or(default.memory),
        processes: limits.processes.or(default.processes),
        open_files: limits.open_files.or(default.open_files),
        file_size: limits.file_size.or(default.file_size),
        output: limits.output.or(default.output),
        scratch: limits.scratch.or(default.scratch),
        ..*limits
    }
    .enforced()
}

fn process_limits(limits: &Limits) -> Vec<ProcessLimit> {
    let mut all = vec![ProcessLimit { resource: Resource::Core, value: 1 }];
    let mut add =
        |resource, value: Option<u64>| all.extend(value.map(|value| ProcessLimit { resource, value }));
    add(Resource::Cpu, limits.cpu.map(|span| span.duration().as_millis().div_ceil(1000) as u64));
    add(Resource::FileSize, limits.file_size.map(ringfence_policy::Size::bytes));
    add(Resource::OpenFiles, limits.open_files.map(u64::from));
    add(Resource::MessageQueue, Some(64 << 10));
    all
}

fn environment(spec: &Spec, programs: &[Program]) -> Vec<(OsString, OsString)> {
    let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(Path::new);
    let beside = programs.iter().filter_map(|program| program.asked.parent());
    let mut folders: Vec<&Path> = Vec::new();
    for folder in spec.first_folders.iter().map(PathBuf::as_path).chain(system).chain(beside) {
        if !folders.contains(&folder) && !folder.as_os_str().as_encoded_bytes().contains(&b':') {
            folders.push(folder);
        }
    }
    let mut path = OsString::new();
    for folder in &folders {
        if !path.is_empty() {
            path.push(":");
        }
        path.push(folder);
    }
    let mut variables: BTreeMap<OsString, OsString> =
        [("PATH".into(), path), ("HOME".into(), SCRATCH.into())].into_iter().collect();
    variables.extend(spec.environment.iter().map(|(name, value)| (name.clone(), value.clone())));
    variables.into_iter().collect()
}

/// Returns the base of a platform, made once: it is the same in each plan, without and with a terminal.
fn known_base(platform: &Platform, terminal: bool) -> Arc<Base> {
    /// A process has one platform; tests have more.
    const MOST: usize = 8;
    static KNOWN: Mutex<Vec<(Platform, bool, Arc<Base>)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_this = |(of, with, _): &&(Platform, bool, Arc<Base>)| *with == terminal && of == platform;
    if let Some((.., made)) = known.iter().find(is_this) {
        return Arc::clone(made);
    }
    let made = Arc::new(Base::new(base(platform, terminal)));
    if known.len() < MOST {
        known.push((platform.clone(), terminal, Arc::clone(&made)));
    }
    made
}

/// What every sandbox holds, whatever it is for.
pub(crate) fn base(platform: &Platform, terminal: bool) -> Vec<Entry> {
    let mut layout = Layout::default();
    for (path, to) in &platform.links {
        layout.link(path, to);
    }
    let mut wanted = Wanted::default();
    for found in &platform.libraries {
        wanted.add(found, Access::EXECUTE);
    }
    for found in &platform.data {
        wanted.add(found, Access::READ);
    }
    wanted.lay(&mut layout);
    for path in ["/dev", "/proc", "/tmp", "/etc", "/usr/bin", "/usr/local/bin"] {
        layout.directory(Path::new(path));
    }
    let devices = DEVICES.iter().chain(terminal.then_some(&"/dev/tty"));
    layout.entries.extend(devices.map(|path| Entry::Device { path: PathBuf::from(path) }));
    for (path, to) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        layout.link(Path::new(path), Path::new(to));
    }
    for (path, content) in [
        ("/etc/passwd", "tool:x:{uid}:{gid}::/tmp:/bin/sh\n"),
        ("/etc/group", "tool:x:{gid}:\n"),
        ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ] {
        layout.entries.push(Entry::File { path: PathBuf::from(path), content: content.to_owned() });
    }
    layout.entries.push(Entry::Proc);
    let hidden = platform.hidden.iter().map(|path| Entry::Hidden { path: path.clone(), file: true });
    layout.entries.extend(hidden);
    layout.entries
}

/// Has names looked up at the gate. The machine's own settings would lead nowhere.
fn resolver(layout: &mut Layout, openings: &Openings, seen: &Seen) -> Result<(), SandboxError> {
    if openings.ports.len() > MOST_PORTS {
        return Err(SandboxError::Inexpressible { what: format!("hosts on more than {MOST_PORTS} ports") });
    }
    let content = "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n".to_owned();
    let path = PathBuf::from(RESOLVER);
    if !layout.holds(&path) {
        layout.entries.push(Entry::File { path, content });
        return Ok(());
    }
    // The folder around it was granted: ours goes on top, where it leads to.
    match &seen.resolver {
        Some(real) if layout.holds(real) => {
            layout.entries.push(Entry::Cover { path: real.clone(), content });
            Ok(())
        }
        Some(_) | None => {
            let error = std::io::Error::other(
                "it leads nowhere inside, and a command with hosts needs one of its own",
            );
            Err(SandboxError::Path { path, error })
        }
    }
}

/// Covers what is on the floor inside granted trees, and what has names outside the writable ones.
fn protect(layout: &mut Layout, seen: &Seen) {
    let programs: Vec<&Path> =
        seen.programs.iter().flat_map(Program::all).map(|program| program.found.real.as_path()).collect();
    let holds_program = |path: &Path| programs.iter().any(|program| program.starts_with(path));
    let all = seen.sensitive.iter().chain(&seen.hard_links.kept);
    // A link leads elsewhere: what it leads to is judged where it is.
    let mut all: Vec<&Sensitive> =
        all.filter(|one| one.kind != Kind::Link && one.treatment != Treatment::Watch).collect();
    // Folders come before what is in them, and of two treatments of one path the stronger.
    let is_weaker = |one: &Sensitive| one.treatment != Treatment::Hide;
    all.sort_by(|one, other| (&one.path, is_weaker(one)).cmp(&(&other.path, is_weaker(other))));
    all.dedup_by(|one, other| one.path == other.path);
    let mut hidden: Option<&Path> = None;
    for one in all {
        // Nothing is in what is hidden.
        if hidden.is_some_and(|hidden| one.path.starts_with(hidden)) {
            continue;
        }
        let file = one.kind != Kind::Directory;
        let path = one.path.clone();
        let execute = holds_program(&path);
        // A read-only mount does not keep anybody from writing to a pipe, or from connecting to a socket.
        let is_hidden = one.treatment == Treatment::Hide || !matches!(one.kind, Kind::Directory | Kind::File);
        layout.entries.push(if is_hidden && !execute {
            hidden = Some(&one.path);
            Entry::Hidden { path, file }
        } else {
            let access = Access { execute, ..Access::READ };
            Entry::Bind { path, access, file, identity: one.identity, protected: true }
        });
    }
}

#[cfg(test)]
pub(crate) mod tests;
