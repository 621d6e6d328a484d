//! The programs under test, and those of the system.

use std::path::PathBuf;

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
