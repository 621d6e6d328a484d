//! Files with names outside the writable trees: who changes such a file in a tree changes it everywhere.
//!
//! A file all of whose names are in writable trees is nobody else's. Any other is mounted read-only over itself. The kernel then
//! refuses to remove or replace that name too: it has no mount that may be replaced and not written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Sensitive, Treatment, seen};
use crate::error::SandboxError;
use crate::host::{Identity, Kind};

/// More mounts than this are not made for hard links: whole folders become read-only.
const MAX_MOUNTS: usize = 1_000;
/// How many are named to the user.
const MAX_NAMED: usize = 3;

/// A file that has several names.
#[derive(Clone, Debug)]
pub(crate) struct Linked {
    name: CString,
    kind: Kind,
    identity: Identity,
    names: u64,
}

impl Linked {
    pub(super) const fn new(name: CString, kind: Kind, identity: Identity, names: u64) -> Self {
        Self { name, kind, identity, names }
    }
}

/// The files of one folder that have several names.
#[derive(Clone, Debug)]
pub(crate) struct LinkedFolder {
    pub(super) path: PathBuf,
    pub(super) identity: Identity,
    pub(super) files: Vec<Linked>,
}

/// Files in writable trees that have a name elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct HardLinks {
    /// How many there are.
    pub(crate) files: usize,
    /// The first of them.
    pub(crate) first: Vec<PathBuf>,
    /// What is kept from change for them: the files, or folders around them where they are many.
    pub(crate) kept: Vec<Sensitive>,
}

/// Finds the files that have a name outside the writable `trees`. A name in `fixed` may not be written there either; a file that is
/// a tree of its own was granted by its name. No folder around one of the `granted` paths is made read-only.
///
/// # Errors
///
/// There are too many of them, even by folders.
pub(crate) fn find_shared(
    folders: &[LinkedFolder],
    trees: &[&Path],
    granted: &[&Path],
    fixed: &HashSet<&Path>,
) -> Result<HardLinks, SandboxError> {
    let mut found = HardLinks::default();
    if folders.is_empty() {
        return Ok(found);
    }
    let mut counted: HashMap<Identity, (u64, u64)> = HashMap::new();
    let mut folders_counted: HashSet<Identity> = HashSet::new();
    for folder in folders {
        // Trees in each other show a folder twice; it has each of its names once.
        let is_new = folders_counted.insert(folder.identity);
        for file in &folder.files {
            let (names, here) = counted.entry(file.identity).or_default();
            *names = file.names.max(*names);
            if is_new && !fixed.contains(path_of(folder, file).as_path()) {
                *here += 1;
            }
        }
    }
    let mut shared: BTreeMap<PathBuf, Sensitive> = BTreeMap::new();
    for folder in folders {
        for file in &folder.files {
            let is_inside = counted.get(&file.identity).is_some_and(|(names, here)| here >= names);
            let path = path_of(folder, file);
            if is_inside || trees.contains(&path.as_path()) {
                continue;
            }
            // A mount does not keep anybody from writing to a pipe, a socket or a device.
            let treatment = if file.kind == Kind::File { Treatment::ReadOnly } else { Treatment::Hide };
            let (kind, identity) = (file.kind, file.identity);
            shared.insert(path.clone(), Sensitive { path, kind, identity, made: None, treatment });
        }
    }
    found.files = shared.len();
    found.first = shared.keys().take(MAX_NAMED).cloned().collect();
    // A read-only folder does not keep the pipes in it from being written.
    let (files, others) = shared.into_iter().partition(|(_, one)| one.kind == Kind::File);
    found.kept = condense(files, trees, granted)?;
    found.kept.extend(BTreeMap::into_values(others));
    Ok(found)
}

fn path_of(folder: &LinkedFolder, file: &Linked) -> PathBuf {
    folder.path.join(OsStr::from_bytes(file.name.as_bytes()))
}

/// Puts folders in the place of many files: the deepest first, in the part of a tree that has the most.
fn condense(
    shared: BTreeMap<PathBuf, Sensitive>,
    trees: &[&Path],
    granted: &[&Path],
) -> Result<Vec<Sensitive>, SandboxError> {
    if shared.len() <= MAX_MOUNTS {
        return Ok(shared.into_values().collect());
    }
    // By the folder right below a tree, or by the tree for what lies in it directly.
    let mut parts: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for path in shared.keys() {
        let around = trees.iter().filter(|tree| path.starts_with(tree));
        let root = around.max_by_key(|tree| tree.as_os_str().len()).copied().unwrap_or(Path::new("/"));
        let part = path.ancestors().find(|above| above.parent() == Some(root)).unwrap_or(path);
        let part = if part == path { root } else { part };
        parts.entry(part.to_path_buf()).or_default().insert(path.clone());
    }
    let mut stuck: BTreeSet<PathBuf> = trees.iter().map(|tree| tree.to_path_buf()).collect();
    while parts.values().map(BTreeSet::len).sum::<usize>() > MAX_MOUNTS {
        let can_shrink =
            |(part, kept): &(&PathBuf, &mut BTreeSet<PathBuf>)| kept.len() > 1 && !stuck.contains(*part);
        let most = parts.iter_mut().filter(can_shrink).max_by_key(|(_, kept)| kept.len());
        let Some((part, kept)) = most else { return Err(too_many(&parts)) };
        let folders = deepest_folders(part, kept, granted);
        if folders.is_empty() {
            stuck.insert(part.clone());
        }
        kept.retain(|path| !path.parent().is_some_and(|above| folders.contains(above)));
        kept.extend(folders);
    }
    let kept = parts.into_values().flatten();
    kept.map(|path| match shared.get(&path) {
        Some(file) => Ok(file.clone()),
        None => seen(&path, Kind::Directory, Treatment::ReadOnly).ok_or_else(|| {
            let error =
                std::io::Error::other("it is gone, and it held hard links a moment ago; run it again");
            SandboxError::Path { path, error }
        }),
    })
    .collect()
}

/// The folders around the deepest of the paths in a part of a tree, unless something in them was granted by itself.
fn deepest_folders(part: &Path, kept: &BTreeSet<PathBuf>, granted: &[&Path]) -> BTreeSet<PathBuf> {
    let depth = |path: &PathBuf| path.components().count();
    let deepest = kept.iter().map(depth).max().unwrap_or_default();
    let folders = kept.iter().filter(|path| depth(path) == deepest).filter_map(|path| path.parent());
    folders
        .filter(|folder| folder.starts_with(part) && !granted.iter().any(|path| path.starts_with(folder)))
        .map(Path::to_path_buf)
        .collect()
}

fn too_many(parts: &BTreeMap<PathBuf, BTreeSet<PathBuf>>) -> SandboxError {
    let most = parts.iter().max_by_key(|(_, kept)| kept.len()).map(|(part, _)| part.display().to_string());
    SandboxError::Inexpressible {
        what: format!(
            "that hard links in `{}` stay unchanged: more than {MAX_MOUNTS} of its files have names outside the writable \
             folders; copy them (`cp -r`), or grant less",
            most.unwrap_or_default()
        ),
    }
}
