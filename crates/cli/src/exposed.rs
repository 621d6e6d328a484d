//! Whether tools can reach the store that holds what is known of them.
//!
//! INVARIANT: no tool runs over a file of SQLite that it, or another tool of its toolbox, may write.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use ringfence::HostFiles;
use ringfence::policy::{
    Capabilities, Declaration, Direction, Floor, Runtime, STORE_SUFFIXES, resolve_capabilities,
};

use crate::book::SeenFile;
use crate::error::CommandError;
use crate::load::Loaded;
use crate::store::StoreName;

/// What is appended to the name of a store for a file that tells that a process has the store open: one of many, which come and go.
const LIVE: &str = "-00000000000000000000000000000000.live";

/// Refuses a store that a tool may write, and warns of one that a tool may read.
pub(crate) fn refuse_exposed(loaded: &Loaded, store: &StoreName) -> Result<(), CommandError> {
    let StoreName::File(path) = store else { return Ok(()) };
    let files = spellings(path, &STORE_SUFFIXES);
    let written = Targets::files([files.clone(), spellings(path, &[LIVE])].concat());
    if let Some(tool) = reached(loaded, &written, Direction::Write) {
        return Err(CommandError::Input {
            message: format!("tool `{tool}` may write the store `{}`", path.display()),
            hint: Some(
                "keep it outside of what tools may write, or in a folder named `.ringfence`, which none may touch",
            ),
        });
    }
    // A command cannot exchange a link that leads to the store: it is kept in its place.
    let way = Targets { files: Vec::new(), waypoints: waypoints(path) };
    if let Some(tool) = reached_by_others(loaded, &way) {
        return Err(CommandError::Input {
            message: format!("`{tool}` may replace a link on the way to the store `{}`", path.display()),
            hint: Some("name the store without the link"),
        });
    }
    if let Some(tool) = reached(loaded, &Targets::files(files), Direction::Read) {
        let _told = writeln!(
            crate::print::errors(),
            "warning: tool `{tool}` may read the store `{}`, and with it what other tools returned",
            crate::print::line(&path.display().to_string())
        );
    }
    Ok(())
}

/// What nobody may write who is judged by it.
struct Targets {
    files: Vec<PathBuf>,
    /// What decides where a file is found: reached by whoever may put another in its place.
    waypoints: Vec<PathBuf>,
}

impl Targets {
    const fn files(files: Vec<PathBuf>) -> Self {
        Self { files, waypoints: Vec::new() }
    }
}

/// Returns the first tool or server that may reach one of the files.
fn reached(loaded: &Loaded, files: &Targets, direction: Direction) -> Option<String> {
    let tools = loaded.declarations.iter();
    let tools = tools.map(|own| (own.name.to_string(), own.capabilities.clone().unwrap_or_default()));
    let servers = loaded.servers.iter().map(|own| (own.name.to_string(), own.capabilities.clone()));
    let mut all = tools.chain(servers);
    all.find(|(_, declared)| reaches(declared, loaded, files, direction)).map(|(name, _)| name)
}

/// Says whether something with these capabilities may reach one of the files.
fn reaches(declared: &Capabilities, loaded: &Loaded, targets: &Targets, direction: Direction) -> bool {
    let grant = resolve_capabilities(declared, &loaded.personality).ok().and_then(|grant| grant.fs);
    // A root that is named through a link counts where it leads to.
    let grant = grant.map(|grant| HostFiles::new().named_both_ways(&grant));
    grant.is_some_and(|grant| {
        let is_granted = |path: &PathBuf| grant.judge(path, direction).is_ok();
        let is_replaceable = |path: &PathBuf| is_granted(path) && beside(path).iter().any(is_granted);
        targets.files.iter().any(is_granted) || targets.waypoints.iter().any(is_replaceable)
    })
}

/// Returns the folder around a path, and names beside it that a pattern takes which takes its own name and others. Whoever is granted a
/// folder as such cannot put another in its place.
fn beside(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let (mut longer, mut later) = (name.to_owned(), OsString::from("x"));
    longer.push("x");
    later.push(name);
    vec![folder.to_path_buf(), folder.join(longer), folder.join(later)]
}

/// Returns the first server that may write one of the files, or the first tool that is no command.
fn reached_by_others(loaded: &Loaded, files: &Targets) -> Option<String> {
    let is_command = |own: &&Declaration| matches!(own.runtime, Runtime::Command(_));
    let tools = loaded.declarations.iter().filter(|own| !is_command(own));
    let tools = tools.map(|own| (own.name.to_string(), own.capabilities.clone().unwrap_or_default()));
    let servers = loaded.servers.iter().map(|own| (own.name.to_string(), own.capabilities.clone()));
    let mut all = tools.chain(servers);
    all.find(|(_, declared)| reaches(declared, loaded, files, Direction::Write)).map(|(name, _)| name)
}

/// Refuses a policy that a tool or server may write: it decides what they may do. From commands it is hidden instead.
pub(crate) fn refuse_writable_policy(loaded: &Loaded, policy: &Path) -> Result<(), CommandError> {
    refuse_writable_files(loaded)?;
    let own = accepted_beside(policy).map(|(path, _)| path);
    // What others have accepted and installed is kept in these folders, wherever they are.
    let folders = crate::sandbox::own_folders();
    let own: Vec<PathBuf> = own.into_iter().chain([policy.to_path_buf()]).chain(folders).collect();
    let files = Targets {
        files: own.iter().flat_map(|path| both_spellings(path)).collect(),
        waypoints: own.iter().flat_map(|path| waypoints(path)).collect(),
    };
    let Some(name) = reached(loaded, &files, Direction::Write) else { return Ok(()) };
    // A command does not see what is hidden from it. Pins of servers decide.
    if loaded.servers.is_empty() && reached_by_others(loaded, &files).is_none() {
        hide_policy(policy);
        return Ok(());
    }
    Err(CommandError::Input {
        message: format!(
            "`{name}` may write `{}`, what was accepted beside it, or ringfence's own folders, which decide what it may do",
            policy.display()
        ),
        hint: Some(
            "keep the policy outside of what tools may write, or call it `ringfence.toml`, which none may write",
        ),
    })
}

/// Refuses a schema or component of the policy that a server, or a tool that is no command, may write. Commands are kept from it.
fn refuse_writable_files(loaded: &Loaded) -> Result<(), CommandError> {
    for path in loaded.files.paths() {
        let file = Targets { files: both_spellings(&path), waypoints: waypoints(&path) };
        if let Some(name) = reached_by_others(loaded, &file) {
            return Err(CommandError::Input {
                message: format!("`{name}` may write `{}`, which the policy reads", path.display()),
                hint: Some("keep what the policy names outside of what tools may write"),
            });
        }
    }
    keep_named_files(loaded);
    Ok(())
}

/// Keeps commands from writing the schemas and components that a policy names.
pub(crate) fn keep_named_files(loaded: &Loaded) {
    let kept = crate::sandbox::hidden_paths();
    for path in loaded.files.paths() {
        kept.keep(std::path::absolute(&path).unwrap_or(path));
    }
}

/// Hides a policy from commands, and what is or will be accepted beside it.
pub(crate) fn hide_policy(policy: &Path) {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let hidden = crate::sandbox::hidden_paths();
    let policy = absolute(policy);
    hidden.add(policy.clone());
    // Where the policy is a link, somebody may name the file that it leads to.
    let real = policy.canonicalize().ok().filter(|real| *real != policy);
    for (path, content) in [Some(policy), real].into_iter().flatten().flat_map(|path| accepted_beside(&path))
    {
        // What is made under a usual name is moved aside after a run.
        let is_usual = Floor::denies_unless_named(&path, Direction::Write, &std::iter::empty()).is_some();
        if is_usual { hidden.add(path) } else { hidden.add_made(path, &content) }
    }
}

/// Returns the files beside a policy that say what was accepted, and what stands in each before anything was.
fn accepted_beside(policy: &Path) -> [(PathBuf, String); 5] {
    let nothing = || crate::book::NOTHING_YET.to_owned();
    let beside = |extension: &str, content: String| (policy.with_extension(extension), content);
    [
        beside("pins.json", nothing()),
        beside("pins.lock", String::new()),
        beside("seen.json", SeenFile::default().to_json()),
        beside("lock.json", nothing()),
        beside("lock.json.sig", nothing()),
    ]
}

/// Says whether a tool or server may write beside a file.
pub(crate) fn is_folder_writable(loaded: &Loaded, file: &Path) -> bool {
    let beside = Targets::files(both_spellings(&file.with_extension("beside")));
    reached(loaded, &beside, Direction::Write).is_some()
}

/// Returns the files of a store, as they are written and as they resolve.
fn spellings(path: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    let beside = |path: PathBuf| {
        let named = |suffix: &&str| {
            let mut name: OsString = path.clone().into();
            name.push(suffix);
            PathBuf::from(name)
        };
        suffixes.iter().map(named).collect::<Vec<_>>()
    };
    both_spellings(path).into_iter().flat_map(beside).collect()
}

/// Returns what decides where a file is found, wherever it is: the links on the way, and the folders that `..` leaves.
fn waypoints(path: &Path) -> Vec<PathBuf> {
    ringfence::sandbox::waypoints_of(&std::env::current_dir().unwrap_or_default().join(path))
}

/// Returns a file as it is written and as it resolves: where its folder leads, where it leads itself, and where else it is mounted.
fn both_spellings(path: &Path) -> Vec<PathBuf> {
    let written = std::env::current_dir().unwrap_or_default().join(path);
    let resolved = written.parent().and_then(|parent| parent.canonicalize().ok());
    let resolved = resolved.zip(written.file_name()).map(|(parent, name)| parent.join(name));
    let normal = ringfence::policy::normalise(&written).ok();
    // The same file can be mounted in a folder that tools may reach.
    let mounted = ringfence::sandbox::mounted_elsewhere(&written).unwrap_or_default();
    normal.into_iter().chain(resolved).chain(written.canonicalize().ok()).chain(mounted).collect()
}
