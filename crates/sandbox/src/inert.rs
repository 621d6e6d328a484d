//! New files that are on the floor by name and can do nothing: samples of hooks, a git configuration as git itself writes it,
//! and the files by which git finds a worktree or a submodule that lies in the same trees.

use std::path::{Path, PathBuf};

use ringfence_policy::Direction;

use crate::git;
use crate::host::find;
use crate::spec::NamedPaths;

/// The most a configuration of a new repository takes.
const MAX_CONFIG: u64 = 64 << 10;

/// Tells whether a new file or folder on the floor may stay. `trees` are those that are searched, so that whatever lies in them
/// is judged by itself.
pub(crate) fn is_inert(path: &Path, trees: &[PathBuf]) -> bool {
    // A name that means something to another program too is not judged by git's rules.
    let is_gits = |pattern: &str| pattern == ".gitmodules" || pattern.starts_with(".git/");
    if NamedPaths::default().denies(path, Direction::Write).is_some_and(|(line, _)| !is_gits(line.pattern)) {
        return false;
    }
    let (Some(name), Some(parent)) = (path.file_name().and_then(|name| name.to_str()), path.parent()) else {
        return false;
    };
    let Ok(found) = std::fs::symlink_metadata(path) else { return false };
    match name {
        "hooks" if found.is_dir() => git::is_repository_at(parent) && holds_only_samples(path),
        "rebase-merge" | "sequencer" => git::is_repository_at(parent) && git::is_plain_state(path),
        "config" | "config.worktree" if found.is_file() => {
            git::is_repository_at(parent)
                && read_config(path).is_some_and(|text| git::is_plain(&git::parse(&text), parent, trees))
        }
        ".gitmodules" if found.is_file() => {
            read_config(path).is_some_and(|text| git::is_plain_modules(&git::parse(&text)))
        }
        "commondir" if found.is_file() => is_worktree_of_repository(parent),
        "gitdir" if found.is_file() => names_a_worktree(path, parent, trees),
        ".git" if found.is_file() => leads_to_repository(path, trees),
        _ => false,
    }
}

/// Reads a configuration. One with a continued line is none that git wrote, and may mean something else to another reader.
fn read_config(path: &Path) -> Option<Vec<u8>> {
    let text = crate::file::read_small(path, MAX_CONFIG).ok()?;
    let is_continued = text.windows(2).any(|pair| matches!(pair, b"\\\n" | b"\\\r"));
    (!is_continued).then_some(text)
}

/// Git never runs a hook whose name ends in `.sample`.
fn holds_only_samples(folder: &Path) -> bool {
    let is_sample = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            entry.path().extension().is_some_and(|extension| extension == "sample")
                && entry.file_type().is_ok_and(|kind| kind.is_file())
        })
    };
    std::fs::read_dir(folder).is_ok_and(|mut listed| listed.all(is_sample))
}

/// Tells whether a folder is one of `worktrees` in a repository and belongs to that repository.
fn is_worktree_of_repository(folder: &Path) -> bool {
    let Some(holder) =
        folder.parent().filter(|holder| holder.file_name().is_some_and(|name| name == "worktrees"))
    else {
        return false;
    };
    git::common_folder(folder).is_some_and(|common| common == folder.join("../.."))
        && holder
            .parent()
            .is_some_and(|above| git::is_repository_at(above) && !above.join("commondir").exists())
}

/// Tells whether the file names the `.git` of a folder in the trees.
fn names_a_worktree(file: &Path, folder: &Path, trees: &[PathBuf]) -> bool {
    let Ok(text) = crate::file::read_small(file, 16 << 10) else { return false };
    let Ok(text) = std::str::from_utf8(text.trim_ascii_end()) else { return false };
    let named = folder.join(text);
    is_worktree_of_repository(folder)
        && !text.contains(char::is_control)
        && named.file_name().is_some_and(|name| name == ".git")
        && git::is_inside(&named, trees)
}

/// Tells whether the file leads, by no link, to a repository that is searched.
fn leads_to_repository(file: &Path, trees: &[PathBuf]) -> bool {
    let Some(found) = git::git_file_target(file).and_then(|target| find(&target).ok()) else { return false };
    let is_on_floor = || NamedPaths::default().denies(&found.real, Direction::Write).is_some();
    found.links.is_empty()
        && trees.iter().any(|tree| found.real.starts_with(tree))
        && git::is_repository_at(&found.real)
        && !is_on_floor()
}

#[cfg(test)]
mod tests;
