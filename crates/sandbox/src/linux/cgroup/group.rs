//! One control group of a sandbox: how it is named and made.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::MEMBERS;
use super::folder::LockedFolder;
use super::sweep::sweep;

const PREFIX: &str = "ringfence-";

/// How often a name may be taken, or a new group be swept before it was locked.
const TRIES: u32 = 16;

/// A group whose lock says that somebody uses it. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Group(LockedFolder);

impl Group {
    /// Makes an empty group that nobody sweeps.
    pub(super) fn make(parent: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut last = None;
        for _ in 0..TRIES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            // Once in a while: the first groups of a process, one in each hierarchy.
            if number < 2 {
                sweep(parent);
            }
            // Processes of two namespaces can have the same number.
            match Self::make_at(&parent.join(own_name(std::process::id(), number))) {
                Ok(group) => return Ok(group),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) =>
                {
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// Makes the folder, locks and marks it; [`NotFound`](io::ErrorKind::NotFound) where it was swept in between.
    fn make_at(path: &Path) -> io::Result<Self> {
        // Nobody else may hold a lock on it.
        DirBuilder::new().mode(0o700).create(path)?;
        let folder = match LockedFolder::lock(path) {
            Ok(folder) => folder,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            Err(error) => {
                let _removed = std::fs::remove_dir(path);
                return Err(error);
            }
        };
        let group = Self(folder);
        // Without a mark the limits hold all the same.
        let _marked = group.0.set_mark();
        // Who sweeps removes under the lock: what is there now stays.
        group.0.open(MEMBERS)?;
        Ok(group)
    }

    /// Reads a file of the group.
    pub(super) fn read(&self, name: &str) -> io::Result<String> {
        self.0.read(name)
    }

    /// Writes a value into a file of the group.
    pub(super) fn write(&self, name: &str, value: &str) -> io::Result<()> {
        self.0.write(name, value)
    }

    #[cfg(test)]
    pub(super) fn folder(&self) -> &LockedFolder {
        &self.0
    }

    /// Opens the file through which a process joins.
    pub(super) fn open_door(&self) -> io::Result<File> {
        self.0.open_to_write(MEMBERS)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.0.remove_soon();
    }
}

fn own_name(process: u32, number: u64) -> String {
    format!("{PREFIX}{process}-{number}")
}

/// Tells whether a name is exactly one that [`Group::make`] gives.
pub(super) fn is_own_name(name: &str) -> bool {
    let numbers = || {
        let (process, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
        Some((process.parse().ok()?, number.parse().ok()?))
    };
    // A number has other spellings too.
    numbers().is_some_and(|(process, number)| own_name(process, number) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_of_the_whole_shape_is_our_own() {
        for (name, own) in [
            ("ringfence-1-0", true),
            ("ringfence-4294967295-18446744073709551615", true),
            ("ringfence-4294967296-0", false),
            ("ringfence-1-18446744073709551616", false),
            ("ringfence-1", false),
            ("ringfence-1-", false),
            ("ringfence--1", false),
            ("ringfence-", false),
            ("ringfence-1-2-3", false),
            ("ringfence-1-2.scope", false),
            ("ringfence-01-2", false),
            ("ringfence-1-02", false),
            ("ringfence-+1-2", false),
            ("ringfence-1-+2", false),
            ("ringfence-1-2 ", false),
            ("ringfence-ci-7", false),
            ("ringfence-gateway.service", false),
            ("Ringfence-1-2", false),
            ("my-ringfence-1-2", false),
        ] {
            assert_eq!(is_own_name(name), own, "{name}");
        }
    }

    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("ringfence-1-0");
        std::fs::create_dir(&path).unwrap();
        let _used = LockedFolder::lock(&path).unwrap();
        let kind = Group::make_at(&path).unwrap_err().kind();
        assert_eq!((kind, path.exists()), (io::ErrorKind::AlreadyExists, true));
        // Not a hierarchy: nothing to join, and nothing is left.
        let kind = Group::make(parent.path()).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::NotFound);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
    }
}
