//! Which compiler builds the crate, found without starting anything.
//!
//! `rustc` on the path is often a stand-in that picks a toolchain by what it finds in the folder it runs in, and may run what the
//! project names. Its choice is made here from the same files instead, and only toolchains that are installed count.
//!
//! INVARIANT: nothing that the project says can name a program outside the installed toolchains.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::BuildError;
use crate::file::{Links, read_text};

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The value of `PATH`.
    pub path: Option<std::ffi::OsString>,
    /// The folder with installed toolchains: `RUSTUP_HOME`, or `.rustup` in the home folder.
    pub rustup: Option<PathBuf>,
    /// The toolchain that the user asks for: `RUSTUP_TOOLCHAIN`.
    pub wanted: Option<String>,
}

/// An installed compiler.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Toolchain {
    /// The folder that has `bin/rustc`, `bin/cargo` and `lib`.
    pub root: PathBuf,
}

impl Toolchain {
    /// Returns the compiler.
    pub fn rustc(&self) -> PathBuf {
        self.root.join("bin/rustc")
    }

    /// Returns the build tool.
    pub fn cargo(&self) -> PathBuf {
        self.root.join("bin/cargo")
    }

    /// Finds the toolchain that a project in this folder is built with.
    ///
    /// # Errors
    ///
    /// None is installed, or the one that is asked for is not.
    pub fn find(search: &Search, project: &Path) -> Result<Self, BuildError> {
        let installed =
            search.rustup.as_ref().map(|rustup| rustup.join("toolchains")).filter(|at| at.is_dir());
        if let Some(installed) = installed {
            let asked = match &search.wanted {
                Some(name) => Some(name.clone()),
                None => pinned(project)?,
            };
            let name = asked.or_else(|| usual(search.rustup.as_deref()?));
            if let Some(name) = name {
                return named(&installed, &name).ok_or(BuildError::Toolchain { name });
            }
        }
        let beside = |folder: PathBuf| {
            let rustc = folder.join("rustc").canonicalize().ok()?;
            let root = rustc.parent()?.parent()?.to_path_buf();
            (root.join("bin/rustc").is_file() && root.join("bin/cargo").is_file()).then_some(Self { root })
        };
        let mut folders = search.path.iter().flat_map(std::env::split_paths);
        folders.find_map(beside).ok_or(BuildError::NoToolchain)
    }
}

#[derive(Deserialize)]
struct Pin {
    toolchain: PinnedToolchain,
}

#[derive(Deserialize)]
struct PinnedToolchain {
    channel: Option<String>,
}

/// Returns what `rust-toolchain.toml` or `rust-toolchain` in this folder or above it asks for.
fn pinned(project: &Path) -> Result<Option<String>, BuildError> {
    for folder in project.ancestors() {
        for file in ["rust-toolchain", "rust-toolchain.toml"] {
            let path = folder.join(file);
            let Ok(text) = read_text(&path, 1 << 20, Links::Followed) else { continue };
            if let Ok(pin) = toml::from_str::<Pin>(&text) {
                return match pin.toolchain.channel {
                    Some(channel) => Ok(Some(channel)),
                    None => Err(BuildError::Pin { path }),
                };
            }
            let line = text.trim();
            if !line.is_empty() && !line.contains(['\n', '[']) {
                return Ok(Some(line.to_owned()));
            }
            return Err(BuildError::Pin { path });
        }
    }
    Ok(None)
}

#[derive(Deserialize)]
struct Settings {
    default_toolchain: Option<String>,
}

/// Returns the toolchain that is used where nothing asks for another.
fn usual(rustup: &Path) -> Option<String> {
    let text = std::fs::read_to_string(rustup.join("settings.toml")).ok()?;
    toml::from_str::<Settings>(&text).ok()?.default_toolchain
}

/// Finds an installed toolchain by its name, by its name without the platform, or by the first numbers of its version.
fn named(installed: &Path, name: &str) -> Option<Toolchain> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    if !is_name(name) || name.starts_with('.') {
        return None;
    }
    let mut found: Vec<PathBuf> = std::fs::read_dir(installed)
        .ok()?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(|own| stands_for(own, name)))
        .collect();
    found.sort();
    let root = found.into_iter().find_map(|path| path.canonicalize().ok())?;
    root.join("bin/rustc").is_file().then_some(Toolchain { root })
}

/// Says whether a folder's name is the toolchain that is asked for.
fn stands_for(folder: &str, name: &str) -> bool {
    let Some(rest) = folder.strip_prefix(name) else { return false };
    let platform = format!("-{}-", std::env::consts::ARCH);
    let after_patch = rest
        .strip_prefix('.')
        .map_or(rest, |rest| rest.trim_start_matches(|character: char| character.is_ascii_digit()));
    rest.is_empty() || after_patch.starts_with(&platform)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_stands_for_a_toolchain_of_this_machine() {
        let here = std::env::consts::ARCH;
        let full = |name: &str| format!("{name}-{here}-unknown-linux-gnu");
        #[rustfmt::skip]
        let cases = [
            (full("stable"), "stable",        true),
            (full("stable"), "sta",           false),
            (full("1.95.0"), "1.95",          true),
            (full("1.95.0"), "1.95.0",        true),
            (full("1.95.0"), "1.9",           false),
            (full("nightly"), "nightly",      true),
            (full("nightly-2026-01-01"), "nightly", false),
            ("stable-sparc-unknown-none".to_owned(), "stable", false),
            ("own".to_owned(), "own",         true),
        ];
        for (folder, name, expected) in cases {
            assert_eq!(stands_for(&folder, name), expected, "{folder} {name}");
        }
    }

    #[test]
    fn a_project_names_installed_toolchains_only() {
        let folder = tempfile::tempdir().unwrap();
        let (rustup, project) = (folder.path().join("rustup"), folder.path().join("project"));
        let toolchain =
            rustup.join(format!("toolchains/1.95.0-{}-unknown-linux-gnu", std::env::consts::ARCH));
        std::fs::create_dir_all(toolchain.join("bin")).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(toolchain.join("bin/rustc"), "").unwrap();
        std::fs::write(rustup.join("settings.toml"), "default_toolchain = \"1.95\"\n").unwrap();
        let search = Search { rustup: Some(rustup), ..Search::default() };
        let find = |pin: Option<&str>| {
            let path = project.join("rust-toolchain.toml");
            match pin {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => drop(std::fs::remove_file(&path)),
            }
            Toolchain::find(&search, &project).map_err(|error| error.to_string())
        };
        assert_eq!(find(None).unwrap().root, toolchain.canonicalize().unwrap());
        assert_eq!(
            find(Some("[toolchain]\nchannel = \"1.95.0\"")).unwrap().root,
            toolchain.canonicalize().unwrap()
        );
        for hostile in ["../../project", "/tmp", "..", "nightly", ""] {
            find(Some(&format!("[toolchain]\nchannel = \"{hostile}\""))).unwrap_err();
        }
        find(Some("[toolchain]\npath = \"evil\"")).unwrap_err();
    }
}
