//! Folders above protected files: renamed, they would take the protection along, and leave their place to others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Sensitive, Treatment, seen};
use crate::error::SandboxError;
use crate::host::{Identity, Kind};

/// More folders than this are not kept in their place: each is a mount.
const MAX_PINS: usize = 8_000;
/// Folders whose content package managers exchange by renaming. What is in them comes and goes; the look afterwards finds
/// what was put there.
const EXCHANGED: &[&str] = &["node_modules", "site-packages", "vendor"];

/// A folder or link that can be neither renamed, replaced nor removed, whatever may be done in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Pin {
    pub(crate) path: PathBuf,
    /// The writable tree it lies in.
    pub(crate) tree: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) identity: Identity,
    /// Whether it leads to a file of ours.
    pub(crate) is_ours: bool,
}

/// Tells whether a path lies in a folder of a writable tree whose content package managers exchange.
#[cfg(target_os = "linux")]
pub(crate) fn is_exchanged(path: &Path, trees: &[PathBuf]) -> bool {
    let around = trees.iter().filter(|tree| path.starts_with(tree));
    around.min_by_key(|tree| tree.as_os_str().len()).is_some_and(|tree| is_exchanged_below(path, tree))
}

fn is_exchanged_below(path: &Path, tree: &Path) -> bool {
    let is_exchanged = |part: &std::ffi::OsStr| EXCHANGED.iter().any(|name| part == *name);
    path.strip_prefix(tree).is_ok_and(|below| below.iter().any(is_exchanged))
}

/// Finds the folders between the writable `trees` and what is protected in them, and the links that are protected.
///
/// # Errors
///
/// There are too many, or one is no folder any more.
pub(crate) fn find_pins(sensitive: &[Sensitive], trees: &[&Path]) -> Result<Vec<Pin>, SandboxError> {
    pins(sensitive, trees, false)
}

/// The same for files of ours, and for folders on the way to them, which are to stay too. No package manager exchanges those.
///
/// # Errors
///
/// As for [`find_pins`].
pub(crate) fn find_own_pins(own: &[Sensitive], trees: &[&Path]) -> Result<Vec<Pin>, SandboxError> {
    pins(own, trees, true)
}

fn pins(sensitive: &[Sensitive], trees: &[&Path], is_ours: bool) -> Result<Vec<Pin>, SandboxError> {
    let mut pins: BTreeMap<PathBuf, Pin> = BTreeMap::new();
    for one in sensitive {
        let around = trees.iter().filter(|tree| one.path.starts_with(tree) && one.path != **tree);
        let Some(tree) = around.min_by_key(|tree| tree.as_os_str().len()) else { continue };
        if !is_ours && is_exchanged_below(&one.path, tree) {
            continue;
        }
        if one.kind == Kind::Link || (is_ours && one.treatment == Treatment::Watch) {
            let (path, tree) = (one.path.clone(), tree.to_path_buf());
            pins.insert(path.clone(), Pin { path, tree, kind: one.kind, identity: one.identity, is_ours });
        }
        let above = one.path.ancestors().skip(1).take_while(|above| above != tree);
        for path in above {
            if pins.contains_key(path) {
                break;
            }
            let is_folder = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
            let folder = seen(path, Kind::Directory, Treatment::ReadOnly).filter(|_| is_folder);
            let Some(folder) = folder else {
                let error = std::io::Error::other(
                    "it changed while it was searched for protected files; run it again",
                );
                return Err(SandboxError::Path { path: path.to_path_buf(), error });
            };
            let (path, tree) = (folder.path, tree.to_path_buf());
            let identity = folder.identity;
            pins.insert(path.clone(), Pin { path, tree, kind: Kind::Directory, identity, is_ours });
        }
    }
    if pins.len() > MAX_PINS {
        let what = format!(
            "the always-deny floor: more than {MAX_PINS} folders hold protected files; grant less of it"
        );
        return Err(SandboxError::Inexpressible { what });
    }
    Ok(pins.into_values().collect())
}
