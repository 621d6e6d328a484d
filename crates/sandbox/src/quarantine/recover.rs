//! Making up for quarantines that never came, because whoever ran the command was killed.

use std::path::{Path, PathBuf};

use super::mark::Marks;
use super::tree::TreeNow;
use super::{Before, look};
use crate::report::{Quarantined, Unmounted};

/// What became of what killed runs had left.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// How many runs were killed before anybody looked.
    pub runs: usize,
    /// What was moved out of the way.
    pub moved: Vec<Quarantined>,
    /// What could not be moved or searched, or a mark that cannot be believed, and why.
    pub left: Vec<(PathBuf, String)>,
    /// Folders whose file system is not mounted where it was: they are looked at when it is.
    pub unmounted: Vec<Unmounted>,
}

/// Looks again at the folders of runs that were killed, only at those of which `concerns` says so. `folder` is where runs are marked; where it
/// is missing there were none.
///
/// A mark stays for each folder until everything there has been moved, and while its file system is not mounted. Where another folder is in its place by now, the killed run
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
        let (mut looked_at, mut kept, mut away) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = one.before.clone();
        for tree in &one.trees {
            match tree.now() {
                _ if !concerns(&tree.path) => kept.push(tree.clone()),
                TreeNow::Gone | TreeNow::Other => {}
                TreeNow::Away => {
                    kept.push(tree.clone());
                    away.push(tree.path.clone());
                }
                TreeNow::Same => {
                    before.known.iter_mut().for_each(|(path, known)| tree.renew(path, known));
                    looked_at.push(tree.path.clone());
                }
                // The search says why it cannot be looked at.
                TreeNow::Unknown => looked_at.push(tree.path.clone()),
            }
        }
        let unmounted =
            |mark: PathBuf| away.iter().map(move |tree| Unmounted { tree: tree.clone(), mark: mark.clone() });
        if kept.len() == one.trees.len() {
            recovered.unmounted.extend(unmounted(one.path.clone()));
            continue;
        }
        let aftermath = look(&Before { trees: looked_at, ..before });
        recovered.runs += 1;
        recovered.moved.extend(aftermath.moved);
        let is_done = aftermath.left.is_empty();
        recovered.left.extend(aftermath.left);
        let path = one.path.clone();
        let settled = match kept.as_slice() {
            _ if !is_done => Ok(path.clone()),
            [] => one.remove().map(|()| path.clone()),
            kept => one.keep_for(kept),
        };
        match settled {
            Ok(mark) => recovered.unmounted.extend(unmounted(mark)),
            Err(error) => recovered.left.push((path, error.to_string())),
        }
    }
    recovered
}

#[cfg(test)]
mod tests {
    use super::super::before::Known;
    use super::*;
    use crate::host::{Identity, Kind, Treatment, seen};

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

    #[test]
    fn a_file_that_was_there_stays_under_another_device_number() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let (tree, state) = (root.join("w"), root.join("state"));
        std::fs::create_dir_all(&tree).unwrap();
        let mut known = std::collections::BTreeMap::new();
        for name in [".envrc", ".npmrc"] {
            std::fs::write(tree.join(name), "x").unwrap();
            let found = seen(&tree.join(name), Kind::File, Treatment::ReadOnly).unwrap();
            let identity = Identity { device: found.identity.device + 1, ..found.identity };
            known.insert(found.path, Known { identity, made: found.made, is_protected: true });
        }
        // Another file has its place by now.
        std::fs::rename(tree.join(".npmrc"), root.join("away")).unwrap();
        std::fs::write(tree.join(".npmrc"), "x").unwrap();
        let before = Before { trees: vec![tree.clone()], known, ..Before::default() };
        drop(Marks::open(&state).unwrap().begin(&before).unwrap());
        let recovered = recover(&state, |_| true);
        assert_eq!((recovered.moved.len(), recovered.left.len()), (1, 0), "{recovered:?}");
        assert!(tree.join(".envrc").exists() && !tree.join(".npmrc").exists());
    }
}
