//! Whether a file may be the work of a command whose run nobody has looked after yet.
//!
//! The quarantine comes when a run has ended. Until then a file of a protected name that was not there before lies where the command put
//! it, and another process of ours would believe it.

use std::io;
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, Floor};

use super::Before;
use super::mark::Marks;
use crate::host::{Kind, Treatment, seen};

/// Tells whether a file of a protected name is not the one that was there before a marked run, which may write there, or could until it was
/// killed. A file that is not there is not that one either. `folder` is where runs are marked. `places` is asked only where one is: the
/// paths of the file, without links before the last name.
///
/// # Errors
///
/// A mark cannot be believed: which, and why.
pub fn may_be_planted(
    folder: &Path,
    places: impl FnOnce() -> Vec<PathBuf>,
) -> Result<bool, (PathBuf, io::Error)> {
    if folder.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(false);
    }
    let marks = Marks::open(folder).map_err(|error| (folder.to_path_buf(), error))?;
    let all = marks.all()?;
    let places = if all.is_empty() { Vec::new() } else { places() };
    Ok(all.iter().any(|before| places.iter().any(|file| may_be_of(before, file))))
}

fn may_be_of(before: &Before, file: &Path) -> bool {
    let named = before.named.iter().map(PathBuf::as_path);
    let is_protected = Floor::denies_unless_named(file, Direction::Write, &named).is_some();
    // What a file is does not matter here: it is known by its number.
    let found = seen(file, Kind::File, Treatment::ReadOnly);
    is_protected && before.holds(file) && found.is_none_or(|found| !before.knows(&found))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::before::Known;
    use super::*;

    fn planted(folder: &Path, file: &Path) -> Result<bool, (PathBuf, io::Error)> {
        may_be_planted(folder, || vec![file.to_path_buf()])
    }

    #[test]
    fn a_protected_file_that_came_in_a_run_may_be_planted_until_somebody_has_looked() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let (tree, state) = (root.join("w"), root.join("state"));
        std::fs::create_dir_all(tree.join("sub")).unwrap();
        let (policy, pins) = (tree.join("ringfence.toml"), tree.join("sub/ringfence.pins.json"));
        let outside = root.join("ringfence.toml");
        for file in [&policy, &outside] {
            std::fs::write(file, "x").unwrap();
        }
        assert!(!planted(&state, &policy).unwrap(), "no run was ever marked");
        let found = seen(&policy, Kind::File, Treatment::ReadOnly).unwrap();
        let known = Known { identity: found.identity, made: found.made, is_protected: true };
        let known = BTreeMap::from([(policy.clone(), known)]);
        let before = Before { trees: vec![tree.clone()], known, ..Before::default() };
        let marks = Marks::open(&state).unwrap();
        let mark = marks.begin(&before).unwrap();
        for (file, is_new) in [(&policy, false), (&outside, false), (&pins, true)] {
            assert_eq!(planted(&state, file).unwrap(), is_new, "{file:?}");
        }
        std::fs::write(&pins, "x").unwrap();
        std::fs::rename(&policy, tree.join("away")).unwrap();
        std::fs::write(&policy, "y").unwrap();
        std::fs::write(tree.join("notes.md"), "y").unwrap();
        assert!(planted(&state, &pins).unwrap() && planted(&state, &policy).unwrap());
        assert!(!planted(&state, &tree.join("notes.md")).unwrap(), "it decides nothing");
        // A run that was killed leaves its mark, and one that is done does not.
        let other = marks.begin(&before).unwrap();
        drop(other);
        mark.remove().unwrap();
        assert!(planted(&state, &pins).unwrap());
        let left = marks.unfinished(|_| true).unwrap();
        left.into_iter().for_each(|one| one.remove().unwrap());
        assert!(!planted(&state, &pins).unwrap());
        // What the operator named for writing is the command's to change.
        let named = vec![tree.join("sub/ringfence.pins.json")];
        let _going_on = marks.begin(&Before { named, ..before }).unwrap();
        assert!(!planted(&state, &pins).unwrap() && planted(&state, &policy).unwrap());
        let mark = std::fs::read_dir(&state).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&mark, "forged").unwrap();
        assert_eq!(planted(&state, &pins).unwrap_err().0, mark);
    }
}
