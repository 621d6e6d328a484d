//! The folders that a marked run could write, known again when the machine was started anew or a disk was mounted again.
//!
//! A device number is not part of what makes a folder the same: the kernel gives another one with each mount. The inode, when the
//! folder was made and the number that a file system has of its own are.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::before::Known;
use crate::host::{Identity, Kind, Mounts, Treatment, seen};

/// A tree that a run could write: its path, which folder it was, and on which mount.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct MarkedTree {
    pub(crate) path: PathBuf,
    pub(super) folder: Option<(Identity, Option<(i64, i64)>)>,
    pub(super) mount: Option<MarkedMount>,
}

/// The mount that held it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct MarkedMount {
    pub(super) point: PathBuf,
    pub(super) device: u64,
    /// The number that the file system has of its own, where it has one.
    pub(super) file_system: Option<u64>,
}

/// What is at the path of a marked tree now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TreeNow {
    /// Its file system is not mounted there.
    Away,
    Gone,
    Other,
    Same,
    /// It cannot be looked at.
    Unknown,
}

impl MarkedTree {
    /// Looks at each, and at what is mounted in it: that can be unmounted alone.
    pub(super) fn all(paths: &[PathBuf]) -> Vec<Self> {
        // Where it is not known what is mounted, no mount counts as the marked one later.
        let mounts = Mounts::read().unwrap_or_default();
        let mut all: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let inside = mounts.points().filter(|point| paths.iter().any(|tree| point.starts_with(tree)));
        all.extend(inside.filter(|point| !paths.iter().any(|tree| tree == point)));
        // Of several at one place only the last is seen.
        let mut trees: Vec<Self> = Vec::new();
        for path in all {
            if !trees.iter().any(|tree| tree.path == path) {
                trees.push(Self::of(path, &mounts));
            }
        }
        trees
    }

    pub(super) fn of(path: &Path, mounts: &Mounts) -> Self {
        let folder = seen(path, Kind::Directory, Treatment::Watch).map(|found| (found.identity, found.made));
        Self { path: path.to_path_buf(), folder, mount: MarkedMount::of(path, mounts) }
    }

    /// Looks whether it is still the same folder: a path can lead to another by now.
    pub(crate) fn now(&self) -> TreeNow {
        let found = self.path.symlink_metadata();
        let now = Self::of(&self.path, &Mounts::read().unwrap_or_default());
        let mounts = self.mount.as_ref().zip(now.mount.as_ref());
        let is_mounted =
            mounts.is_some_and(|(then, now)| then.point == now.point && then.is_same_system(now));
        match found {
            Ok(found) if found.is_dir() && self.is_same_folder(&now) => TreeNow::Same,
            Ok(_) if is_mounted => TreeNow::Other,
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_mounted => TreeNow::Gone,
            Err(error) if error.kind() != io::ErrorKind::NotFound => TreeNow::Unknown,
            Ok(_) | Err(_) => TreeNow::Away,
        }
    }

    fn is_same_folder(&self, now: &Self) -> bool {
        let (Some((own, made)), Some((found, found_made))) = (self.folder, now.folder) else { return false };
        let systems = self.mount.as_ref().zip(now.mount.as_ref());
        let is_same_system = match systems.and_then(|(own, now)| own.file_system.zip(now.file_system)) {
            Some((own, now)) => own == now,
            // The time to the nanosecond tells as much.
            None => own.device == found.device || (systems.is_some() && made.is_some()),
        };
        own.inode == found.inode && made == found_made && is_same_system
    }

    /// Gives a file that was known the device that it has now, where it is the same file.
    pub(super) fn renew(&self, path: &Path, known: &mut Known) {
        let is_here = self.folder.is_some_and(|(folder, _)| folder.device == known.identity.device);
        let kind = match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => Kind::Link,
            _ => Kind::File,
        };
        let Some(now) = seen(path, kind, Treatment::Watch) else { return };
        let is_same = now.identity.inode == known.identity.inode && now.made == known.made;
        if is_same && path.starts_with(&self.path) && (known.made.is_some() || is_here) {
            known.identity = now.identity;
        }
    }
}

impl MarkedMount {
    fn of(path: &Path, mounts: &Mounts) -> Option<Self> {
        let point = mounts.point_of(path)?;
        let device = point.symlink_metadata().ok()?.dev();
        let number = rustix::fs::statvfs(point).ok()?.f_fsid;
        // Some file systems make it of the device, which says nothing more, and some have none.
        let file_system = Some(number).filter(|number| *number != 0 && *number != device);
        Some(Self { point: point.to_path_buf(), device, file_system })
    }

    fn is_same_system(&self, other: &Self) -> bool {
        match (self.file_system, other.file_system) {
            (Some(own), Some(other)) => own == other,
            _ => self.device == other.device,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, MarkedTree) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("w");
        std::fs::create_dir(&path).unwrap();
        let tree = MarkedTree::of(&path, &Mounts::read().unwrap());
        (folder, tree)
    }

    #[test]
    fn a_folder_is_the_same_under_another_device_number() {
        let (_kept, mut tree) = tree();
        assert_eq!(tree.now(), TreeNow::Same);
        let (folder, made) = tree.folder.unwrap();
        tree.folder = Some((Identity { device: folder.device + 1, ..folder }, made));
        tree.mount.as_mut().unwrap().device += 1;
        assert_eq!(tree.now(), TreeNow::Same);
        tree.folder = Some((Identity { inode: folder.inode + 1, ..folder }, made));
        assert_ne!(tree.now(), TreeNow::Same);
    }

    #[test]
    fn a_folder_is_gone_only_where_its_mount_is_there() {
        let (_kept, mut tree) = tree();
        std::fs::remove_dir(&tree.path).unwrap();
        assert_eq!(tree.now(), TreeNow::Gone);
        let mount = tree.mount.clone().unwrap();
        tree.mount = Some(MarkedMount { point: tree.path.clone(), ..mount });
        assert_eq!(tree.now(), TreeNow::Away);
        let (device, file_system) = (mount.device + 1, mount.file_system.map(|number| number ^ 1));
        tree.mount = Some(MarkedMount { device, file_system, ..mount });
        assert_eq!(tree.now(), TreeNow::Away);
        std::fs::create_dir(&tree.path).unwrap();
        assert_eq!(tree.now(), TreeNow::Away);
        tree.mount = None;
        assert_eq!(tree.now(), TreeNow::Away, "nobody knows what it was mounted on");
    }
}
