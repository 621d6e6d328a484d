//! Whether tools can reach the store that holds what is known of them.
//!
//! INVARIANT: no tool runs over a file of SQLite that it, or another tool of its toolbox, may write.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use ringfence::HostFiles;
use ringfence::policy::{Capabilities, Direction, STORE_SUFFIXES, resolve_capabilities};

use crate::error::CommandError;
use crate::load::Loaded;
use crate::store::StoreName;

/// What is appended to the name of a store for a file that tells that a process has the store open: one of many, which come and go.
const LIVE: &str = "-00000000000000000000000000000000.live";

/// Refuses a store that a tool may write, and warns of one that a tool may read.
pub(crate) fn refuse_exposed(loaded: &Loaded, store: &StoreName) -> Result<(), CommandError> {
    let StoreName::File(path) = store else { return Ok(()) };
    let files = spellings(path, &STORE_SUFFIXES);
    let written = [files.clone(), spellings(path, &[LIVE])].concat();
    if let Some(tool) = reached(loaded, &written, Direction::Write) {
        return Err(CommandError::Input {
            message: format!("tool `{tool}` may write the store `{}`", path.display()),
            hint: Some(
                "keep it outside of what tools may write, or in a folder named `.ringfence`, which none may touch",
            ),
        });
    }
    if let Some(tool) = reached(loaded, &files, Direction::Read) {
        let _told = writeln!(
            crate::print::errors(),
            "warning: tool `{tool}` may read the store `{}`, and with it what other tools returned",
            crate::print::line(&path.display().to_string())
        );
    }
    Ok(())
}

/// Returns the first tool or server that may reach one of the files.
fn reached(loaded: &Loaded, files: &[PathBuf], direction: Direction) -> Option<String> {
    let tools = loaded.declarations.iter();
    let tools = tools.map(|own| (own.name.to_string(), own.capabilities.clone().unwrap_or_default()));
    let servers = loaded.servers.iter().map(|own| (own.name.to_string(), own.capabilities.clone()));
    let mut all = tools.chain(servers);
    all.find(|(_, declared)| reaches(declared, loaded, files, direction)).map(|(name, _)| name)
}

/// Says whether something with these capabilities may reach one of the files.
fn reaches(declared: &Capabilities, loaded: &Loaded, files: &[PathBuf], direction: Direction) -> bool {
    let grant = resolve_capabilities(declared, &loaded.personality).ok().and_then(|grant| grant.fs);
    // A root that is named through a link counts where it leads to.
    let grant = grant.map(|grant| HostFiles::new().named_both_ways(&grant));
    grant.is_some_and(|grant| files.iter().any(|file| grant.judge(file, direction).is_ok()))
}

/// Refuses a policy that a server may write: it decides what the server may do.
pub(crate) fn refuse_writable_policy(
    name: &str,
    declared: &Capabilities,
    loaded: &Loaded,
    policy: &Path,
) -> Result<(), CommandError> {
    let own = ["pins.json", "pins.lock", "seen.json"].map(|extension| policy.with_extension(extension));
    let mut files: Vec<PathBuf> =
        own.iter().map(PathBuf::as_path).chain([policy]).flat_map(both_spellings).collect();
    // What others have accepted and installed is kept there, wherever that is.
    let folders = [crate::book::state_folder().ok(), Some(crate::sandbox::private_folder())];
    files.extend(folders.into_iter().flatten().flat_map(|folder| both_spellings(&folder)));
    if reaches(declared, loaded, &files, Direction::Write) {
        return Err(CommandError::Input {
            message: format!(
                "server `{name}` may write `{}`, its pins, or what ringfence keeps for this user, which decide what it may do",
                policy.display()
            ),
            hint: Some(
                "keep the policy outside of what servers may write, or call it `ringfence.toml`, which none may write",
            ),
        });
    }
    Ok(())
}

/// Says whether a tool or server may write beside a file.
pub(crate) fn is_folder_writable(loaded: &Loaded, file: &Path) -> bool {
    reached(loaded, &both_spellings(&file.with_extension("beside")), Direction::Write).is_some()
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
