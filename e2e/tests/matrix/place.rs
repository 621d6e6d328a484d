//! Where the tests keep their files.

use std::fs;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::matrix::sys;

/// A place that the ordinary user can read, that no sandbox has of its own (`/tmp`, `/var/tmp`) and that firejail does
/// not make read-only (`/var`).
pub(crate) fn base() -> PathBuf {
    if sys::uid() != 0 {
        return PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    }
    let base = PathBuf::from("/opt/rf-e2e");
    fs::create_dir_all(&base).unwrap();
    base
}

/// The command under test, in that place: the ordinary user may not be able to read where it was built, and firejail
/// starts nothing in `/tmp`.
pub(crate) fn ringfence() -> PathBuf {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| installed(ringfence_e2e::ringfence(), "ringfence")).clone()
}

fn installed(program: &Path, name: &str) -> PathBuf {
    let to = base().join(name);
    // Other tests may run it while it is replaced.
    let new = base().join(format!("{name}.{}", std::process::id()));
    fs::copy(program, &new).unwrap();
    fs::rename(&new, &to).unwrap();
    to
}

/// Gives everything below a path to a user.
pub(crate) fn own(path: &Path, (uid, gid): (u32, u32)) {
    lchown(path, Some(uid), Some(gid)).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            own(&entry.unwrap().path(), (uid, gid));
        }
    }
}
