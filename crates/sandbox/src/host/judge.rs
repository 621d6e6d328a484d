//! Judging what a run is given without having been named: the program behind a link, an interpreter, what lies beside a program.
//!
//! INVARIANT: nothing passes that is not the system's, granted, or the real installation of a program that was named. What a file or
//! a link of a granted folder chooses must be the system's or granted, or lie where a version manager keeps nothing but installations.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, FloorKind};

use super::path::Found;
use super::system::{is_system, is_system_link, owner};
use crate::spec::{Access, NamedPaths};

/// What judging depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge<'a> {
    /// The granted trees, as they were found.
    pub(crate) trees: &'a [(Found, Access)],
    /// What was granted by its own name, which lifts the floor there.
    pub(crate) named: &'a NamedPaths,
    /// The programs that were granted by name, without links.
    pub(crate) programs: &'a [PathBuf],
    /// The home of whoever asks.
    pub(crate) home: Option<&'a Path>,
}

/// Folders that are made anew for each process, or hold devices: what a path there means is decided by who follows it.
const CHANGING: &[&str] = &["/proc", "/sys", "/dev"];
/// What nobody has but in a home.
const OF_A_HOME: &[&str] =
    &[".ssh", ".gnupg", ".aws", ".bashrc", ".cache", ".config", ".kube", ".mozilla", ".profile", ".zshrc"];

/// Where version managers keep installations and nothing else, in a home.
const MANAGED: &[&str] = &[
    ".asdf/installs",
    ".conda/envs",
    ".fnm/node-versions",
    ".jenv/versions",
    ".local/share/fnm/node-versions",
    ".local/share/mise/installs",
    ".local/share/rtx/installs",
    ".local/share/uv/python",
    ".nodenv/versions",
    ".nvm/versions",
    ".pyenv/versions",
    ".rbenv/versions",
    ".rustup/toolchains",
    ".rye/py",
    ".sdkman/candidates",
    ".volta/tools/image",
    "anaconda3/envs",
    "miniconda3/envs",
    "miniforge3/envs",
];

impl Judge<'_> {
    /// Judges a program that was named.
    ///
    /// # Errors
    ///
    /// Why it may not be started.
    pub(super) fn program(&self, asked: &Path, found: &Found) -> Result<(), String> {
        refuse_changing(asked, found)?;
        self.refuse_floor(&found.real)?;
        let planted = found.links.iter().map(|(at, _)| at).find(|at| self.is_granted(at));
        match planted {
            Some(link) if !self.may_be_chosen(&found.real) => Err(format!(
                "the link `{}` lies in a granted folder and leads to `{}`, which is not granted",
                link.display(),
                found.real.display()
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Judges an interpreter: a file names it, and nobody else.
    ///
    /// # Errors
    ///
    /// Why it may not be started.
    pub(super) fn interpreter(&self, asked: &Path, found: &Found) -> Result<(), String> {
        refuse_changing(asked, found)?;
        self.refuse_floor(&found.real)?;
        if self.may_be_chosen(&found.real) || is_chosen_by_the_system(asked, found) {
            return Ok(());
        }
        Err(only_named_by_a_file(found))
    }

    /// Judges what a proxy stands for: settings beside it name it, so that no link may be on the way.
    ///
    /// # Errors
    ///
    /// Why it may not be started.
    pub(super) fn behind_proxy(&self, asked: &Path, found: &Found) -> Result<(), String> {
        refuse_changing(asked, found)?;
        self.refuse_floor(&found.real)?;
        let is_direct = found.links.iter().all(|(at, _)| is_system_link(at));
        if self.is_explained(&found.real)
            || is_direct && super::companion::is_installed(&found.real, self)
            || self.may_be_chosen(&found.real)
        {
            return Ok(());
        }
        Err(only_named_by_a_file(found))
    }

    fn is_explained(&self, real: &Path) -> bool {
        is_system(real) || self.is_granted(real) || self.programs.iter().any(|program| program == real)
    }

    /// Tells whether a file may choose a program: one that is there without it, or that a version manager installed.
    fn may_be_chosen(&self, real: &Path) -> bool {
        let is_managed = |home: &Path| MANAGED.iter().any(|folder| real.starts_with(home.join(folder)));
        self.is_explained(real)
            || self.home.is_some_and(is_managed) && super::companion::is_installed(real, self)
    }

    /// Tells whether a path may be read because a tree around it is granted.
    pub(super) fn is_granted(&self, path: &Path) -> bool {
        self.trees.iter().any(|(tree, access)| access.read && path.starts_with(&tree.real))
    }

    /// Tells whether a path lies in a tree that is granted in any way.
    pub(super) fn is_in_a_tree(&self, path: &Path) -> bool {
        self.trees.iter().any(|(tree, _)| path.starts_with(&tree.real))
    }

    /// Tells whether a folder may be that of an installation: no home, nothing around a home or around what a command writes, and
    /// nothing that just anybody may change.
    pub(super) fn is_fit(&self, prefix: &Path) -> bool {
        let is_home = |home: &Path| home.starts_with(prefix);
        let known_home = self.home.is_some_and(is_home) || is_home(Path::new("/root"));
        let in_homes =
            prefix.parent().is_some_and(|above| above == Path::new("/home") || above == Path::new("/Users"));
        let is_around = self.trees.iter().any(|(tree, access)| access.write && tree.real.starts_with(prefix));
        let deep = prefix.components().count() > 2;
        deep && !known_home
            && !in_homes
            && !is_around
            && !prefix.ends_with(".local")
            && !OF_A_HOME.iter().any(|name| std::fs::symlink_metadata(prefix.join(name)).is_ok())
            && self.refuse_floor(prefix).is_ok()
            && is_somebodys(prefix)
    }

    /// Refuses what is on the floor. Hooks of git are there to be started.
    pub(super) fn refuse_floor(&self, real: &Path) -> Result<(), String> {
        match self.named.denies(real, Direction::Read) {
            Some((line, _)) if line.kind != FloorKind::Git => Err(format!(
                "`{}` is on the always-deny floor as `{}` ({}) until it is named itself",
                real.display(),
                line.pattern,
                line.kind
            )),
            Some(_) | None => Ok(()),
        }
    }
}

fn only_named_by_a_file(found: &Found) -> String {
    format!(
        "only a file names it, and it leads to `{}`, which is neither the system's nor granted; name it with `--exec`",
        found.real.display()
    )
}

/// A path through `/proc` leads where the process is that follows it, and not where we have looked.
fn refuse_changing(asked: &Path, found: &Found) -> Result<(), String> {
    let links = found.links.iter().flat_map(|(at, to)| [at, to]);
    let mut all = links.map(PathBuf::as_path).chain([asked, found.real.as_path()]);
    match all.find_map(|path| CHANGING.iter().find(|folder| path.starts_with(folder))) {
        Some(folder) => Err(format!("the way to it goes through `{folder}`")),
        None => Ok(()),
    }
}

/// Tells whether the links of the system lead to it, and no other than to a name beside itself.
fn is_chosen_by_the_system(asked: &Path, found: &Found) -> bool {
    let is_plain = |to: &Path| to.components().count() == 1;
    let first = found.links.first().is_some_and(|(at, _)| at == asked && is_system_link(at));
    first && found.links.iter().all(|(at, to)| is_system_link(at) || is_plain(to))
}

/// Tells whether a folder belongs to whoever asks or to the system, and not everybody may write there.
fn is_somebodys(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && (found.uid() == own || found.uid() == owner()) && found.mode() & 0o002 == 0
    })
}
