//! What some fixtures need that a script makes: nobody leaves it out.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::docs::root;

/// The installed packages of Python that the index is made of.
pub(crate) fn packages() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| named("RINGFENCE_TEST_MCP", "script/mcp-servers")).join("py/lib");
    // The folder between is named after the version of Python.
    let found = std::fs::read_dir(&folder).unwrap().map(|one| one.unwrap().path().join("site-packages"));
    found.into_iter().find(|path| path.is_dir()).unwrap()
}

/// The components of `guest/`.
pub(crate) fn guests() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| named("RINGFENCE_TEST_GUESTS", "script/wasm-guests")).clone()
}

fn named(variable: &str, script: &str) -> PathBuf {
    if let Some(folder) = std::env::var_os(variable) {
        return PathBuf::from(folder);
    }
    let output = Command::new(root().join(script)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().lines().last().unwrap())
}
