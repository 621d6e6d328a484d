//! From many paths to few: the smallest list that a reader can still read.
//!
//! Three rules, and no other: a folder that was listed is granted as a whole; so is one of which [`MANY`] entries or more were used;
//! and so is an installed package of which anything was. A folder that is too wide is never granted, whatever was done in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// From so many used entries on, a folder is granted as a whole.
pub(super) const MANY: usize = 8;

/// What came of folding.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Folded {
    /// What is to be granted: files, and folders with everything below them.
    pub(super) paths: Vec<PathBuf>,
    /// Folders that were listed and are too wide to be granted.
    pub(super) too_wide: Vec<PathBuf>,
}

/// Folds files and listed folders.
pub(super) fn fold(
    files: impl IntoIterator<Item = PathBuf>,
    listed: impl IntoIterator<Item = PathBuf>,
    is_wide: impl Fn(&Path) -> bool,
) -> Folded {
    let whole = |file: PathBuf| package(&file).filter(|package| !is_wide(package)).unwrap_or(file);
    let mut kept: BTreeSet<PathBuf> = files.into_iter().map(whole).collect();
    let (wide, folders): (Vec<PathBuf>, Vec<PathBuf>) =
        listed.into_iter().partition(|folder| is_wide(folder));
    kept.extend(folders);
    loop {
        kept = without_covered(&kept);
        let mut used: BTreeMap<&Path, usize> = BTreeMap::new();
        for parent in kept.iter().filter_map(|path| path.parent()) {
            *used.entry(parent).or_default() += 1;
        }
        let whole = used.into_iter().filter(|(folder, count)| *count >= MANY && !is_wide(folder));
        let whole: Vec<PathBuf> = whole.map(|(folder, _)| folder.to_path_buf()).collect();
        if whole.is_empty() {
            break;
        }
        kept.extend(whole);
    }
    let mut too_wide: Vec<PathBuf> = wide.into_iter().filter(|folder| !covers(&kept, folder)).collect();
    too_wide.sort();
    too_wide.dedup();
    Folded { paths: kept.into_iter().collect(), too_wide }
}

/// Returns the installed package that a file belongs to, by the names that package managers give their folders.
fn package(file: &Path) -> Option<PathBuf> {
    const PLACES: &[&str] = &["dist-packages", "node_modules", "site-packages"];
    let is_place =
        |folder: &&Path| folder.file_name().is_some_and(|name| PLACES.iter().any(|place| name == *place));
    let place = file.ancestors().skip(1).find(is_place)?;
    let mut rest = file.strip_prefix(place).ok()?.components();
    let first = rest.next()?;
    let mut package = place.join(first);
    if first.as_os_str().as_encoded_bytes().starts_with(b"@") {
        package.push(rest.next()?);
    }
    // A module that is a single file has nothing around it.
    rest.next().map(|_| package)
}

/// Leaves out what lies below something that stays.
fn without_covered(paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let is_below = |path: &PathBuf| path.ancestors().skip(1).any(|above| paths.contains(above));
    paths.iter().filter(|path| !is_below(path)).cloned().collect()
}

fn covers(paths: &BTreeSet<PathBuf>, path: &Path) -> bool {
    path.ancestors().any(|above| paths.contains(above))
}

/// Tells whether a folder is too wide to be granted because of where it is: the root and what lies in it, the folders of programs,
/// and whatever holds the home or the workspace.
pub(super) fn is_wide_place(folder: &Path, workspace: &Path, home: Option<&Path>) -> bool {
    const PROGRAMS: &[&str] = &["/usr/bin", "/usr/sbin", "/usr/local", "/usr/local/bin", "/usr/local/sbin"];
    if folder == workspace {
        return false;
    }
    let holds = |inner: &Path| inner.starts_with(folder);
    folder.components().count() <= 2
        || PROGRAMS.iter().any(|programs| folder == Path::new(programs))
        || holds(workspace)
        || home.is_some_and(holds)
        || (folder.parent() == Some(Path::new("/home")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> Vec<PathBuf> {
        texts.iter().map(PathBuf::from).collect()
    }

    fn wide(folder: &Path) -> bool {
        is_wide_place(folder, Path::new("/home/u/w"), Some(Path::new("/home/u")))
    }

    #[test]
    fn folds_by_the_rules_alone() {
        let seven: Vec<PathBuf> = (0..7).map(|n| format!("/srv/data/{n}").into()).collect();
        assert_eq!(fold(seven.clone(), [], wide).paths, seven);
        let eight = seven.iter().cloned().chain(paths(&["/srv/data/more", "/srv/other"]));
        assert_eq!(fold(eight, [], wide).paths, paths(&["/srv/data", "/srv/other"]));
        let listed = fold(paths(&["/srv/data/x", "/srv/data/y/z"]), paths(&["/srv/data"]), wide);
        assert_eq!(listed.paths, paths(&["/srv/data"]));
    }

    #[test]
    fn a_package_is_whole() {
        let files = [
            "/srv/node_modules/ajv/lib/a.js",
            "/srv/node_modules/@scope/sdk/index.js",
            "/srv/node_modules/a/node_modules/b/c.js",
            "/opt/v/lib/site-packages/six.py",
            "/opt/v/lib/site-packages/mcp/types.py",
        ];
        let expected = [
            "/opt/v/lib/site-packages/mcp",
            "/opt/v/lib/site-packages/six.py",
            "/srv/node_modules/@scope/sdk",
            "/srv/node_modules/a/node_modules/b",
            "/srv/node_modules/ajv",
        ];
        assert_eq!(fold(paths(&files), [], wide).paths, paths(&expected));
        assert_eq!(fold(paths(&files[..1]), [], |_| true).paths, paths(&files[..1]));
    }

    #[test]
    fn many_folders_become_the_one_around_them() {
        let files = (0..9).flat_map(|n| (0..9).map(move |m| format!("/opt/tool/lib/{n}/{m}").into()));
        assert_eq!(fold(files, [], wide).paths, paths(&["/opt/tool/lib"]));
    }

    #[test]
    fn a_wide_folder_is_never_granted() {
        for folder in ["/", "/etc", "/usr", "/home", "/home/u", "/home/other", "/usr/bin"] {
            assert!(wide(Path::new(folder)), "{folder}");
            let files: Vec<PathBuf> = (0..20).map(|n| Path::new(folder).join(n.to_string())).collect();
            let folded = fold(files.clone(), paths(&[folder]), wide);
            assert_eq!(folded.paths.len(), files.len(), "{folder}");
            assert_eq!(folded.too_wide, paths(&[folder]));
        }
        assert!(!wide(Path::new("/home/u/w")) && !wide(Path::new("/usr/share/x")));
    }
}
