//! Which files outside a repository's own decide what git runs in it, because a configuration names them.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::config::{Setting, parse};
use super::folder::{common_folder, git_file_target, is_repository_at};
use super::setting::{Names, names, words};
use crate::error::SandboxError;
use crate::file::read_small;
use crate::host::Kind;

/// A path that a configuration names, whether or not something is there.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize)]
pub(crate) struct Target {
    /// Absolute, and followed by nobody yet.
    pub(crate) path: PathBuf,
    /// Whether only a file counts: a word of a command that is the name of a folder is most often no place at all.
    pub(crate) only_file: bool,
}

/// Everything that is named, gathered from one configuration after the other.
#[derive(Debug, Default)]
pub(crate) struct Pointers {
    home: Option<PathBuf>,
    /// What holds in every repository.
    everywhere: Vec<Setting>,
    read: HashSet<PathBuf>,
    bytes: usize,
    targets: BTreeSet<Target>,
}

/// More configurations than this are not read: a writable folder with so many repositories is not a workspace.
const MAX_FILES: usize = 10_000;
/// The most that one takes, and all of them.
const MAX_FILE: u64 = 1 << 20;
const MAX_BYTES: usize = 64 << 20;
const MAX_TARGETS: usize = 100_000;
/// As deep as git follows one configuration to the next.
const MAX_DEPTH: usize = 10;

impl Pointers {
    /// Begins with the configuration of the machine, and of the user whose home this is.
    ///
    /// # Errors
    ///
    /// A configuration is too large, or names too much.
    pub(crate) fn new(home: Option<&Path>) -> Result<Self, SandboxError> {
        let mut pointers = Self { home: home.map(Path::to_path_buf), ..Self::default() };
        let mut settings = Vec::new();
        pointers.read(Path::new("/etc/gitconfig"), 0, &mut settings)?;
        for name in [".config/git/config", ".gitconfig"].iter().filter(|_| home.is_some()) {
            let path = home.map(|home| home.join(name)).unwrap_or_default();
            pointers.add(path.clone(), false)?;
            pointers.read(&path, 0, &mut settings)?;
        }
        // Where git looks for attributes of its own accord.
        if let Some(home) = home {
            pointers.add(home.join(".config/git/attributes"), false)?;
        }
        pointers.everywhere = settings;
        Ok(pointers)
    }

    /// Adds the repository that a folder lies in, as git looks for it: upwards, until there is one.
    ///
    /// # Errors
    ///
    /// As [`repository`](Self::repository).
    pub(crate) fn around(&mut self, folder: &Path) -> Result<(), SandboxError> {
        for above in folder.ancestors() {
            let inner = above.join(".git");
            match inner.symlink_metadata() {
                Ok(found) if found.is_dir() => return self.repository(&inner),
                Ok(_) => return self.git_file(&inner),
                Err(_) if is_repository_at(above) => return self.repository(above),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Adds the repository that a `.git` file or link leads to.
    ///
    /// # Errors
    ///
    /// As [`repository`](Self::repository).
    pub(crate) fn git_file(&mut self, file: &Path) -> Result<(), SandboxError> {
        let Some(repository) = git_file_target(file) else {
            return if file.is_dir() { self.gather(file, file.parent()) } else { Ok(()) };
        };
        self.gather(&repository, file.parent())
    }

    /// Adds what the configuration of a repository names.
    ///
    /// # Errors
    ///
    /// A configuration is too large, or names too much.
    pub(crate) fn repository(&mut self, folder: &Path) -> Result<(), SandboxError> {
        let is_inner = folder.file_name().is_some_and(|name| name == ".git");
        self.gather(folder, folder.parent().filter(|_| is_inner))
    }

    /// Returns what is named.
    pub(crate) fn into_targets(self) -> Vec<Target> {
        self.targets.into_iter().collect()
    }

    fn gather(&mut self, repository: &Path, top: Option<&Path>) -> Result<(), SandboxError> {
        let common = common_folder(repository).unwrap_or_else(|| repository.to_path_buf());
        for part in ["config", "config.worktree", "hooks", "info/attributes"] {
            self.add(common.join(part), false)?;
        }
        for part in ["commondir", "config.worktree", "gitdir"] {
            self.add(repository.join(part), false)?;
        }
        let mut settings = Vec::new();
        self.read(&common.join("config"), 0, &mut settings)?;
        self.read(&repository.join("config.worktree"), 0, &mut settings)?;
        let mut bases = vec![repository.to_path_buf()];
        bases.extend(top.map(Path::to_path_buf));
        // The file `gitdir` of a worktree names the `.git` in it.
        if let Ok(text) = read_small(&repository.join("gitdir"), 16 << 10) {
            let file = repository.join(OsStr::from_bytes(text.trim_ascii_end()));
            bases.extend(file.parent().map(Path::to_path_buf));
        }
        let is_worktree = |setting: &&Setting| setting.name == b"core.worktree";
        for value in settings.iter().filter(is_worktree).filter_map(|setting| setting.value.as_deref()) {
            bases.push(repository.join(OsStr::from_bytes(value)));
        }
        let everywhere = std::mem::take(&mut self.everywhere);
        for setting in everywhere.iter().chain(&settings) {
            self.setting(setting, &bases)?;
        }
        self.everywhere = everywhere;
        Ok(())
    }

    fn setting(&mut self, setting: &Setting, bases: &[PathBuf]) -> Result<(), SandboxError> {
        let Some(value) = setting.value.as_deref().filter(|value| !value.is_empty()) else { return Ok(()) };
        match names(setting) {
            Names::Configuration | Names::Nothing => {}
            Names::Place => {
                for base in bases {
                    self.add(self.expand_place(value, base)?, false)?;
                }
            }
            Names::Command => {
                // What is relative begins at the top of a working tree, never in the repository: `HEAD` and branches are words too.
                let tops = bases.iter().skip(1);
                for (word, base) in
                    words(value).into_iter().flat_map(|word| tops.clone().map(move |base| (word, base)))
                {
                    self.add(self.expand(word, base), true)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a configuration and those that it includes, whatever the condition.
    fn read(&mut self, path: &Path, depth: usize, settings: &mut Vec<Setting>) -> Result<(), SandboxError> {
        // Git stops with an error there.
        if depth > MAX_DEPTH {
            return Ok(());
        }
        let text = match read_small(path, MAX_FILE) {
            Ok(text) => text,
            Err(error) if is_nothing_to_git(path, &error) => return Ok(()),
            Err(error) => return Err(too_much(path, &error.to_string())),
        };
        self.bytes += text.len();
        self.read.insert(path.to_path_buf());
        if self.bytes > MAX_BYTES || self.read.len() > MAX_FILES {
            return Err(too_much(path, "there are too many git configurations"));
        }
        let folder = path.parent().unwrap_or(Path::new("/"));
        for setting in parse(&text).settings {
            if let (Names::Configuration, Some(value)) = (names(&setting), &setting.value) {
                let included = self.expand_place(value, folder)?;
                self.add(included.clone(), false)?;
                if !self.read.contains(&included) {
                    self.read(&included, depth + 1, settings)?;
                }
            }
            settings.push(setting);
        }
        Ok(())
    }

    /// Makes a path of a value: `~/` is the home, and what is relative begins at `base`. Where nobody has said whose home it is, it
    /// lies in no tree that is known.
    fn expand(&self, value: &[u8], base: &Path) -> PathBuf {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        match (value.strip_prefix(b"~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(path(rest)),
            (Some(_), None) | (None, _) => base.join(path(value)),
        }
    }

    /// The same, where git expands `~name/` too: what lies in another home is not known here.
    fn expand_place(&self, value: &[u8], base: &Path) -> Result<PathBuf, SandboxError> {
        if value.starts_with(b"~") && !value.starts_with(b"~/") {
            return Err(too_much(base, "it names a file in the home of another user"));
        }
        Ok(self.expand(value, base))
    }

    fn add(&mut self, path: PathBuf, only_file: bool) -> Result<(), SandboxError> {
        if self.targets.len() >= MAX_TARGETS {
            return Err(too_much(&path, "git configurations name too many files"));
        }
        self.targets.insert(Target { path, only_file });
        Ok(())
    }
}

fn too_much(path: &Path, why: &str) -> SandboxError {
    SandboxError::Inexpressible {
        what: format!("what git runs, because of the git configuration `{}`: {why}", path.display()),
    }
}

/// Git reads nothing from what is not there or no file, and nothing more where it may not.
fn is_nothing_to_git(path: &Path, error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidFilename, NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), InvalidFilename | NotADirectory | NotFound | PermissionDenied)
        || error.raw_os_error() == Some(40)
        || path.metadata().is_ok_and(|found| !found.is_file())
}

/// Something on the way to a target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Traced {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

/// The kernel's own bound.
const MAX_LINKS: usize = 40;

/// Follows a target as far as something is there. Returns the links on the way, and what it is in the end, if that counts.
pub(crate) fn trace(target: &Target) -> Vec<Traced> {
    let mut traced = Vec::new();
    let mut pending: Vec<std::ffi::OsString> = Vec::new();
    let push = |pending: &mut Vec<std::ffi::OsString>, path: &Path| {
        pending.extend(path.components().rev().filter_map(|component| match component {
            std::path::Component::Normal(name) => Some(name.to_owned()),
            std::path::Component::ParentDir => Some("..".into()),
            _ => None,
        }));
    };
    push(&mut pending, &target.path);
    let mut real = PathBuf::from("/");
    while let Some(name) = pending.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let Ok(found) = next.symlink_metadata() else { return traced };
        if found.is_symlink() {
            let Ok(to) = std::fs::read_link(&next) else { return traced };
            traced.push(Traced { path: next, kind: Kind::Link });
            if traced.len() > MAX_LINKS {
                return traced;
            }
            if to.is_absolute() {
                real = PathBuf::from("/");
            }
            push(&mut pending, &to);
        } else {
            real = next;
        }
    }
    let kind = match real.symlink_metadata() {
        Ok(found) if found.is_dir() => Kind::Directory,
        Ok(found) if found.is_file() => Kind::File,
        Ok(_) => Kind::Other,
        Err(_) => return traced,
    };
    if kind == Kind::Directory && target.only_file {
        // A link to a folder is no file either.
        return Vec::new();
    }
    traced.push(Traced { path: real, kind });
    traced
}

#[cfg(test)]
mod tests;
