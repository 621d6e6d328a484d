//! The shims of asdf and mise: one folder of installed tools, and files that choose a version of each.

use std::path::{Path, PathBuf};

use super::{Lookup, is_program, is_version, newest, read_version};

/// The managers by the folder that their shims lie in, and how their variables begin.
const MANAGERS: [(&str, &str); 2] = [("asdf", "ASDF"), ("mise", "MISE")];
/// Files of a folder that choose versions. Later ones are asked only where an earlier one says nothing.
const CHOICES: [&str; 3] = [".tool-versions", "mise.toml", ".mise.toml"];
/// How many tools are looked at.
const MOST_TOOLS: usize = 500;

/// Returns the program that a shim of asdf or mise stands for.
pub(super) fn behind_shim(lookup: &Lookup, root: &Path, name: &str) -> Option<PathBuf> {
    let manager = root.file_name()?.to_str()?.trim_start_matches('.');
    let (_, prefix) = MANAGERS.iter().find(|(known, _)| *known == manager)?;
    let installs = root.join("installs");
    let mut tools: Vec<String> = std::fs::read_dir(&installs)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .take(MOST_TOOLS)
        .collect();
    tools.sort_unstable();
    tools.iter().find_map(|tool| {
        let folder = installs.join(tool);
        let versions = chosen(lookup, prefix, tool)?;
        let versions = versions.iter().filter(|version| is_version(version));
        let mut programs =
            versions.filter_map(|version| Some(newest(&folder, version)?.join("bin").join(name)));
        programs.find(|path| is_program(path))
    })
}

/// Returns the versions of a tool that are to be taken, the first that is installed.
fn chosen(lookup: &Lookup, prefix: &str, tool: &str) -> Option<Vec<String>> {
    let variable = format!("{prefix}_{}_VERSION", tool.to_ascii_uppercase().replace('-', "_"));
    let by_variable = (lookup.variable)(&variable).map(|version| split(&version));
    let home = (lookup.variable)("HOME").map(PathBuf::from);
    let own = home.iter().flat_map(|home| {
        CHOICES.iter().map(|file| home.join(file)).chain([home.join(".config/mise/config.toml")])
    });
    let files = lookup.here.ancestors().flat_map(|folder| CHOICES.iter().map(|file| folder.join(file)));
    by_variable.or_else(|| files.chain(own).find_map(|file| read(&file, tool)))
}

/// Returns what a file chooses for a tool.
fn read(file: &Path, tool: &str) -> Option<Vec<String>> {
    let text = read_version(file)?;
    if file.extension().is_some_and(|extension| extension == "toml") {
        let table: toml::Table = text.parse().ok()?;
        return match table.get("tools")?.get(tool)? {
            toml::Value::Array(list) => Some(list.iter().filter_map(version).collect()),
            one => version(one).map(|version| vec![version]),
        };
    }
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let line = lines.filter_map(|line| line.split_once(char::is_whitespace)).find(|(name, _)| *name == tool);
    line.map(|(_, versions)| split(versions))
}

fn version(value: &toml::Value) -> Option<String> {
    let text = value.as_str().or_else(|| value.get("version")?.as_str())?;
    Some(text.to_owned())
}

fn split(versions: &str) -> Vec<String> {
    versions.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::put;
    use super::*;

    #[test]
    fn a_shim_stands_for_the_version_that_a_file_chooses() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let node = |manager: &str, version: &str| {
            root.join(manager).join("installs/nodejs").join(version).join("bin/node")
        };
        for manager in [".asdf", "mise"] {
            put(&root.join(manager).join("shims/node"), "#!/usr/bin/env bash\n");
            for version in ["18.0.0", "20.1.0", "20.11.1"] {
                put(&node(manager, version), "\x7fELF");
            }
            put(&root.join(manager).join("installs/python/3.12.1/bin/python3"), "\x7fELF");
        }
        put(&root.join("bin/node"), "\x7fELF");
        #[rustfmt::skip]
        let cases = [
            // manager  file              text                                     found
            (".asdf",   ".tool-versions", "python 3.12.1\nnodejs 18.0.0\n",        node(".asdf", "18.0.0")),
            (".asdf",   ".tool-versions", "nodejs 9.9.9 18.0.0 # the old one\n",   node(".asdf", "18.0.0")),
            (".asdf",   ".tool-versions", "nodejs ../../bin\n",                    root.join("bin/node")),
            (".asdf",   ".tool-versions", "nodejs ..\n",                           root.join("bin/node")),
            (".asdf",   ".tool-versions", "nodejs system\n",                       root.join("bin/node")),
            (".asdf",   ".tool-versions", "python 3.12.1\n",                       root.join("bin/node")),
            ("mise",    ".tool-versions", "nodejs 20\n",                           node("mise", "20.11.1")),
            ("mise",    "mise.toml",      "[tools]\nnodejs = \"20.1\"\n",          node("mise", "20.1.0")),
            ("mise",    ".mise.toml",     "[tools]\nnodejs = [\"9\", \"18\"]\n",   node("mise", "18.0.0")),
            ("mise",    "mise.toml",      "[tools]\nnodejs = {version=\"18\"}\n",  node("mise", "18.0.0")),
            ("mise",    "mise.toml",      "[tools",                                root.join("bin/node")),
        ];
        for (manager, file, text, wanted) in cases {
            let project = tempfile::tempdir_in(&root).unwrap();
            put(&project.path().join(file), text);
            let lookup = Lookup {
                folders: vec![root.join(manager).join("shims"), root.join("bin")],
                here: project.path().to_path_buf(),
                variable: |_| None,
            };
            assert_eq!(lookup.find("node"), Some(wanted), "{manager} {file} {text:?}");
        }
    }

    #[test]
    fn a_variable_comes_before_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("asdf");
        for version in ["1.0", "2.0"] {
            put(&root.join("installs/go-lang").join(version).join("bin/go"), "\x7fELF");
        }
        put(&folder.path().join(".tool-versions"), "go-lang 1.0\n");
        let lookup = Lookup {
            folders: Vec::new(),
            here: folder.path().canonicalize().unwrap(),
            variable: |name| (name == "ASDF_GO_LANG_VERSION").then(|| "2.0".into()),
        };
        assert_eq!(behind_shim(&lookup, &root, "go"), Some(root.join("installs/go-lang/2.0/bin/go")));
    }
}
