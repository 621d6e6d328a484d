//! What the inner stage compares before it becomes the command.
//!
//! An outer program mounts by name, and a name can lead elsewhere by then: whatever a plan shows or protects is looked at again
//! from inside, where the mounts are.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Root;
use crate::error::SandboxError;
use crate::host::{Identity, Kind, Sensitive};
use crate::plan::{Entry, Plan};
use crate::step::Step;

/// Which file must be at a path.
#[derive(Debug, Deserialize, Serialize)]
struct ExpectedFile {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// When it was made, where its file system says so: another one can get the same inode.
    made: Option<(i64, i64)>,
    /// Whether it may be missing.
    may_be_gone: bool,
}

/// Something that must be covered.
#[derive(Debug, Deserialize, Serialize)]
struct ExpectedMask {
    path: PathBuf,
    /// Which file must not be seen there.
    hidden: Option<(u64, u64)>,
    file: bool,
    may_be_gone: bool,
}

/// Everything that is compared.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Expected {
    files: Vec<ExpectedFile>,
    masks: Vec<ExpectedMask>,
    /// Whether a mask is one of the outer program's own making, so that only what it hides is known.
    foreign_masks: bool,
}

impl Expected {
    /// Gathers it, and looks once more: what is another file already is not handed to an outer program.
    ///
    /// # Errors
    ///
    /// A path of the plan is another file by now.
    pub(super) fn of(plan: &Plan, root: Root) -> Result<Self, SandboxError> {
        let entries = || plan.base.iter().chain(&plan.root);
        let known = |path: &Path| plan.sensitive.iter().chain(&plan.shared).find(|one| one.path == path);
        let mut files = Vec::new();
        for entry in entries() {
            if let Entry::Bind { path, identity, protected, .. } = entry
                && !is_covered(plan, path)
            {
                let may_be_gone = !protected || plan.may_be_gone(path);
                let made = known(path).filter(|_| *protected).and_then(|one| one.made);
                files.push(expected(path, *identity, made, may_be_gone)?);
            }
        }
        for pin in plan.pins.iter().filter(|pin| pin.kind == Kind::Directory && !is_covered(plan, &pin.path))
        {
            files.push(expected(&pin.path, pin.identity, None, false)?);
        }
        let identity = |one: &Sensitive| (one.identity.device, one.identity.inode);
        // What every sandbox hides may be missing on this machine.
        let masks = plan.root.iter().filter_map(|entry| match entry {
            Entry::Hidden { path, file } => Some(ExpectedMask {
                path: path.clone(),
                hidden: known(path).map(identity),
                file: *file,
                may_be_gone: plan.may_be_gone(path),
            }),
            _ => None,
        });
        Ok(Self { files, masks: masks.collect(), foreign_masks: root == Root::Shared })
    }

    /// Returns the first path that is not what it was when the plan was made, or is not covered.
    pub(super) fn changed(&self) -> Option<&Path> {
        let other = self.files.iter().find(|file| !file.is_same()).map(|file| file.path.as_path());
        let seen = || self.masks.iter().find(|mask| !mask.covers(self.foreign_masks));
        other.or_else(|| seen().map(|mask| mask.path.as_path()))
    }
}

/// Tells whether something of ours is seen at a path instead of what is mounted there.
fn is_covered(plan: &Plan, path: &Path) -> bool {
    plan.base.iter().chain(&plan.root).any(|entry| match entry {
        Entry::Cover { path: at, .. } => path == at,
        Entry::Hidden { path: at, .. } => path.starts_with(at),
        _ => false,
    })
}

fn expected(
    path: &Path,
    identity: Identity,
    made: Option<(i64, i64)>,
    may_be_gone: bool,
) -> Result<ExpectedFile, SandboxError> {
    let Identity { device, inode } = identity;
    let mut file = ExpectedFile { path: path.to_path_buf(), device, inode, made, may_be_gone };
    if !file.is_same() {
        return Err(replaced(path));
    }
    file.made = made.or_else(|| std::fs::symlink_metadata(path).ok().as_ref().and_then(birth));
    Ok(file)
}

pub(super) fn replaced(path: &Path) -> SandboxError {
    SandboxError::Step {
        step: Step::Changed,
        path: Some(path.to_path_buf()),
        error: std::io::Error::other("it was replaced while the sandbox was built"),
    }
}

fn birth(found: &std::fs::Metadata) -> Option<(i64, i64)> {
    let since = found.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((i64::try_from(since.as_secs()).ok()?, i64::from(since.subsec_nanos())))
}

impl ExpectedFile {
    fn is_same(&self) -> bool {
        match std::fs::symlink_metadata(&self.path) {
            Ok(found) => {
                let is_made = |made| !found.is_symlink() && birth(&found) == Some(made);
                (found.dev(), found.ino()) == (self.device, self.inode) && self.made.is_none_or(is_made)
            }
            Err(error) => self.may_be_gone && error.kind() == std::io::ErrorKind::NotFound,
        }
    }
}

impl ExpectedMask {
    fn covers(&self, is_foreign: bool) -> bool {
        let found = match std::fs::symlink_metadata(&self.path) {
            Ok(found) => found,
            // Nobody can look there, or nothing is there.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return true,
            Err(error) => return self.may_be_gone && error.kind() == std::io::ErrorKind::NotFound,
        };
        if self.hidden == Some((found.dev(), found.ino())) {
            return false;
        }
        // Devices of an own root: `/dev/null` is 1:3. A folder is memory that nobody may enter.
        let is_own = match self.file {
            true => found.file_type().is_char_device() && found.rdev() == 0x103,
            false => found.is_dir() && found.mode() & 0o777 == 0,
        };
        is_foreign || is_own
    }
}
