//! The folder of one control group, open and locked.
//!
//! A lock is seen from every namespace and ends with the process that holds it. A number of a process would mean
//! somebody else in another namespace of processes.
//!
//! INVARIANT: everything in the group is reached through the descriptor that is locked. Its path is used only to remove it,
//! and only while it leads to that folder.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, XattrFlags, fgetxattr, fsetxattr, open, openat};

/// Says that ringfence made the group. Nobody else gives a group this attribute, whatever its name is.
const MARK: &str = "user.ringfence";
const MARK_VALUE: &[u8] = b"1";

/// How often a group that is still in use is tried to be removed, and how long is waited in between.
const REMOVALS: u32 = 100;
const PAUSE: Duration = Duration::from_micros(200);

/// A folder that this process has locked.
#[derive(Debug)]
pub(super) struct LockedFolder {
    path: PathBuf,
    folder: File,
}

impl LockedFolder {
    /// Opens and locks the folder; [`WouldBlock`](io::ErrorKind::WouldBlock) where somebody else uses it.
    pub(super) fn lock(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = File::from(open(path, flags, Mode::empty())?);
        folder.try_lock()?;
        Ok(Self { path: path.to_owned(), folder })
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file of the group for reading.
    pub(super) fn open(&self, name: &str) -> io::Result<File> {
        self.open_for(name, OFlags::RDONLY)
    }

    /// Opens a file of the group for writing. None is made: where the kernel has no such file, it is not found.
    pub(super) fn open_to_write(&self, name: &str) -> io::Result<File> {
        self.open_for(name, OFlags::WRONLY)
    }

    fn open_for(&self, name: &str, access: OFlags) -> io::Result<File> {
        let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.folder, name, flags, Mode::empty())?))
    }

    /// Reads a file of the group.
    pub(super) fn read(&self, name: &str) -> io::Result<String> {
        let mut text = String::new();
        self.open(name)?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes a value into a file of the group, which takes it whole or not at all.
    pub(super) fn write(&self, name: &str, value: &str) -> io::Result<()> {
        self.open_to_write(name)?.write_all(value.as_bytes())
    }

    /// Marks the group as one that ringfence made.
    ///
    /// Control groups of both versions have user attributes since Linux 5.7. Where they have none, the group stays
    /// without a mark, and nobody ends what a killed ringfence leaves in it.
    pub(super) fn set_mark(&self) -> io::Result<()> {
        Ok(fsetxattr(&self.folder, MARK, MARK_VALUE, XattrFlags::empty())?)
    }

    /// Tells whether ringfence made the group.
    pub(super) fn is_marked(&self) -> bool {
        // One byte more than the value has, so that a longer one is another one.
        let mut value = [0; MARK_VALUE.len() + 1];
        let length = fgetxattr(&self.folder, MARK, &mut value[..]);
        length.is_ok_and(|length| value.get(..length) == Some(MARK_VALUE))
    }

    /// Removes the group if nothing is in it; [`ResourceBusy`](io::ErrorKind::ResourceBusy) if something is.
    ///
    /// What is at its path instead stays. In the instant after the look another empty group can be removed, and nothing else:
    /// the kernel removes by path, and never a group that holds something.
    pub(super) fn remove(&self) -> io::Result<()> {
        if leads_to(&self.path, &self.folder)? {
            std::fs::remove_dir(&self.path)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// Removes a group whose last process may still be on its way out.
    pub(super) fn remove_soon(&self) {
        for _ in 0..REMOVALS {
            match self.remove() {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(PAUSE),
                _ => break,
            }
        }
    }
}

/// Tells whether this is the path of that folder, and not of one that took its place.
fn leads_to(path: &Path, folder: &File) -> io::Result<bool> {
    let (at_path, open) = (std::fs::symlink_metadata(path)?, folder.metadata()?);
    Ok((at_path.dev(), at_path.ino()) == (open.dev(), open.ino()))
}

/// Locks a folder that a test has just let go of: a process that another thread starts has the lock too until it executes.
#[cfg(test)]
pub(super) fn lock_soon(path: &Path) -> LockedFolder {
    let begun = std::time::Instant::now();
    loop {
        match LockedFolder::lock(path) {
            Ok(folder) => return folder,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error}"),
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path) -> LockedFolder {
        std::fs::create_dir(path).unwrap();
        LockedFolder::lock(path).unwrap()
    }

    #[test]
    fn a_folder_is_locked_once_and_through_no_link() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("group");
        let locked = folder(&path);
        assert_eq!(LockedFolder::lock(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(locked);
        lock_soon(&path);
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(LockedFolder::lock(&link).is_err());
    }

    #[test]
    fn a_folder_that_took_the_place_of_another_is_neither_read_nor_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (path, aside) = (parent.path().join("group"), parent.path().join("aside"));
        let locked = folder(&path);
        std::fs::write(path.join("file"), "its own").unwrap();
        std::fs::rename(&path, &aside).unwrap();
        let other = folder(&path);
        std::fs::write(path.join("file"), "another").unwrap();
        assert_eq!(locked.read("file").unwrap(), "its own");
        locked.write("file", "ITS").unwrap();
        assert_eq!(other.read("file").unwrap(), "another");
        std::fs::remove_file(path.join("file")).unwrap();
        assert_eq!(locked.remove().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(path.exists());
        other.remove().unwrap();
        assert!(!path.exists() && aside.exists());
    }

    #[test]
    fn no_file_is_made_in_a_group() {
        let parent = tempfile::tempdir().unwrap();
        let locked = folder(&parent.path().join("group"));
        assert_eq!(locked.write("file", "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        std::os::unix::fs::symlink("/dev/null", parent.path().join("group/link")).unwrap();
        assert!(locked.write("link", "1").is_err());
    }

    #[test]
    fn a_mark_is_the_attribute_with_its_value() {
        let parent = tempfile::tempdir().unwrap();
        let locked = folder(&parent.path().join("group"));
        assert!(!locked.is_marked());
        for (value, marked) in
            [(&b""[..], false), (b"2", false), (b"12", false), (b"123", false), (b"1", true)]
        {
            fsetxattr(&locked.folder, MARK, value, XattrFlags::empty()).unwrap();
            assert_eq!(locked.is_marked(), marked, "{value:?}");
        }
        fsetxattr(&locked.folder, MARK, b"", XattrFlags::empty()).unwrap();
        locked.set_mark().unwrap();
        assert!(locked.is_marked());
    }
}
