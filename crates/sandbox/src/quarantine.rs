//! What a command left in a writable folder that somebody outside would run or obey.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::host::{Sensitive, survey_within};
use crate::inert::is_inert;
use crate::plan::Plan;
use crate::report::Quarantined;

/// What became of what was found.
#[derive(Debug, Default)]
pub(crate) struct Aftermath {
    pub(crate) moved: Vec<Quarantined>,
    /// What is still where it was found, or was not looked at, and why.
    pub(crate) left: Vec<(PathBuf, String)>,
}

/// Moves files on the floor out of the way that were not there before, or are other files than before: a protected file
/// cannot be changed, but the folder around it can be exchanged for another.
///
/// Nothing that a command leaves behind ends this: what cannot be moved is told.
pub(crate) fn quarantine(plan: &Plan) -> Aftermath {
    let before: HashMap<&Path, &Sensitive> =
        plan.sensitive.iter().map(|one| (one.path.as_path(), one)).collect();
    let is_known = |found: &Sensitive| {
        before
            .get(found.path.as_path())
            .is_some_and(|known| known.identity == found.identity && known.made == found.made)
    };
    let mut aftermath = Aftermath::default();
    for tree in &plan.guarded {
        let all = match survey_within(tree, true, &plan.named, &plan.guarded) {
            Ok(all) => all,
            Err(error) => {
                aftermath.left.push((tree.clone(), error.to_string()));
                continue;
            }
        };
        for found in all {
            // What was moved with the folder around it is not there any more.
            let is_there = || found.path.symlink_metadata().is_ok();
            if is_known(&found) || is_inert(&found.path) || !is_there() {
                continue;
            }
            let moved = free_name(&found.path);
            match move_aside(&found.path, &moved) {
                Ok(()) => aftermath.moved.push(Quarantined { found: found.path, moved }),
                Err(error) => aftermath.left.push((found.path, error.to_string())),
            }
        }
    }
    aftermath
}

/// Renames, and where the folder is closed to us opens it for that moment.
fn move_aside(from: &Path, to: &Path) -> std::io::Result<()> {
    let parent = from.parent().unwrap_or(Path::new("/"));
    // The folder must still be the one that was searched, and not a link that was put in its place.
    if std::fs::canonicalize(parent)? != parent {
        return Err(std::io::Error::other("the folder around it has changed"));
    }
    std::fs::rename(from, to).or_else(|error| {
        let before = std::fs::metadata(parent)?.permissions();
        let mut open = before.clone();
        open.set_mode(before.mode() | 0o700);
        std::fs::set_permissions(parent, open).map_err(|_| error)?;
        let moved = std::fs::rename(from, to);
        std::fs::set_permissions(parent, before).and(moved)
    })
}

fn free_name(path: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".quarantined-{number}"));
        PathBuf::from(name)
    };
    (1..u32::MAX).map(named).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| named(0))
}
