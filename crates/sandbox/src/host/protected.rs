//! Files on the always-deny floor inside granted trees: keys to hide, start-up files and hooks to keep from change.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, Floor, FloorKind};

use super::path::{Identity, Kind};
use crate::error::SandboxError;

/// A file or folder on the floor.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Sensitive {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// Which file it is; of a link, the link itself.
    pub(crate) identity: Identity,
    pub(crate) treatment: Treatment,
}

/// What is done with it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Treatment {
    /// It can be neither read nor written.
    Hide,
    /// It can be read.
    ReadOnly,
}

/// More entries than this are not searched: a tree so large is not a workspace.
const MAX_ENTRIES: usize = 1_000_000;
/// Folders that belong to the system: they hold nobody's keys, and are large.
const SYSTEM: &[&str] = &["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/proc", "/sys", "/dev"];

/// Looks for files on the floor below `root`. Links are not followed, since what they lead to is not in the tree.
///
/// # Errors
///
/// The tree is too large to be searched.
pub(crate) fn survey(root: &Path, writable: bool, named: &[PathBuf]) -> Result<Vec<Sensitive>, SandboxError> {
    let is_system = |path: &Path| SYSTEM.iter().any(|system| path.starts_with(system));
    let mut sensitive = Vec::new();
    if is_system(root) && !writable {
        return Ok(sensitive);
    }
    let mut pending = vec![root.to_path_buf()];
    let mut entries = 0;
    while let Some(folder) = pending.pop() {
        let listed = match std::fs::read_dir(&folder) {
            Ok(listed) => listed,
            // A file, or a folder that we may not list: what is in it cannot be reached inside either.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound
                ) =>
            {
                continue;
            }
            Err(error) => return Err(SandboxError::Path { path: folder, error }),
        };
        for entry in listed.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(SandboxError::Inexpressible {
                    what: format!(
                        "the always-deny floor in `{}`: it holds more than {MAX_ENTRIES} files; grant less of it",
                        root.display()
                    ),
                });
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let kind = match kind {
                directory if directory.is_dir() => Kind::Directory,
                file if file.is_file() => Kind::File,
                _ => Kind::Other,
            };
            match treatment(&path, kind, writable, named) {
                Some(treatment) => {
                    // One that is gone again needs no protection.
                    if let Ok(found) = entry.metadata() {
                        let identity = Identity { device: found.dev(), inode: found.ino() };
                        sensitive.push(Sensitive { path, kind, identity, treatment });
                    }
                }
                None if kind == Kind::Directory && !(root == Path::new("/") && is_system(&path)) => {
                    pending.push(path);
                }
                None => {}
            }
        }
    }
    sensitive.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(sensitive)
}

fn treatment(path: &Path, kind: Kind, writable: bool, named: &[PathBuf]) -> Option<Treatment> {
    // A file or link in place of the folder says where git finds its configuration and hooks.
    if kind != Kind::Directory && path.file_name().is_some_and(|name| name == ".git") {
        return (writable && !named.iter().any(|named| named == path)).then_some(Treatment::ReadOnly);
    }
    let line = |direction| {
        Floor::denies_unless_named(path, direction, &named.iter().map(PathBuf::as_path))
            .map(|(entry, _)| entry.kind)
    };
    match line(Direction::Read) {
        // Git looks for hooks in any case; what it must not be able to do is to leave one.
        Some(FloorKind::Git) => writable.then_some(Treatment::ReadOnly),
        Some(_) => Some(Treatment::Hide),
        None => (writable && line(Direction::Write).is_some()).then_some(Treatment::ReadOnly),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_on_the_floor_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, content) in [
            (".git/hooks/pre-commit", "x"),
            (".git/config", "x"),
            (".git/HEAD", "x"),
            ("sub/.git/hooks/post-merge", "x"),
            (".ssh/id_rsa", "x"),
            ("sub/.bashrc", "x"),
            (".vscode/tasks.json", "x"),
            ("src/main.rs", "x"),
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let found = |writable, named: &[PathBuf]| -> Vec<(String, Treatment)> {
            let all = survey(root, writable, named).unwrap();
            let shown = |one: Sensitive| {
                (one.path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), one.treatment)
            };
            all.into_iter().map(shown).collect()
        };
        use Treatment::{Hide, ReadOnly};
        let read = [(".ssh".to_owned(), Hide), ("sub/.bashrc".to_owned(), Hide)];
        assert_eq!(found(false, &[]), read);
        let write = [
            (".git/config".to_owned(), ReadOnly),
            (".git/hooks".to_owned(), ReadOnly),
            (".ssh".to_owned(), Hide),
            (".vscode".to_owned(), ReadOnly),
            ("sub/.bashrc".to_owned(), Hide),
            ("sub/.git/hooks".to_owned(), ReadOnly),
        ];
        assert_eq!(found(true, &[]), write);
        assert_eq!(
            found(true, &[root.join(".vscode"), root.join(".git/config"), root.join("sub/.bashrc")]).len(),
            3
        );
    }
}
