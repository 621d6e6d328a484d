//! The command under test.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// `RINGFENCE_BIN`, or the one beside the tests, built anew: an old one would be what is tested.
pub(crate) fn ringfence() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            if let Some(named) = std::env::var_os("RINGFENCE_BIN") {
                return PathBuf::from(named);
            }
            // `<target>/debug/deps/it-…` → `<target>/debug/ringfence`
            let beside = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("ringfence");
            let built = Command::new(env!("CARGO"))
                .args(["build", "--quiet", "--locked", "-p", "ringfence-cli", "--bin", "ringfence"])
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .status()
                .unwrap();
            assert!(built.success(), "`ringfence` does not build");
            beside
        })
        .clone()
}

/// The program that tries the escapes.
pub(crate) fn probe() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_probe"))
}

/// Where the system keeps a program; the search path of whoever runs the tests decides nothing.
pub(crate) fn system(program: &str) -> Option<PathBuf> {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    if program == "ld.so" {
        return loader.iter().map(PathBuf::from).find(|path| path.exists());
    }
    let folders = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
    folders.iter().map(|folder| PathBuf::from(folder).join(program)).find(|path| path.exists())
}
