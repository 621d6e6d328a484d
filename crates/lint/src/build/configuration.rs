//! What the project says to cargo beside its manifest, which can make another program of the same code.
//!
//! A `.cargo/config.toml` can set variables, flags and profiles, and counts only for whoever starts cargo below its folder. So it
//! counts for nothing here unless somebody asks for it, and is told of in either case.

use std::path::Path;

use toml::{Table, Value};

/// Whether the project's own configuration of cargo counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Configuration {
    /// It counts for nothing.
    #[default]
    Ignored,
    /// It counts, as for whoever builds in that folder.
    Obeyed,
}

/// Tables that say what is built or how.
const TELLING: [&str; 7] = ["build", "env", "include", "patch", "profile", "target", "unstable"];

/// Returns what configurations of cargo in a folder and above it say about what is built: `env`, `build.rustflags`.
pub fn settings(folder: &Path, cargo_home: &Path) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for folder in folder.ancestors().map(|folder| folder.join(".cargo")).filter(|folder| folder != cargo_home)
    {
        for name in ["config.toml", "config"] {
            let Ok(text) = std::fs::read_to_string(folder.join(name)) else { continue };
            // What is not understood could be anything.
            let table: Table = text
                .parse()
                .unwrap_or_else(|_| [("include".to_owned(), Value::Boolean(true))].into_iter().collect());
            for (key, value) in table.iter().filter(|(key, _)| TELLING.contains(&key.as_str())) {
                let named = match (key.as_str(), value.as_table()) {
                    ("build", Some(inner)) => inner.keys().map(|inner| format!("build.{inner}")).collect(),
                    _ => vec![key.clone()],
                };
                // Where things are put and how many at once changes nothing of what they are.
                let harmless = ["build.jobs", "build.target-dir", "build.incremental"];
                found.extend(named.into_iter().filter(|name| !harmless.contains(&name.as_str())));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_program_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("a/b/x", "");
        let home = folder.path().join(".cargo");
        assert!(settings(&inner, &home).is_empty());
        write(
            "a/.cargo/config.toml",
            "[env]\nA = \"b\"\n[build]\nrustflags = [\"--cfg\", \"x\"]\njobs = 2\n[source.x]\nregistry = \"y\"\n",
        );
        assert_eq!(settings(&inner, &home), ["build.rustflags", "env"]);
        write("a/b/.cargo/config", "not toml [");
        assert_eq!(settings(&inner, &home), ["build.rustflags", "env", "include"]);
        write(".cargo/config.toml", "[target.x]\nrustflags = []\n");
        assert_eq!(settings(&inner, &home).len(), 3, "the user's own is no choice of the project");
    }
}
