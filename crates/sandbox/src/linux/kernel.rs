//! What this kernel can do, asked once.

use std::sync::OnceLock;

/// Rights that Landlock knows on files, by the version that brought them.
pub(crate) mod right {
    pub(crate) const EXECUTE: u64 = 1;
    pub(crate) const WRITE_FILE: u64 = 1 << 1;
    pub(crate) const READ_FILE: u64 = 1 << 2;
    pub(crate) const READ_DIR: u64 = 1 << 3;
    pub(crate) const TRUNCATE: u64 = 1 << 14;
    pub(crate) const IOCTL_DEV: u64 = 1 << 15;
    /// Make and remove whatever is not a device, and move it between folders.
    pub(crate) const CHANGE_DIR: u64 =
        1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13;
    /// Rights that a rule on a single file may hold.
    pub(crate) const ON_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
}

/// Returns the version of Landlock, 0 where there is none.
pub(crate) fn landlock_version() -> u32 {
    static VERSION: OnceLock<u32> = OnceLock::new();
    *VERSION.get_or_init(crate::sys::landlock_version)
}

/// Returns every right on files that this version handles.
pub(crate) const fn handled(version: u32) -> u64 {
    match version {
        0 => 0,
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    }
}

/// Returns what can be scoped: abstract sockets and signals.
pub(crate) const fn scoped(version: u32) -> u64 {
    if version >= 6 { 3 } else { 0 }
}
