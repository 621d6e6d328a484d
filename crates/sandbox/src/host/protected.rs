//! Files on the always-deny floor inside granted trees: keys to hide, start-up files and hooks to keep from change.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, Floor, FloorKind};

use super::path::{Identity, Kind, find};
use crate::error::SandboxError;
use crate::git;

/// A file or folder on the floor.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Sensitive {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// Which file it is; of a link, the link itself.
    pub(crate) identity: Identity,
    /// Of a link, when it was made: another one can get the same inode.
    pub(crate) made: Option<(i64, i64)>,
    pub(crate) treatment: Treatment,
}

/// What is done with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Treatment {
    /// It can be neither read nor written.
    Hide,
    /// It can be read.
    ReadOnly,
    /// It may change: a folder that git takes for a repository, so that it is known which ones are new.
    Watch,
}

/// More entries than this are not searched: a tree so large is not a workspace.
const MAX_ENTRIES: usize = 1_000_000;
/// More files on the floor than this are not kept apart: each is a mount, or a move.
const MAX_SENSITIVE: usize = 4_000;
/// Folders that belong to the system: they hold nobody's keys, and are large.
const SYSTEM: &[&str] = &["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/proc", "/sys", "/dev"];

/// Looks for files on the floor below `root`. Links are not followed, since what they lead to is not in the tree; where
/// it is, what a link on the floor leads to counts like the link.
///
/// A folder that cannot be listed, or that the command cannot enter, may hold anything under a known name: it counts as a whole.
///
/// # Errors
///
/// The tree is too large to be searched, or holds too many files on the floor.
pub(crate) fn survey(root: &Path, writable: bool, named: &[PathBuf]) -> Result<Vec<Sensitive>, SandboxError> {
    let mut sensitive = Vec::new();
    search(root, writable, named, &mut |found| {
        sensitive.push(found);
        if sensitive.len() > MAX_SENSITIVE {
            return Err(too_many(root, "protected files", MAX_SENSITIVE));
        }
        Ok(())
    })?;
    sensitive.sort_by(|one, other| one.path.cmp(&other.path));
    sensitive.dedup_by(|one, other| one.path == other.path && one.treatment == other.treatment);
    Ok(sensitive)
}

fn too_many(root: &Path, what: &str, most: usize) -> SandboxError {
    SandboxError::Inexpressible {
        what: format!(
            "the always-deny floor in `{}`: it holds more than {most} {what}; grant less of it",
            root.display()
        ),
    }
}

/// Hands each file on the floor below `root` to `found`, in no order; one may come twice.
///
/// # Errors
///
/// The tree is too large to be searched, or `found` has had enough.
pub(crate) fn search(
    root: &Path,
    writable: bool,
    named: &[PathBuf],
    found: &mut dyn FnMut(Sensitive) -> Result<(), SandboxError>,
) -> Result<(), SandboxError> {
    let is_system = |path: &Path| SYSTEM.iter().any(|system| path.starts_with(system));
    if is_system(root) && !writable {
        return Ok(());
    }
    let mut pending = vec![root.to_path_buf()];
    let mut entries = 0;
    while let Some(folder) = pending.pop() {
        let listed = match list(&folder) {
            Ok(listed) if !is_closed(&folder) => listed,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => {
                continue;
            }
            Ok(_) | Err(_) => {
                sighted(&folder, Kind::Directory, Treatment::Hide, root)?.map_or(Ok(()), &mut *found)?;
                continue;
            }
        };
        entries += listed.len();
        let git = git::Folder::of(&folder, listed.iter().map(|(name, _)| name.as_os_str()));
        if git == git::Folder::Repository && writable {
            seen(&folder, Kind::Directory, Treatment::Watch).map_or(Ok(()), &mut *found)?;
        }
        for (name, kind) in listed {
            let path = folder.join(&name);
            // A rebase that starts nothing may go on, and is judged again afterwards.
            let in_git = git.protects(&name) && !git::is_plain_state(&path);
            match treatment(&path, kind, in_git, writable, named) {
                Some(treatment) => {
                    let led = led_to(&path, kind, root).and_then(|(path, kind)| seen(&path, kind, treatment));
                    for one in sighted(&path, kind, treatment, root)?.into_iter().chain(led) {
                        found(one)?;
                    }
                }
                None if kind == Kind::Directory && !(root == Path::new("/") && is_system(&path)) => {
                    pending.push(path);
                }
                None => {}
            }
        }
        if entries > MAX_ENTRIES {
            return Err(too_many(root, "files", MAX_ENTRIES));
        }
    }
    Ok(())
}

fn list(folder: &Path) -> io::Result<Vec<(OsString, Kind)>> {
    let mut listed = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = match entry.file_type()? {
            kind if kind.is_dir() => Kind::Directory,
            kind if kind.is_file() => Kind::File,
            kind if kind.is_symlink() => Kind::Link,
            kind if kind.is_fifo() => Kind::Pipe,
            _ => Kind::Other,
        };
        listed.push((entry.file_name(), kind));
    }
    Ok(listed)
}

/// Tells whether a folder is closed to a command of ours though not to us: root enters every folder, and its commands, which have
/// no capabilities, only those that their permissions open. Nothing in such a folder could be covered by itself.
fn is_closed(folder: &Path) -> bool {
    let user = rustix::process::geteuid();
    if !user.is_root() {
        return false;
    }
    let Ok(found) = std::fs::symlink_metadata(folder) else { return true };
    let has_group = || {
        let groups = rustix::process::getgroups().unwrap_or_default();
        rustix::process::getegid().as_raw() == found.gid()
            || groups.iter().any(|one| one.as_raw() == found.gid())
    };
    let enter = match () {
        () if found.uid() == user.as_raw() => 0o100,
        () if has_group() => 0o010,
        () => 0o001,
    };
    found.mode() & enter == 0
}

/// Looks at one that was listed. One so deep that it has no path any more is in a folder that has: that counts in its place.
fn sighted(
    path: &Path,
    kind: Kind,
    treatment: Treatment,
    root: &Path,
) -> Result<Option<Sensitive>, SandboxError> {
    let error = match path.symlink_metadata() {
        Ok(_) => return Ok(seen(path, kind, treatment)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => error,
    };
    let top = path.ancestors().find(|above| above.parent() == Some(root));
    match top.and_then(|top| seen(top, Kind::Directory, Treatment::Hide)) {
        Some(top) => Ok(Some(top)),
        None => Err(SandboxError::Inexpressible {
            what: format!("the always-deny floor in `{}`: it cannot be searched: {error}", root.display()),
        }),
    }
}

/// One that is gone again needs no protection.
pub(crate) fn seen(path: &Path, kind: Kind, treatment: Treatment) -> Option<Sensitive> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let identity = Identity { device: found.dev(), inode: found.ino() };
    let made = (kind == Kind::Link).then(|| (found.ctime(), found.ctime_nsec()));
    Some(Sensitive { path: path.to_path_buf(), kind, identity, made, treatment })
}

/// What a link leads to, if that is in the same tree.
fn led_to(path: &Path, kind: Kind, root: &Path) -> Option<(PathBuf, Kind)> {
    let found = find(path).ok().filter(|_| kind == Kind::Link)?;
    found.real.starts_with(root).then_some((found.real, found.kind)).filter(|(real, _)| real != root)
}

fn treatment(path: &Path, kind: Kind, in_git: bool, writable: bool, named: &[PathBuf]) -> Option<Treatment> {
    // A file or link in place of the folder says where git finds its configuration and hooks; and any folder that looks
    // like a repository is one to git.
    let is_git_file =
        kind != Kind::Directory && path.file_name().is_some_and(|name| git::is_same_name(name, ".git"));
    if is_git_file || in_git {
        return (writable && !named.iter().any(|named| named == path)).then_some(Treatment::ReadOnly);
    }
    // Everything below the scratch folder may be written as far as Landlock knows, and a pipe cares for no mount.
    if kind == Kind::Pipe && !writable && path.starts_with("/tmp") {
        return Some(Treatment::Hide);
    }
    // The folder around it is not on the floor, or it would not be searched.
    if !path.file_name().is_some_and(Floor::may_end_with) {
        return None;
    }
    let line = |direction| {
        Floor::denies_unless_named(path, direction, &named.iter().map(PathBuf::as_path))
            .map(|(entry, _)| entry.kind)
    };
    match line(Direction::Read) {
        // Git looks for hooks in any case; what it must not be able to do is to leave one.
        Some(FloorKind::Git) => writable.then_some(Treatment::ReadOnly),
        Some(_) => Some(Treatment::Hide),
        None => (writable && line(Direction::Write).is_some()).then_some(Treatment::ReadOnly),
    }
}

#[cfg(test)]
mod tests;
