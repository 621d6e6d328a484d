//! An open folder. What is in it is looked at relative to it, so that an exchange of the folders above leads nowhere else.

use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::{Errno, Result};

use crate::host::{Identity, Kind};

/// A folder that is open for listing.
pub(super) struct Folder {
    listing: Dir,
    found: Stat,
}

impl Folder {
    /// Opens the folder at a path; the last part of the path must not be a link.
    pub(super) fn at(path: &Path) -> Result<Self> {
        Self::of(openat(CWD, path, FLAGS, Mode::empty())?)
    }

    /// Opens a folder in this one.
    pub(super) fn enter(&self, name: &CStr) -> Result<Self> {
        Self::of(openat(self.handle()?, name, FLAGS, Mode::empty())?)
    }

    /// Opens the folder around this one.
    pub(super) fn around(&self) -> Result<Self> {
        self.enter(c"..")
    }

    fn of(handle: OwnedFd) -> Result<Self> {
        let found = fstat(&handle)?;
        Ok(Self { listing: Dir::new(handle)?, found })
    }

    fn handle(&self) -> Result<BorrowedFd<'_>> {
        self.listing.fd()
    }

    pub(super) fn identity(&self) -> Identity {
        identity(&self.found)
    }

    /// Looks at one name in it, without following a link.
    pub(super) fn look(&self, name: &CStr) -> Result<Stat> {
        statat(self.handle()?, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Lists it. What is gone before its kind is known is left out.
    pub(super) fn list(&mut self) -> Result<Vec<(CString, Kind)>> {
        let mut listed = Vec::new();
        while let Some(entry) = self.listing.read() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say it in a listing.
                FileType::Unknown => match self.look(name) {
                    Ok(found) => kind_of(&found),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error),
                },
                known => kind(known),
            };
            listed.push((name.to_owned(), kind));
        }
        Ok(listed)
    }

    /// Tells whether it is closed to a command of ours though not to us: root enters every folder, and its commands, which have
    /// no capabilities, only those that their permissions open. Nothing in such a folder could be covered by itself.
    pub(super) fn is_closed(&self) -> bool {
        let user = rustix::process::geteuid();
        if !user.is_root() {
            return false;
        }
        let has_group = || {
            let groups = rustix::process::getgroups().unwrap_or_default();
            rustix::process::getegid().as_raw() == self.found.st_gid
                || groups.iter().any(|one| one.as_raw() == self.found.st_gid)
        };
        let enter = match () {
            () if self.found.st_uid == user.as_raw() => 0o100,
            () if has_group() => 0o010,
            () => 0o001,
        };
        self.found.st_mode & enter == 0
    }
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(super) fn identity(found: &Stat) -> Identity {
    Identity { device: wide(found.st_dev), inode: wide(found.st_ino) }
}

/// How many names a file has.
pub(super) fn names(found: &Stat) -> u64 {
    wide(found.st_nlink)
}

/// Systems disagree about the width of these numbers.
fn wide(number: impl TryInto<u64>) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

pub(super) fn kind_of(found: &Stat) -> Kind {
    kind(FileType::from_raw_mode(found.st_mode))
}

const fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::Directory => Kind::Directory,
        FileType::RegularFile => Kind::File,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Pipe,
        _ => Kind::Other,
    }
}
