//! Moving one file aside, whatever others do to the folders around it in the meantime.
//!
//! INVARIANT: only the file that was found is moved, and it stays in the folder it was found in: every folder on the way is held
//! open, none of them is a link, and the file is compared before and after.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use ringfence_policy::Floor;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat, fstat, open, openat, statat};
use rustix::io::Errno;

use crate::host::{Identity, Kind, Sensitive};

/// How a folder is held: for its names, not for its content.
#[cfg(target_os = "linux")]
const HOLD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const HOLD: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// As many numbers are tried before a name that is not numbered from the first.
const NUMBERS: u32 = 1_000;

/// More entries of a folder that was moved are not searched.
const MAX_SEARCHED: usize = 20_000;

/// What came of it.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Moved {
    /// It is not there any more.
    Gone,
    /// It is here now.
    To(PathBuf),
}

/// Moves a file or folder to a free name beside it.
///
/// # Errors
///
/// It cannot be moved, or is another file than the one that was found.
pub(super) fn move_aside(found: &Sensitive) -> io::Result<Moved> {
    let (Some(parent), Some(name)) = (found.path.parent(), found.path.file_name()) else {
        return Err(io::Error::other("it has no name"));
    };
    let folder = match hold(parent) {
        Err(Errno::NOENT) => return Ok(Moved::Gone),
        folder => folder?,
    };
    match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(Moved::Gone),
        Err(error) => return Err(error.into()),
        Ok(stat) if is_same(&stat, found) => {}
        Ok(_) => return Err(changed()),
    }
    let moved = match rename(&folder, name) {
        Err(Errno::ACCESS | Errno::PERM) => opened(&folder, || rename(&folder, name))?,
        moved => moved?,
    };
    // Somebody else may have put another file there at the last moment.
    let stat = statat(&folder, &moved, AtFlags::SYMLINK_NOFOLLOW)?;
    if is_same(&stat, found) { Ok(Moved::To(parent.join(moved))) } else { Err(changed()) }
}

/// Leaves a note where a file of ours was that decides something. Whoever reads the file finds that it cannot be trusted, and stops.
///
/// # Errors
///
/// It cannot be written, or something is there again.
pub(super) fn leave_note(path: &Path, moved: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it has no name"));
    };
    let folder = hold(parent)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?;
    let moved = moved.file_name().unwrap_or_default().to_string_lossy();
    let text = format!(
        "ringfence moved what was here to `{}`: a command could have written it.\n\
         If it is yours, remove this file and move it back. If not, remove both.\n",
        moved.escape_debug()
    );
    io::Write::write_all(&mut std::fs::File::from(file), text.as_bytes())
}

/// Tells whether something decides in a folder, by its name. A folder that cannot be searched to its end counts as well.
pub(super) fn holds_what_decides(folder: &Path) -> bool {
    let (mut folders, mut seen) = (vec![folder.to_path_buf()], 0);
    while let Some(folder) = folders.pop() {
        let Ok(listed) = std::fs::read_dir(folder) else { return true };
        for entry in listed {
            let Ok(entry) = entry else { return true };
            seen += 1;
            if seen > MAX_SEARCHED || Floor::decides(&entry.path()) {
                return true;
            }
            if entry.file_type().map_or(true, |kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    false
}

/// Opens a folder of ours to us, so that it can be searched.
///
/// # Errors
///
/// It is another folder than the one that was found, or not ours.
pub(super) fn open_to_owner(found: &Sensitive) -> io::Result<()> {
    let folder = hold(&found.path)?;
    let stat = fstat(&folder)?;
    if !is_same(&stat, found) {
        return Err(changed());
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    change_mode(&folder, mode | Mode::RWXU)?;
    Ok(())
}

fn changed() -> io::Error {
    io::Error::other("it was exchanged while it was being moved")
}

/// Holds a folder, following no link on the way. The path is absolute and has no `..`.
fn hold(path: &Path) -> Result<OwnedFd, Errno> {
    let mut folder = open("/", HOLD, Mode::empty())?;
    for component in path.components() {
        match component {
            Component::Normal(name) => folder = openat(&folder, name, HOLD, Mode::empty())?,
            Component::RootDir => {}
            _ => return Err(Errno::INVAL),
        }
    }
    Ok(folder)
}

fn is_same(stat: &Stat, found: &Sensitive) -> bool {
    let identity = Identity { device: stat.st_dev as _, inode: stat.st_ino };
    let is_link = FileType::from_raw_mode(stat.st_mode as RawMode) == FileType::Symlink;
    identity == found.identity && is_link == (found.kind == Kind::Link)
}

fn rename(folder: &OwnedFd, name: &OsStr) -> Result<OsString, Errno> {
    let mut is_short = false;
    for number in 1..=NUMBERS + 16 {
        let number = if number <= NUMBERS { u64::from(number) } else { random() };
        let mut new = OsString::new();
        if !is_short {
            new.push(name);
            new.push(".");
        }
        new.push(format!("quarantined-{number}"));
        // The new name must not be one that somebody obeys.
        if Floor::may_end_with(&new) {
            is_short = true;
            new = format!("quarantined-{number}").into();
        }
        match rename_to_free(folder, name, &new) {
            Ok(()) => return Ok(new),
            Err(Errno::EXIST) => {}
            Err(Errno::NAMETOOLONG) if !is_short => is_short = true,
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST)
}

fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

fn rename_to_free(folder: &OwnedFd, name: &OsStr, new: &OsStr) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    match rustix::fs::renameat_with(folder, name, folder, new, rustix::fs::RenameFlags::NOREPLACE) {
        // Some file systems know no such rename.
        Err(Errno::INVAL | Errno::NOSYS) => {}
        renamed => return renamed,
    }
    match statat(folder, new, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => rustix::fs::renameat(folder, name, folder, new),
        Err(error) => Err(error),
        Ok(_) => Err(Errno::EXIST),
    }
}

/// Opens a folder that is closed to us for as long as something is done.
fn opened<T>(folder: &OwnedFd, work: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    let before = Mode::from_raw_mode(fstat(folder)?.st_mode);
    change_mode(folder, before | Mode::RWXU)?;
    let done = work();
    change_mode(folder, before).and(done)
}

#[cfg(target_os = "linux")]
fn change_mode(folder: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    use std::os::fd::AsRawFd as _;
    // A folder that is held for its names only has its mode changed by this name alone.
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()), mode)
}

#[cfg(not(target_os = "linux"))]
fn change_mode(folder: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::fchmod(folder.as_fd(), mode)
}

#[cfg(test)]
mod tests;
