//! Files on the always-deny floor inside granted trees: keys to hide, start-up files and hooks to keep from change.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, Floor, FloorKind};

use super::path::{Identity, Kind, find};
use crate::error::SandboxError;
use crate::git;
use crate::spec::NamedPaths;

mod alias;
mod folder;
mod hard_link;
mod pin;
mod walk;

pub(crate) use alias::AliasSurvey;
pub use alias::Aliases;
pub(crate) use hard_link::{HardLinks, LinkedFolder, find_shared};
#[cfg(target_os = "linux")]
pub(crate) use pin::is_exchanged;
pub(crate) use pin::{Pin, find_own_pins, find_pins};
use walk::Walk;

/// A file or folder on the floor.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Sensitive {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// Which file it is; of a link, the link itself.
    pub(crate) identity: Identity,
    /// When it was made, as far as that is known: another one can get the same inode.
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

/// What was found in a tree.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Files and folders on the floor.
    pub(crate) sensitive: Vec<Sensitive>,
    /// Files that have several names, in a writable tree.
    pub(crate) linked: Vec<LinkedFolder>,
}

/// Looks for files on the floor below `root`. Links are not followed, since what they lead to is not in the tree; where
/// it is, what a link on the floor leads to counts like the link.
///
/// A folder that cannot be listed, or that the command cannot enter, may hold anything under a known name: it counts as a whole.
///
/// # Errors
///
/// The tree is too large to be searched, or holds too many files on the floor, or changes while it is searched.
#[cfg(test)]
pub(crate) fn survey(
    root: &Path,
    writable: bool,
    named: &NamedPaths,
) -> Result<Vec<Sensitive>, SandboxError> {
    survey_within(root, writable, named, &[])
}

/// Looks for files on the floor below `root`, like [`search`], and sorts them.
///
/// # Errors
///
/// As for [`search`]; or it holds too many files on the floor.
#[cfg(test)]
pub(crate) fn survey_within(
    root: &Path,
    writable: bool,
    named: &NamedPaths,
    reach: &[PathBuf],
) -> Result<Vec<Sensitive>, SandboxError> {
    let mut sensitive = Vec::new();
    search(root, writable, named, reach, &mut |found| gather(&mut sensitive, found, root))?;
    Ok(sorted(sensitive))
}

/// Looks like [`survey_within`], and in a writable tree also for files with several names. Each file is looked at for that.
///
/// # Errors
///
/// As for [`survey_within`].
pub(crate) fn survey_with_names(
    root: &Path,
    writable: bool,
    named: &NamedPaths,
    reach: &[PathBuf],
) -> Result<Survey, SandboxError> {
    let (mut sensitive, mut linked) = (Vec::new(), Vec::new());
    let names = writable.then_some(&mut linked);
    Walk::new(root, writable, named, reach, names).run(&mut |found| gather(&mut sensitive, found, root))?;
    Ok(Survey { sensitive: sorted(sensitive), linked })
}

/// Looks into a folder that is protected as a whole: for what a read-only mount does not protect in it, and for where its links lead.
///
/// # Errors
///
/// It changes meanwhile, or holds too much.
pub(crate) fn survey_inside(
    folder: &Path,
    named: &NamedPaths,
    reach: &[PathBuf],
) -> Result<Vec<Sensitive>, SandboxError> {
    let mut sensitive = Vec::new();
    let root = folder.parent().unwrap_or(folder);
    let walk = Walk::new(root, true, named, reach, None);
    walk.run_inside(folder, &mut |found| gather(&mut sensitive, found, folder))?;
    Ok(sorted(sensitive))
}

/// Hands each file on the floor below `root` to `found`, in no order; one may come twice. What a link on the floor leads to counts
/// like the link where it is in this tree, or in one of the trees in `reach`.
///
/// # Errors
///
/// The tree is too large to be searched, or changes while it is searched, or `found` has had enough.
pub(crate) fn search(
    root: &Path,
    writable: bool,
    named: &NamedPaths,
    reach: &[PathBuf],
    found: &mut dyn FnMut(Sensitive) -> Result<(), SandboxError>,
) -> Result<(), SandboxError> {
    Walk::new(root, writable, named, reach, None).run(found)
}

pub(crate) fn gather(
    sensitive: &mut Vec<Sensitive>,
    found: Sensitive,
    root: &Path,
) -> Result<(), SandboxError> {
    sensitive.push(found);
    if sensitive.len() > MAX_SENSITIVE {
        return Err(too_many(root, "protected files", MAX_SENSITIVE));
    }
    Ok(())
}

fn sorted(mut sensitive: Vec<Sensitive>) -> Vec<Sensitive> {
    sensitive.sort_by(|one, other| one.path.cmp(&other.path));
    sensitive.dedup_by(|one, other| one.path == other.path && one.treatment == other.treatment);
    sensitive
}

fn too_many(root: &Path, what: &str, most: usize) -> SandboxError {
    SandboxError::Inexpressible {
        what: format!(
            "the always-deny floor in `{}`: it holds more than {most} {what}; grant less of it",
            root.display()
        ),
    }
}

/// When something was made: a new file can get the inode of one that is gone. Of a link that is when it was last changed, and of
/// anything else only known where its file system keeps it.
fn made(found: &std::fs::Metadata, kind: Kind) -> Option<(i64, i64)> {
    if kind == Kind::Link {
        return Some((found.ctime(), found.ctime_nsec()));
    }
    let since = found.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((i64::try_from(since.as_secs()).ok()?, i64::from(since.subsec_nanos())))
}

/// Looks at one path. One that is gone needs no protection.
pub(crate) fn seen(path: &Path, kind: Kind, treatment: Treatment) -> Option<Sensitive> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let identity = Identity { device: found.dev(), inode: found.ino() };
    let made = made(&found, kind);
    Some(Sensitive { path: path.to_path_buf(), kind, identity, made, treatment })
}

/// What a link leads to and the links on the way, as far as they are in these trees: who changes one of them changes what the
/// link means.
fn led_to<'t>(
    path: &Path,
    treatment: Treatment,
    trees: &(impl Iterator<Item = &'t Path> + Clone),
) -> Vec<Sensitive> {
    let Ok(found) = find(path) else { return Vec::new() };
    let is_inside = |path: &Path| {
        trees.clone().any(|tree| path.starts_with(tree)) && !trees.clone().any(|tree| path == tree)
    };
    let way =
        found.links.iter().map(|(link, _)| (link.as_path(), Kind::Link)).filter(|(link, _)| *link != path);
    let all = way.chain([(found.real.as_path(), found.kind)]).filter(|(path, _)| is_inside(path));
    all.filter_map(|(path, kind)| seen(path, kind, treatment)).collect()
}

fn treatment(path: &Path, kind: Kind, in_git: bool, writable: bool, named: &NamedPaths) -> Option<Treatment> {
    // A file or link in place of the folder says where git finds its configuration and hooks; and any folder that looks
    // like a repository is one to git.
    let is_git_file =
        kind != Kind::Directory && path.file_name().is_some_and(|name| git::is_same_name(name, ".git"));
    if is_git_file || in_git {
        return (writable && !named.write.iter().any(|named| named == path)).then_some(Treatment::ReadOnly);
    }
    // Everything below the scratch folder may be written as far as Landlock knows, and a pipe cares for no mount.
    if kind == Kind::Pipe && !writable && path.starts_with("/tmp") {
        return Some(Treatment::Hide);
    }
    // The folder around it is not on the floor, or it would not be searched.
    if !path.file_name().is_some_and(Floor::may_end_with) {
        return None;
    }
    match named.denies(path, Direction::Read).map(|(line, _)| line.kind) {
        // Git looks for hooks in any case; what it must not be able to do is to leave one.
        Some(FloorKind::Git) | None => {
            (writable && named.denies(path, Direction::Write).is_some()).then_some(Treatment::ReadOnly)
        }
        Some(_) => Some(Treatment::Hide),
    }
}

#[cfg(test)]
mod tests;
