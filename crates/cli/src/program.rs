//! Looking a program up as a shell does: in the folders of the caller's `PATH`, in their order.
//!
//! The shims of version managers are scripts that look for the program themselves, which they cannot do in a sandbox. So the program
//! that they would find is found here, from the same files.

mod tools;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ringfence::sandbox::{SearchPath, open_regular, read_small};

/// Version managers with shims: their folder, the variable and the file that name a version.
const MANAGERS: [(&str, &str, &str); 3] = [
    ("nodenv", "NODENV_VERSION", ".node-version"),
    ("pyenv", "PYENV_VERSION", ".python-version"),
    ("rbenv", "RBENV_VERSION", ".ruby-version"),
];

/// Finds a program in the folders of `PATH`, then in those of the system.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    Lookup::of_this_process().find(name)
}

/// What a lookup depends on.
struct Lookup {
    folders: Vec<PathBuf>,
    here: PathBuf,
    variable: fn(&str) -> Option<String>,
}

impl Lookup {
    fn of_this_process() -> Self {
        let path = std::env::var_os("PATH");
        // A folder that depends on where we are would let a project choose its programs.
        let folders =
            path.iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute()).collect();
        let here = std::env::current_dir().unwrap_or_default();
        Self { folders, here, variable: |name| std::env::var(name).ok() }
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        for folder in &self.folders {
            let found = folder.join(name);
            if !is_program(&found) {
                continue;
            }
            // The shims of mise are links to its program.
            let is_link = found.symlink_metadata().is_ok_and(|found| found.is_symlink());
            let is_shim =
                folder.file_name().is_some_and(|last| last == "shims") && (is_link || is_script(&found));
            match folder.parent().filter(|_| is_shim) {
                Some(root) => {
                    if let Some(meant) = self.behind_shim(root, name) {
                        return Some(meant);
                    }
                }
                None => return Some(found),
            }
        }
        SearchPath::default().find(name)
    }

    /// Returns the program that a shim stands for; nothing where it is one of the system, which is found later.
    fn behind_shim(&self, root: &Path, name: &str) -> Option<PathBuf> {
        if let Some(found) = tools::behind_shim(self, root, name) {
            return Some(found);
        }
        let manager = root.file_name()?.to_str()?.trim_start_matches('.');
        let (_, variable, file) = MANAGERS.iter().find(|(known, ..)| *known == manager)?;
        let chosen = (self.variable)(variable)
            .or_else(|| self.here.ancestors().find_map(|folder| read_version(&folder.join(file))))
            .or_else(|| read_version(&root.join("version")))?;
        let versions = root.join("versions");
        chosen.split([':', '\n', ' ']).map(str::trim).filter(|version| is_version(version)).find_map(
            |version| {
                Some(newest(&versions, version)?.join("bin").join(name)).filter(|path| is_program(path))
            },
        )
    }
}

/// Returns the folder of a version, or of the newest that begins with it: `3.11` is `3.11.7`.
fn newest(versions: &Path, version: &str) -> Option<PathBuf> {
    let exact = versions.join(version);
    if exact.is_dir() {
        return Some(exact);
    }
    let start = format!("{version}.");
    let parts = |name: &str| name.split('.').map(|part| part.parse::<u64>().ok()).collect::<Vec<_>>();
    let names =
        std::fs::read_dir(versions).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let name = names.filter(|name| name.starts_with(&start)).max_by_key(|name| parts(name))?;
    Some(versions.join(name))
}

/// Says whether a word can be the name of a version's folder, and leads nowhere else.
fn is_version(word: &str) -> bool {
    !word.is_empty() && !word.contains('/') && word != "." && word != ".."
}

/// Reads a file that names a version. It may be a project's, and anything.
fn read_version(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_small(path, 4 << 10).ok()?).ok()?;
    Some(text).filter(|text| !text.trim().is_empty())
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Says whether a file begins as a script does; one that cannot be read counts as one.
pub(crate) fn is_script(path: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; 2];
    let read = open_regular(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_err() || start == *b"#!"
}

/// Returns the program that the first line of a script has `env` look for, where it names nothing but that.
fn env_interpreter(script: &Path) -> Option<String> {
    use std::io::{BufRead as _, BufReader, Read as _};
    let mut line = String::new();
    BufReader::new(open_regular(script).ok()?.take(256)).read_line(&mut line).ok()?;
    let mut words = line.strip_prefix("#!")?.split_ascii_whitespace();
    let is_env = words.next()? == "/usr/bin/env";
    let name = words.next().filter(|name| is_env && !name.starts_with('-') && !name.contains(['=', '/']))?;
    words.next().is_none().then(|| name.to_owned())
}

/// Returns the folders of the caller's `PATH` in their order, but for those that hold nothing that was granted.
pub(crate) fn held_folders(programs: &[PathBuf], trees: &[PathBuf]) -> Vec<PathBuf> {
    hold(Lookup::of_this_process().folders, programs, trees)
}

fn hold(mut folders: Vec<PathBuf>, programs: &[PathBuf], trees: &[PathBuf]) -> Vec<PathBuf> {
    const SYSTEM: [&str; 6] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
    folders.retain(|folder| {
        SYSTEM.iter().any(|system| folder == Path::new(system))
            || trees.iter().any(|tree| folder.starts_with(tree))
            || programs.iter().any(|program| program.parent() == Some(folder))
    });
    folders
}

/// Returns the interpreter of a script that says `env`, where the caller's is another than the system's.
pub(crate) fn own_interpreter(script: &Path) -> Option<PathBuf> {
    let name = env_interpreter(script)?;
    find_program(&name).filter(|found| Some(found) != SearchPath::default().find(&name).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_first_folder_of_the_path_wins() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        put(&root.join("venv/bin/sh"), "\x7fELF");
        put(&root.join("data/sh/x"), "");
        let lookup = |names: &[&str]| Lookup {
            folders: names.iter().map(|name| root.join(name)).collect(),
            here: root.clone(),
            variable: |_| None,
        };
        assert_eq!(lookup(&["data", "venv/bin"]).find("sh"), Some(root.join("venv/bin/sh")));
        assert_eq!(lookup(&["data"]).find("sh"), SearchPath::default().find("sh"), "then the system's");
        assert_eq!(lookup(&["venv/bin"]).find("no-such-program"), None);
    }

    #[test]
    fn a_shim_stands_for_the_version_that_is_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let manager = root.join(".pyenv");
        put(&manager.join("shims/python3"), "#!/usr/bin/env bash\n");
        for version in ["3.9.1", "3.11.2", "3.11.10"] {
            put(&manager.join("versions").join(version).join("bin/python3"), "\x7fELF");
        }
        put(&root.join("bin/python3"), "\x7fELF");
        let python = |version: &str| manager.join("versions").join(version).join("bin/python3");
        #[rustfmt::skip]
        let cases = [
            // the manager's   the project's    found
            ("3.9.1\n",        "",              python("3.9.1")),
            ("3.9.1\n",        "3.11.2\n",      python("3.11.2")),
            ("3.9.1\n",        "3.11\n",        python("3.11.10")),
            ("4.0:3.9.1\n",    "",              python("3.9.1")),
            ("system\n",       "",              root.join("bin/python3")),
            ("../../bin\n",    "",              root.join("bin/python3")),
        ];
        for (global, local, wanted) in cases {
            put(&manager.join("version"), global);
            put(&root.join("project/.python-version"), local);
            let lookup = Lookup {
                folders: vec![manager.join("shims"), root.join("bin")],
                here: root.join("project"),
                variable: |_| None,
            };
            assert_eq!(lookup.find("python3"), Some(wanted), "{global:?} {local:?}");
        }
    }

    #[test]
    fn the_callers_folders_stay_where_something_in_them_is_granted() {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let callers =
            paths(&["/w/.venv/bin", "/home/a/bin", "/usr/bin", "/home/a/n/bin", "/w/node_modules/.bin"]);
        #[rustfmt::skip]
        let cases: [(&[&str], &[&str], &[&str]); 3] = [
            (&["/w/.venv/bin/python3"], &[],     &["/w/.venv/bin", "/usr/bin"]),
            (&["/usr/bin/npm"],         &["/w"], &["/w/.venv/bin", "/usr/bin", "/w/node_modules/.bin"]),
            (&["/opt/x/y"],             &[],     &["/usr/bin"]),
        ];
        for (programs, trees, wanted) in cases {
            assert_eq!(
                hold(callers.clone(), &paths(programs), &paths(trees)),
                paths(wanted),
                "{programs:?} {trees:?}"
            );
        }
    }

    #[test]
    fn a_script_names_what_env_looks_for() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("x");
        #[rustfmt::skip]
        let cases = [
            ("#!/usr/bin/env node\n1",        Some("node")),
            ("#! /usr/bin/env python3\n",     Some("python3")),
            ("#!/usr/bin/env -S node -x\n",   None),
            ("#!/usr/bin/env node --x\n",     None),
            ("#!/bin/sh\n",                   None),
            ("no script",                     None),
        ];
        for (text, wanted) in cases {
            put(&script, text);
            assert_eq!(env_interpreter(&script).as_deref(), wanted, "{text}");
        }
    }
}
