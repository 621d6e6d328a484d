//! Files of ours that no command sees, or none writes.
//!
//! A command that may read a file can also lock it, and so keep us from writing to it. Whoever opens such a file adds it here, also
//! after the sandbox was made: it is looked at when a run is planned.

use std::ffi::OsStr;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::SandboxError;
use crate::host::{Kind, Mounts, Treatment, find, waypoints};

/// Where the kernel tells what is mounted.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Paths that no command of a [`Sandbox`](crate::Sandbox) sees or writes, whatever is granted. Cheap to clone; all clones share one list.
#[derive(Clone, Debug, Default)]
pub struct HiddenPaths(Arc<Mutex<Vec<HiddenPath>>>);

/// One of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HiddenPath {
    pub(crate) path: PathBuf,
    /// Whether it may be replaced or gone when it is mounted.
    pub(crate) may_change: bool,
    /// What it is made with where it is not there, and a command could make it.
    pub(crate) content: Option<Arc<str>>,
    /// Whether it can be read.
    pub(crate) treatment: Treatment,
}

impl HiddenPaths {
    /// Hides a file that stays where it is. What is not there yet is not hidden: make it first.
    pub fn add(&self, path: impl Into<PathBuf>) {
        self.push(HiddenPath {
            path: path.into(),
            may_change: false,
            content: None,
            treatment: Treatment::Hide,
        });
    }

    /// Lets commands read a file where they may, and none write it. What is not there yet is not kept.
    pub fn keep(&self, path: impl Into<PathBuf>) {
        self.push(HiddenPath {
            path: path.into(),
            may_change: false,
            content: None,
            treatment: Treatment::ReadOnly,
        });
    }

    /// Hides a file that may be replaced or removed at any time.
    pub fn add_changing(&self, path: impl Into<PathBuf>) {
        self.push(HiddenPath {
            path: path.into(),
            may_change: true,
            content: None,
            treatment: Treatment::Hide,
        });
    }

    /// Hides a file. Where it is not there when a run is planned, and the command could make it, it is made first with this content.
    pub fn add_made(&self, path: impl Into<PathBuf>, content: &str) {
        self.push(HiddenPath {
            path: path.into(),
            may_change: false,
            content: Some(content.into()),
            treatment: Treatment::Hide,
        });
    }

    pub(crate) fn list(&self) -> Vec<HiddenPath> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, path: HiddenPath) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
}

/// Returns the other paths at which a file can be seen because its folder, or the file, is mounted there too.
///
/// # Errors
///
/// What is mounted cannot be read.
pub fn mounted_elsewhere(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    Ok(Mounts::read()?.aliases(path))
}

/// Returns what decides where a path leads: each link on the way to it, and each folder that `..` leaves again, wherever else they are
/// mounted too. Whoever may write beside one of them can lead the path to another file.
pub fn waypoints_of(path: &Path) -> Vec<PathBuf> {
    let mounts = Mounts::read().unwrap_or_default();
    at_mounts(waypoints(path), &mounts).into_iter().map(|(path, _)| path).collect()
}

/// What is ours, at every place where it is mounted: who is granted that place reaches the same file.
#[derive(Debug, Default)]
pub(crate) struct Ours {
    pub(crate) folders: Vec<PathBuf>,
    /// Where else the folders are mounted.
    pub(crate) elsewhere: Vec<PathBuf>,
    pub(crate) hidden: Vec<HiddenPath>,
    /// The links on the way to these, and the folders that `..` leaves.
    pub(crate) on_the_way: Vec<(PathBuf, Kind)>,
}

impl Ours {
    pub(crate) fn at_all_mounts(own: &[PathBuf], hidden: &[HiddenPath]) -> Result<Self, SandboxError> {
        let (folders, mut hidden) = (own.to_vec(), hidden.to_vec());
        if folders.is_empty() && hidden.is_empty() {
            return Ok(Self::default());
        }
        let mounts = Mounts::read().map_err(|error| SandboxError::Path { path: MOUNTS.into(), error })?;
        let ways = folders.iter().chain(hidden.iter().map(|one| &one.path));
        let mut on_the_way: Vec<(PathBuf, Kind)> = ways.flat_map(|path| waypoints(path)).collect();
        on_the_way.sort_by(|(one, _), (other, _)| one.cmp(other));
        on_the_way.dedup();
        let on_the_way = at_mounts(on_the_way, &mounts);
        let elsewhere = folders.iter().flat_map(|path| mounts.aliases(path)).collect();
        let at_others = |one: &HiddenPath| {
            let places = mounts.aliases(&one.path).into_iter();
            places.map(|path| HiddenPath { path, ..one.clone() }).collect::<Vec<_>>()
        };
        hidden.extend(hidden.clone().iter().flat_map(at_others));
        Ok(Self { folders, elsewhere, hidden, on_the_way })
    }
}

/// Makes the files that are to be hidden and are not there, in folders that lie in one of the `writable` trees.
///
/// # Errors
///
/// One cannot be made, and the command perhaps could.
pub(crate) fn make_missing(hidden: &[HiddenPath], writable: &[PathBuf]) -> Result<(), SandboxError> {
    for (path, content) in hidden.iter().filter_map(|one| Some((&one.path, one.content.as_deref()?))) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { continue };
        let is_missing = path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let Some(folder) = find(folder).ok().filter(|_| is_missing) else { continue };
        let failed = |error| SandboxError::Path { path: folder.real.join(name), error };
        let elsewhere = mounted_elsewhere(&folder.real).map_err(failed)?;
        let places = std::iter::once(&folder.real).chain(&elsewhere);
        // One place may be mounted read-only and another not: the command has the choice, and so have we.
        for place in places.filter(|place| writable.iter().any(|tree| place.starts_with(tree))) {
            make_at(place, name, content).map_err(failed)?;
        }
    }
    Ok(())
}

/// Makes a file where a command could make it; not where nobody of this user can.
fn make_at(folder: &Path, name: &OsStr, content: &str) -> std::io::Result<()> {
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(folder.join(name));
    match made.and_then(|mut file| file.write_all(content.as_bytes()).and_then(|()| file.sync_all())) {
        // Somebody else has made it, at another place of the same folder too.
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::ReadOnlyFilesystem) => {
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied && !could_permit(folder) => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let why = "its folder is read-only, which the command could change; let its owner write there";
            Err(std::io::Error::new(ErrorKind::PermissionDenied, why))
        }
        made => made,
    }
}

/// Says whether a command of this user could let itself make files in a folder: its owner may change who writes there.
fn could_permit(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw())
}

/// Adds where else each is mounted.
fn at_mounts(mut all: Vec<(PathBuf, Kind)>, mounts: &Mounts) -> Vec<(PathBuf, Kind)> {
    let mut elsewhere = Vec::new();
    for (path, kind) in &all {
        // A link would be followed, and its folder is no link.
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { continue };
        elsewhere.extend(mounts.aliases(folder).into_iter().map(|folder| (folder.join(name), *kind)));
    }
    all.extend(elsewhere);
    all
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_its_owner_may_open_is_not_one_where_nothing_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        std::fs::create_dir(&own).unwrap();
        std::fs::set_permissions(&own, PermissionsExt::from_mode(0o555)).unwrap();
        let hidden = HiddenPaths::default();
        hidden.add_made(own.join("policy.pins.json"), "{}");
        let made = make_missing(&hidden.list(), std::slice::from_ref(&own));
        if rustix::process::geteuid().is_root() {
            // Modes stop nobody here, so that it was made.
            made.unwrap();
            assert!(own.join("policy.pins.json").exists());
        } else {
            let said = made.unwrap_err().to_string();
            assert!(said.contains("its folder is read-only, which the command could change"), "{said}");
        }
        assert!(could_permit(&own));
    }
}
