//! Whether a program may be used by what chose it: whoever grants, a link, or the first line of a script.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::{Check, Eyes};
use crate::host::Program;
use crate::spec::Access;

/// Something that may be started by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Started<'a> {
    /// As it is called.
    pub(super) asked: &'a Path,
    /// What it is.
    pub(super) real: &'a Path,
    /// The script that names it in its first line.
    pub(super) script: Option<&'a Path>,
}

/// Goes through a program and whatever starts it.
pub(super) fn started<'a>(program: &'a Program, script: Option<&'a Path>, all: &mut Vec<Started<'a>>) {
    let real = program.found.real.as_path();
    all.push(Started { asked: &program.asked, real, script });
    for interpreter in &program.interpreters {
        started(interpreter, Some(real), all);
    }
}

/// What no folder has but the installation of this program; in Python's there is a file in a folder of the program's name.
const SHAPES: &[(&[&str], &[&str])] = &[
    (&["git"], &["libexec/git-core"]),
    (&["node"], &["include/node/node.h", "lib/node_modules/npm/package.json"]),
    (&["perl"], &["lib/perl5"]),
    (&["ruby"], &["lib/ruby"]),
    (&["java", "javac", "jar"], &["lib/modules"]),
];
const RUST: &[&str] = &["cargo", "clippy", "rls", "rust"];
/// What only a home has.
const HOME_FILES: &[&str] =
    &[".aws", ".bashrc", ".cache", ".config", ".gnupg", ".kube", ".mozilla", ".profile", ".ssh", ".zshrc"];
/// Where only version managers put something, in a home.
const VERSIONS: &[&str] = &[
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
/// Folders beside those of the system whose links came with it.
const LINK_FOLDERS: &[&str] = &["/", "/etc", "/home", "/private", "/private/var", "/run", "/var"];
const MAX_LINKS: usize = 40;
/// The largest settings of a virtual environment.
const MAX_SETTINGS: u64 = 64 << 10;

impl Check<'_> {
    /// Tells whether a program may be used, and with it what it brings.
    pub(super) fn may_be_used(&self, one: &Started<'_>) -> bool {
        self.named.iter().any(|named| named == one.real)
            || self.is_system(one.real)
            || self.is_granted(one.real, Access::READ)
            || self.is_called_by_the_system(one.asked, one.real)
            || self.is_managed(one.real)
            || self.is_behind_proxy(one.real)
    }

    /// Tells whether a name that was given leads to a program past every link that a command could have made.
    pub(super) fn is_named_directly(&self, asked: &Path) -> bool {
        let is_planted = |at: &Path| self.is_granted(at, Access::READ);
        self.eyes.links(asked).is_some_and(|links| !links.iter().any(|(at, _)| is_planted(at)))
    }

    /// Tells whether only names of the system's own folders lead to a program.
    pub(super) fn is_called_by_the_system(&self, asked: &Path, real: &Path) -> bool {
        let is_beside = |to: &Path| to.components().count() == 1;
        let is_systems = |at: &Path| {
            at.parent().is_some_and(|folder| {
                LINK_FOLDERS.iter().any(|known| folder == Path::new(known)) || self.is_system(folder)
            })
        };
        asked.parent().is_some_and(|folder| self.is_system_or_link(folder))
            && self.eyes.real(asked).as_deref() == Some(real)
            && self
                .eyes
                .links(asked)
                .is_some_and(|links| links.iter().all(|(at, to)| is_systems(at) || is_beside(to)))
    }

    /// `/bin` is most often a link to a folder of the system.
    fn is_system_or_link(&self, folder: &Path) -> bool {
        self.eyes.real(folder).is_some_and(|real| self.is_system(&real))
    }

    fn is_managed(&self, real: &Path) -> bool {
        let below = self.spec.home.as_deref().and_then(|home| real.strip_prefix(home).ok());
        below.is_some_and(|below| VERSIONS.iter().any(|folder| below.starts_with(folder)))
            && self.in_installation(real, real)
    }

    /// Tells whether a program is one of the toolchain beside a named rustup.
    fn is_behind_proxy(&self, real: &Path) -> bool {
        let mut above = real.ancestors().filter(|above| above.ends_with(".rustup/toolchains"));
        let home = above.next().and_then(|toolchains| toolchains.parent()?.parent());
        let is_rustup = |path: &PathBuf| path.file_name().is_some_and(|name| name == "rustup");
        let is_here = |rustup: &PathBuf, home: &Path| {
            let own = rustup.parent().and_then(Path::parent).and_then(Path::parent);
            own == Some(home) || self.is_system(rustup) && self.spec.home.as_deref() == Some(home)
        };
        home.is_some_and(|home| self.named.iter().any(|named| is_rustup(named) && is_here(named, home)))
            && self.in_installation(real, real)
    }

    /// Tells whether a folder has what only the installation of this program has.
    pub(super) fn has_shape(&self, prefix: &Path, program: &Path) -> bool {
        let Some(name) = program.file_name().and_then(|name| name.to_str()) else { return false };
        let stem = name.trim_end_matches(|one: char| one.is_ascii_digit() || matches!(one, '.' | '-'));
        let is_there = |shape: &str| self.eyes.is_plain(&prefix.join(shape));
        if stem == "python" {
            return is_there(&format!("lib/{name}/os.py"));
        }
        if RUST.iter().any(|start| stem.starts_with(start)) {
            return is_there("lib/rustlib");
        }
        let known = SHAPES.iter().filter(|(names, _)| names.contains(&stem));
        known.flat_map(|(_, shapes)| *shapes).any(|shape| is_there(shape))
    }

    /// Tells whether nothing says that a folder is somebody's home.
    pub(super) fn is_no_home(&self, prefix: &Path) -> bool {
        !prefix.ends_with(".local") && !HOME_FILES.iter().any(|name| self.eyes.exists(&prefix.join(name)))
    }

    /// Tells whether a path is what a virtual environment has of its own, for a Python that is called by a name in it.
    pub(super) fn in_environment(&self, path: &Path, one: &Started<'_>) -> bool {
        let python =
            |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"python"));
        let folder = one.asked.parent().and_then(|folder| self.eyes.real(folder));
        let Some(folder) = folder.filter(|folder| folder.ends_with("bin")) else { return false };
        let Some(prefix) = folder.parent() else { return false };
        let settings = prefix.join("pyvenv.cfg");
        let packages = path.parent() == Some(&prefix.join("lib")) && python(path);
        // Neither a link in a granted folder nor a script elsewhere chooses an environment.
        let in_tree = |at: &Path| self.granted.iter().any(|(tree, _)| at.starts_with(tree));
        let links = one.asked.parent().and_then(|folder| self.eyes.links(folder));
        let is_direct = links.is_some_and(|links| !links.iter().any(|(at, _)| in_tree(at)));
        let by_neighbour = one.script.is_none_or(|script| script.parent() == Some(folder.as_path()));
        python(one.asked)
            && python(one.real)
            && (path == settings || packages)
            && is_direct
            && by_neighbour
            && !in_tree(prefix)
            && !self.is_system(prefix)
            && self.eyes.is_plain(path)
            && self.eyes.is_plain(&settings)
            && self.eyes.is_small(&settings, MAX_SETTINGS)
            && self.is_own_folder(prefix)
            && !self.is_on_the_floor(path, Access::READ)
    }
}

impl Eyes {
    /// Returns the links on the way to a path, and what each says. None where it leads nowhere.
    fn links(self, path: &Path) -> Option<Vec<(PathBuf, PathBuf)>> {
        #[cfg(test)]
        if self == Self::Closed {
            return Some(Vec::new());
        }
        let mut rest: Vec<OsString> = parts(path);
        let mut at = PathBuf::from("/");
        let mut links = Vec::new();
        while let Some(part) = rest.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            at.push(part);
            if !std::fs::symlink_metadata(&at).ok()?.is_symlink() {
                continue;
            }
            let to = std::fs::read_link(&at).ok()?;
            rest.extend(parts(&to));
            links.push((at.clone(), to.clone()));
            at = if to.is_absolute() { PathBuf::from("/") } else { at.parent()?.to_path_buf() };
            if links.len() > MAX_LINKS {
                return None;
            }
        }
        Some(links)
    }

    fn exists(self, path: &Path) -> bool {
        match self {
            Self::Open => std::fs::symlink_metadata(path).is_ok(),
            #[cfg(test)]
            Self::Closed => false,
        }
    }

    fn is_small(self, path: &Path, most: u64) -> bool {
        match self {
            Self::Open => {
                std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() <= most)
            }
            #[cfg(test)]
            Self::Closed => true,
        }
    }
}

/// The parts of a path, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(part).collect()
}
