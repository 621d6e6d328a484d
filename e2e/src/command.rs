//! The command under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the command: what `RINGFENCE_BIN` names, or the one beside the tests, built anew with all that stands beside it. An old one would be
/// what is tested.
///
/// # Panics
///
/// When it does not build: there is nothing to test then.
#[expect(clippy::expect_used, reason = "a test cannot go on without it")]
pub fn ringfence() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(named) = std::env::var_os("RINGFENCE_BIN") {
            return PathBuf::from(named);
        }
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--workspace", "--bins"])
            .args(["--exclude", "ringfence-bench", "--exclude", "ringfence-e2e"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo starts");
        assert!(built.success(), "`ringfence` does not build");
        // `<target>/debug/deps/mcp-…` → `<target>/debug/ringfence`
        let own = std::env::current_exe().expect("a program knows its file");
        own.ancestors().nth(2).expect("it is in a folder of a target").join("ringfence")
    })
}
