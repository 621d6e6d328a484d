//! Paths as they lie in a command's memory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The longest path that the kernel takes, with its end.
pub(super) const MOST: usize = 4096;

/// Returns the path up to its end. Without an end it is none: the kernel refuses it too.
pub(super) fn path(bytes: &[u8]) -> Option<&Path> {
    let length = bytes.iter().position(|byte| *byte == 0).or((bytes.len() < MOST).then_some(bytes.len()))?;
    bytes.get(..length).map(|text| Path::new(OsStr::from_bytes(text)))
}

/// Returns an absolute path without `.` and `..`.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => normal.push(name),
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir | Component::Prefix(_) | Component::RootDir => {}
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_where_the_kernel_ends_it() {
        assert_eq!(path(b"/etc/x\0/more"), Some(Path::new("/etc/x")));
        assert_eq!(path(b"\0"), Some(Path::new("")));
        assert_eq!(path(&[b'a'; MOST]), None);
        assert_eq!(normal(Path::new("/a/./b//c/../d")), Path::new("/a/b/d"));
        assert_eq!(normal(Path::new("/../..")), Path::new("/"));
    }
}
