//! Making up for quarantines that never came, because whoever ran the command was killed.

use std::path::{Path, PathBuf};

use super::mark::{Marks, TreeNow};
use super::{Before, look};
use crate::report::Quarantined;

/// What became of what killed runs had left.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// How many runs were killed before anybody looked.
    pub runs: usize,
    /// What was moved out of the way.
    pub moved: Vec<Quarantined>,
    /// What could not be moved or searched, or a mark that cannot be believed, and why.
    pub left: Vec<(PathBuf, String)>,
}

/// Looks again at the folders of runs that were killed, only at those of which `concerns` says so. `folder` is where runs are marked; where it
/// is missing there were none.
///
/// A mark stays for each folder until everything there has been moved. Where another folder is in its place by now, the killed run
/// wrote nothing to that one, and nothing is moved. A mark that is damaged, or that others could have written, is not believed: it
/// is told, and stays.
pub fn recover(folder: &Path, concerns: impl Fn(&Path) -> bool) -> Recovered {
    let mut recovered = Recovered::default();
    if folder.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return recovered;
    }
    let unfinished = match Marks::open(folder).map_err(|error| (folder.to_path_buf(), error)) {
        Ok(marks) => marks.unfinished(&concerns),
        Err(error) => Err(error),
    };
    let unfinished = match unfinished {
        Ok(unfinished) => unfinished,
        Err((path, error)) => {
            let why = format!("it marks a run that was not looked after, and cannot be believed: {error}");
            recovered.left.push((path, why));
            return recovered;
        }
    };
    for one in unfinished {
        let (mut looked_at, mut kept) = (Vec::new(), Vec::new());
        for tree in &one.trees {
            match tree.now() {
                _ if !concerns(&tree.path) => kept.push(tree.clone()),
                TreeNow::Gone | TreeNow::Other => {}
                // The search says why it cannot be looked at.
                TreeNow::Same | TreeNow::Unknown => looked_at.push(tree.path.clone()),
            }
        }
        if kept.len() == one.trees.len() {
            continue;
        }
        let aftermath = look(&Before { trees: looked_at, ..one.before.clone() });
        recovered.runs += 1;
        recovered.moved.extend(aftermath.moved);
        let is_done = aftermath.left.is_empty();
        recovered.left.extend(aftermath.left);
        let path = one.path.clone();
        let settled = match kept.as_slice() {
            _ if !is_done => Ok(()),
            [] => one.remove(),
            kept => one.keep_for(kept),
        };
        if let Err(error) = settled {
            recovered.left.push((path, error.to_string()));
        }
    }
    recovered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stays_until_everything_is_moved() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let (tree, state) = (root.join("w"), root.join("state"));
        std::fs::create_dir_all(tree.join("sub")).unwrap();
        let marks = Marks::open(&state).unwrap();
        let before = Before { trees: vec![tree.clone()], ..Before::default() };
        drop(marks.begin(&before).unwrap());
        std::fs::write(tree.join("sub/.envrc"), "x").unwrap();
        assert_eq!(recover(&state, |_| false).runs, 0);
        let recovered = recover(&state, |_| true);
        assert_eq!((recovered.runs, recovered.moved.len(), recovered.left.len()), (1, 1, 0));
        assert_eq!(recover(&state, |_| true).runs, 0);
        assert_eq!(recover(&root.join("none"), |_| true).runs, 0);
        // A tree that cannot be searched any more is not done.
        let before = Before { trees: vec![tree.join("x".repeat(300))], ..Before::default() };
        drop(marks.begin(&before).unwrap());
        for _ in 0..2 {
            let recovered = recover(&state, |_| true);
            assert_eq!((recovered.runs, recovered.left.len()), (1, 1), "{recovered:?}");
        }
    }
}
