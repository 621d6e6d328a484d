//! What fetching the packages of a lock file takes: which program, which folders, which hosts.
//!
//! Fetching is not done here, because this program never talks to a network: `ringfence lint` runs what is planned here inside the
//! fence. Cargo starts in an empty folder, so that the project's own configuration of cargo counts for nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ringfence_policy::Target;
use serde::Serialize;
use toml::{Table, Value};

use super::Builder;
use super::folder;

/// Where packages of the public registry come from: its index, and its files.
const PUBLIC: [&str; 2] = ["index.crates.io", "static.crates.io"];

/// What fetching takes.
#[derive(Clone, Debug, Serialize)]
pub struct FetchPlan {
    /// The program and its arguments.
    pub command: Vec<PathBuf>,
    /// What it may read and start.
    pub toolchain: PathBuf,
    /// What it may read.
    pub readable: Vec<PathBuf>,
    /// What it may write: where packages are kept.
    pub writable: Vec<PathBuf>,
    /// Cargo's folder.
    pub cargo_home: PathBuf,
    /// The folder that it starts in, which is ours and empty.
    pub directory: PathBuf,
    /// What it may talk to.
    pub hosts: BTreeSet<String>,
    /// Those of them that are no choice of the project, but of the user or of cargo: they may be on a private network, where a mirror
    /// stands for them.
    pub private: BTreeSet<String>,
}

impl Builder<'_> {
    /// Says what fetching the packages of the lock file takes.
    pub fn fetch_plan(&self) -> FetchPlan {
        let mut readable = folder::readable(self.manifest);
        let root = readable.first().cloned().unwrap_or_default();
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
        let config = ["config.toml", "config"].map(|name| self.cargo_home.join(name));
        let texts: Vec<String> =
            config.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        readable.extend(config.into_iter().filter(|path| path.is_file()));
        let mut command: Vec<PathBuf> = vec![self.toolchain.cargo()];
        command.extend(["fetch", "--locked", "--manifest-path"].map(PathBuf::from));
        command.push(self.manifest.to_path_buf());
        FetchPlan {
            command,
            toolchain: self.toolchain.root.clone(),
            readable,
            writable: ["registry", "git"].map(|name| self.cargo_home.join(name)).into(),
            cargo_home: self.cargo_home.to_path_buf(),
            directory: self.folder().join("fetch"),
            hosts: locked(&lock).union(&configured(&texts)).cloned().collect(),
            private: configured(&texts).into_iter().chain(PUBLIC.map(str::to_owned)).collect(),
        }
    }
}

/// Returns the hosts that packages of a lock file come from, where the user's configuration says nothing else.
fn locked(lock: &str) -> BTreeSet<String> {
    let mut hosts = BTreeSet::new();
    let lock: Table = lock.parse().unwrap_or_default();
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    for source in packages.filter_map(|package| package.get("source")?.as_str()) {
        if source.contains("github.com/rust-lang/crates.io-index") {
            hosts.extend(PUBLIC.map(str::to_owned));
        } else {
            hosts.extend(host(source));
        }
    }
    hosts
}

/// Returns the hosts that the user's configuration of cargo names.
fn configured(texts: &[String]) -> BTreeSet<String> {
    let mut hosts = BTreeSet::new();
    for text in texts {
        let table: Table = text.parse().unwrap_or_default();
        for (section, key) in [("source", "registry"), ("registries", "index")] {
            let entries = table.get(section).and_then(Value::as_table).into_iter().flat_map(Table::values);
            hosts.extend(entries.filter_map(|entry| host(entry.get(key)?.as_str()?)));
        }
    }
    hosts
}

/// Returns the host of an address such as `sparse+https://host/path` or `git+https://host/path?rev=1#hash`.
fn host(source: &str) -> Option<String> {
    let address = source.split_once('+').map_or(source, |(_, address)| address);
    Some(Target::from_url(address).ok()?.host.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_come_from_the_lock_file_and_the_users_own_configuration() {
        let lock = "[[package]]\nname = \"a\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
                    [[package]]\nname = \"b\"\nsource = \"git+https://git.test/b?rev=1#2\"\n\
                    [[package]]\nname = \"c\"\nsource = \"sparse+https://own.test/index/\"\n[[package]]\nname = \"d\"\n";
        let config = "[source.mirror]\nregistry = \"sparse+https://mirror.test/index/\"\n[registries.x]\nindex = \"https://x.test/i\"";
        let listed = |hosts: BTreeSet<String>| hosts.into_iter().collect::<Vec<_>>();
        assert_eq!(listed(locked(lock)), ["git.test", PUBLIC[0], "own.test", PUBLIC[1]]);
        assert_eq!(listed(configured(&[config.to_owned()])), ["mirror.test", "x.test"]);
        assert!(locked("").is_empty() && configured(&[]).is_empty());
    }
}
