//! Files of ours that no command sees.
//!
//! A command that may read a file can also lock it, and so keep us from writing to it. Whoever opens such a file adds it here, also
//! after the sandbox was made: it is looked at when a run is planned.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::SandboxError;
use crate::host::Mounts;

/// Where the kernel tells what is mounted.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Paths that no command of a [`Sandbox`](crate::Sandbox) sees, whatever is granted. Cheap to clone; all clones share one list.
#[derive(Clone, Debug, Default)]
pub struct HiddenPaths(Arc<Mutex<Vec<HiddenPath>>>);

/// One of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct HiddenPath {
    pub(crate) path: PathBuf,
    /// Whether it may be replaced or gone when it is mounted.
    pub(crate) may_change: bool,
}

impl HiddenPaths {
    /// Hides a file that stays where it is. What is not there yet is not hidden: make it first.
    pub fn add(&self, path: impl Into<PathBuf>) {
        self.push(HiddenPath { path: path.into(), may_change: false });
    }

    /// Hides a file that may be replaced or removed at any time.
    pub fn add_changing(&self, path: impl Into<PathBuf>) {
        self.push(HiddenPath { path: path.into(), may_change: true });
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

/// Adds where else each is mounted: who is granted that place reaches the same file.
pub(crate) fn at_all_mounts(
    own: &[PathBuf],
    hidden: &[HiddenPath],
) -> Result<(Vec<PathBuf>, Vec<HiddenPath>), SandboxError> {
    let (mut own, mut hidden) = (own.to_vec(), hidden.to_vec());
    if own.is_empty() && hidden.is_empty() {
        return Ok((own, hidden));
    }
    let mounts = Mounts::read().map_err(|error| SandboxError::Path { path: MOUNTS.into(), error })?;
    own.extend(own.clone().iter().flat_map(|path| mounts.aliases(path)));
    let elsewhere = |one: &HiddenPath| {
        let may_change = one.may_change;
        let places = mounts.aliases(&one.path).into_iter();
        places.map(move |path| HiddenPath { path, may_change }).collect::<Vec<_>>()
    };
    hidden.extend(hidden.clone().iter().flat_map(elsewhere));
    Ok((own, hidden))
}
