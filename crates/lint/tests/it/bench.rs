//! A project on disk, and the lint run on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A project in a folder of its own.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

/// What the lint said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    /// Makes a package `demo` without dependencies, with a lock file.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("lint-").tempdir().unwrap();
        let bench = Self { folder };
        bench
            .file(
                "project/Cargo.toml",
                "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
            )
            .file("project/Cargo.lock", "version = 4\n\n[[package]]\nname = \"demo\"\nversion = \"0.1.0\"\n")
            .file("cache/empty", "")
            .file("project/src/lib.rs", "pub fn nothing() {}\n")
    }

    /// Writes a file.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// Runs the lint on the project.
    pub(crate) fn lint(&self, arguments: &[&str]) -> Said {
        self.lint_at(&self.path("project"), arguments)
    }

    /// Runs the lint on a folder.
    pub(crate) fn lint_at(&self, folder: &Path, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence-lint"));
        command.arg(folder).args(arguments).env("XDG_CACHE_HOME", self.path("cache"));
        command.env_remove("RUSTUP_TOOLCHAIN").env_remove("GITHUB_STEP_SUMMARY");
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs the lint and reads its JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let all: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let said = self.lint(&all);
        let value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        (said.code, value)
    }
}
