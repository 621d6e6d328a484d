//! Which folders git takes for repositories, and which names in them decide what git runs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use ringfence_policy::Floor;

use crate::file::read_small;

/// A folder, as git sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Folder {
    /// The `info` of a repository.
    Info,
    /// Below `modules` or `worktrees` of a repository, and not a repository itself, yet or any more.
    Part,
    Plain,
    Repository,
}

/// What decides in a repository what git runs: configuration, hooks, where the rest of it is, and commands that wait.
const CONTROL: &[&str] = &[
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "hooks",
    "rebase-apply",
    "rebase-merge",
    "remotes",
    "sequencer",
];
/// The same in a folder that only looks like a part of one.
const PART: &[&str] = &["commondir", "config", "config.worktree", "gitdir", "hooks"];
const INFO: &[&str] = &["attributes"];

impl Folder {
    /// Judges a folder by its path and the names in it.
    ///
    /// Git wants a `HEAD` that names something, and `objects` and `refs` in the folder or in the one that `commondir` names. What
    /// these are is not asked here: they can change as long as the names stand.
    pub(crate) fn of<'a>(path: &Path, mut names: impl Iterator<Item = &'a OsStr>) -> Self {
        let mut found = [false; 4];
        for name in names.by_ref() {
            for (found, wanted) in found.iter_mut().zip(["HEAD", "commondir", "objects", "refs"]) {
                *found |= is_same_name(name, wanted);
            }
        }
        let [head, common, objects, refs] = found;
        match () {
            () if head && (common || (objects && refs)) => Self::Repository,
            () if is_part(path) => Self::Part,
            () if path.file_name().is_some_and(|name| is_same_name(name, "info"))
                && path.parent().is_some_and(|parent| is_repository_at(parent) || is_part(parent)) =>
            {
                Self::Info
            }
            () => Self::Plain,
        }
    }

    /// Tells whether a name in this folder decides what git runs.
    pub(crate) fn protects(self, name: &OsStr) -> bool {
        let names = match self {
            Self::Info => INFO,
            Self::Part => PART,
            Self::Plain => return false,
            Self::Repository => CONTROL,
        };
        names.iter().any(|known| is_same_name(name, known))
    }
}

/// Some file systems tell no case apart.
pub(crate) fn is_same_name(name: &OsStr, wanted: &str) -> bool {
    Floor::is_same_name(name, wanted)
}

/// Tells whether a path ends with a name.
pub(crate) fn is_named(path: &Path, wanted: &str) -> bool {
    path.file_name().is_some_and(|name| is_same_name(name, wanted))
}

/// Tells whether a folder has the names that make it a repository.
pub(crate) fn is_repository_at(folder: &Path) -> bool {
    // Only a name that is not there does not count: one that cannot be looked at might be.
    let has = |name: &str| match folder.join(name).symlink_metadata() {
        Ok(_) => true,
        Err(error) => {
            !matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
    };
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// Below `.git/modules` or `.git/worktrees`, where git keeps the repositories of submodules and worktrees.
fn is_part(path: &Path) -> bool {
    let mut names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    while let Some(name) = names.next() {
        let is_holder = |name: &OsStr| is_same_name(name, "modules") || is_same_name(name, "worktrees");
        if is_same_name(name, ".git") && names.clone().next().is_some_and(is_holder) {
            return names.nth(1).is_some() && !is_inside(names);
        }
    }
    false
}

/// The folders of a repository that hold names of the user's: a branch may be called `config`.
fn is_inside<'a>(mut names: impl Iterator<Item = &'a OsStr>) -> bool {
    names.any(|name| ["objects", "refs", "logs", "lfs"].iter().any(|known| is_same_name(name, known)))
}

/// The most that a file with one path in it takes.
const MAX_POINTER: u64 = 16 << 10;

/// Returns the folder that a `.git` file names, as git reads it.
pub(crate) fn git_file_target(file: &Path) -> Option<PathBuf> {
    let text = read_small(file, MAX_POINTER).ok()?;
    let named = text.strip_prefix(b"gitdir: ")?;
    Some(file.parent()?.join(path_of(trim_line_ends(named))?))
}

/// Returns the folder that holds the configuration and hooks of a repository.
pub(crate) fn common_folder(repository: &Path) -> Option<PathBuf> {
    match read_small(&repository.join("commondir"), MAX_POINTER) {
        Ok(text) => Some(repository.join(path_of(trim_line_ends(&text))?)),
        Err(_) => Some(repository.to_path_buf()),
    }
}

fn trim_line_ends(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b'\n' | b'\r'] = text {
        text = rest;
    }
    text
}

fn path_of(text: &[u8]) -> Option<&Path> {
    (!text.is_empty() && !text.contains(&0)).then(|| Path::new(OsStr::from_bytes(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_what_git_takes_for_one() {
        #[rustfmt::skip]
        let cases: &[(&str, &[&str], Folder)] = &[
            ("/w/x",                        &["HEAD", "objects", "refs"],   Folder::Repository),
            ("/w/x",                        &["HEAD", "commondir"],         Folder::Repository),
            ("/w/x",                        &["head", "COMMONDIR"],         Folder::Repository),
            ("/w/x",                        &["HEAD", "object\u{17f}", "ref\u{17f}"], Folder::Repository),
            ("/w/x",                        &["HEAD", "objects"],           Folder::Plain),
            ("/w/x",                        &["objects", "refs", "config"], Folder::Plain),
            ("/w/.git/modules/a/b/c/d/e",   &["config"],                    Folder::Part),
            ("/w/.git/worktrees/x",         &["commondir"],                 Folder::Part),
            ("/w/.git/modules",             &["config"],                    Folder::Plain),
            ("/w/.git/modules/a/refs/heads",&["config"],                    Folder::Plain),
            ("/w/modules/a",                &["config"],                    Folder::Plain),
        ];
        for (path, names, folder) in cases {
            let names = names.iter().map(OsStr::new);
            assert_eq!(Folder::of(Path::new(path), names), *folder, "{path}");
        }
        assert!(Folder::Repository.protects(OsStr::new("rebase-merge")));
        assert!(!Folder::Plain.protects(OsStr::new("config")));
    }

    #[test]
    fn pointers_are_read_as_git_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".git");
        for (text, target) in [
            ("gitdir: ../x\n", Some("../x")),
            ("gitdir: /abs\r\n\n", Some("/abs")),
            ("gitdir:../x\n", None),
            ("gitdir: \n", None),
            ("x", None),
        ] {
            std::fs::write(&file, text).unwrap();
            let wanted = target.map(|target| folder.path().join(target));
            assert_eq!(git_file_target(&file), wanted, "{text:?}");
        }
        assert_eq!(common_folder(folder.path()).unwrap(), folder.path());
        std::fs::write(folder.path().join("commondir"), "../..\n").unwrap();
        assert_eq!(common_folder(folder.path()).unwrap(), folder.path().join("../.."));
    }
}
