//! Which of cargo's files a project needs: the packages of its lock file, and no others.
//!
//! Cargo's folder holds every package this user ever built. A build reads only its own, which is also what makes it quick to confine:
//! granting a folder means looking through it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Returns the files and folders below cargo's folder that packages of this lock file are in.
pub(super) fn files(lock: &str, cargo_home: &Path) -> Vec<PathBuf> {
    let table: Table = lock.parse().unwrap_or_default();
    let packages = table.get("package").and_then(Value::as_array).into_iter().flatten();
    let mut wanted: HashSet<String> = HashSet::new();
    let mut has_git = false;
    for package in packages {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        let (Some(name), Some(version), Some(source)) = (text("name"), text("version"), text("source"))
        else {
            continue;
        };
        has_git |= source.starts_with("git+");
        wanted.insert(format!("{name}-{version}"));
    }
    let registry = cargo_home.join("registry");
    let mut found: Vec<PathBuf> = Vec::new();
    for (kind, extension) in [("src", ""), ("cache", ".crate")] {
        for index in entries(&registry.join(kind)) {
            let is_wanted = |path: &PathBuf| {
                let name = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .and_then(|name| name.strip_suffix(extension));
                name.is_some_and(|name| wanted.contains(name))
            };
            found.extend(entries(&index).into_iter().filter(is_wanted));
        }
    }
    found.push(registry.join("index"));
    if has_git {
        found.push(cargo_home.join("git"));
    }
    found.extend(["config.toml", "config"].map(|name| cargo_home.join(name)));
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_of_the_lock_file_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        for file in [
            "registry/src/x/a-1.0.0/lib.rs",
            "registry/src/x/a-1.0.1/lib.rs",
            "registry/src/x/own-0.1.0/lib.rs",
            "registry/cache/x/a-1.0.0.crate",
            "registry/cache/x/b-1.0.0.crate",
            "credentials.toml",
        ] {
            std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            std::fs::write(home.join(file), "").unwrap();
        }
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let found: Vec<String> = files(lock, home)
            .into_iter()
            .map(|path| path.strip_prefix(home).unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            found,
            [
                "registry/src/x/a-1.0.0",
                "registry/cache/x/a-1.0.0.crate",
                "registry/index",
                "config.toml",
                "config"
            ]
        );
        let git = lock.replace("registry+x", "git+https://x.test/a");
        assert!(files(&git, home).contains(&home.join("git")));
    }
}
