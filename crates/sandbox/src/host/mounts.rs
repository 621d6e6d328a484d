//! What is mounted where: a file can be seen at several paths, and a path can lead to another file system than before.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::path::{Identity, find};

/// The mounts that this process sees, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Vec<Mount>);

#[derive(Debug)]
struct Mount {
    /// The file system, as `major:minor`.
    device: Vec<u8>,
    /// The folder of the file system that is mounted.
    root: PathBuf,
    /// Where it is mounted.
    point: PathBuf,
}

impl Mounts {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub(crate) fn read() -> io::Result<Self> {
        if !cfg!(target_os = "linux") {
            return Ok(Self::default());
        }
        let text = std::fs::read("/proc/self/mountinfo")?;
        Ok(Self(text.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect()))
    }

    /// Returns where the mount lies that holds a path.
    #[cfg(target_os = "linux")]
    pub(crate) fn point_of(&self, path: &Path) -> Option<&Path> {
        self.holding(path).map(|mount| mount.point.as_path())
    }

    /// Returns where something is mounted.
    #[cfg(target_os = "linux")]
    pub(crate) fn points(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|mount| mount.point.as_path())
    }

    /// Returns the other paths at which a file can be seen, or is once it was made. Of a folder that is mounted in parts, also where
    /// those parts are.
    ///
    /// Only mounts of the same file system are known: one that passes on another (overlay, FUSE, a network) is not.
    pub(crate) fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let Ok(found) = find(path) else {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
            let Ok(folder) = find(folder) else { return Vec::new() };
            let folders = self.places(&folder.real, folder.identity).into_iter();
            return folders.filter(|(_, is_part)| !is_part).map(|(folder, _)| folder.join(name)).collect();
        };
        self.places(&found.real, found.identity).into_iter().map(|(place, _)| place).collect()
    }

    /// Returns them for a path without links, and whether each is only a part of it.
    fn places(&self, real: &Path, identity: Identity) -> Vec<(PathBuf, bool)> {
        let Some(holder) = self.holding(real) else { return Vec::new() };
        let Ok(below) = real.strip_prefix(&holder.point) else { return Vec::new() };
        let inside = join(&holder.root, below);
        let mut all = Vec::new();
        for mount in self.0.iter().filter(|mount| mount.device == holder.device) {
            if let Ok(rest) = inside.strip_prefix(&mount.root) {
                let place = join(&mount.point, rest);
                // Something else can be mounted over it.
                let is_seen = std::fs::symlink_metadata(&place)
                    .is_ok_and(|seen| Identity { device: seen.dev(), inode: seen.ino() } == identity);
                if is_seen && place != real {
                    all.push((place, false));
                }
            } else if mount.root.starts_with(&inside) && !mount.point.starts_with(real) {
                all.push((mount.point.clone(), true));
            }
        }
        all.sort();
        all.dedup();
        all
    }

    /// Returns the mount that holds a path: of several at one place the last.
    fn holding(&self, path: &Path) -> Option<&Mount> {
        let around = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        around.max_by_key(|mount| mount.point.components().count())
    }
}

impl Mount {
    /// Parses a line: id, parent, device, root, mount point, and more.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let device = fields.next()?.to_vec();
        Some(Self { device, root: unescape(fields.next()?), point: unescape(fields.next()?) })
    }
}

/// Joins without a slash at the end where there is nothing to join.
fn join(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { folder.to_path_buf() } else { folder.join(rest) }
}

/// Reads a path in which blanks, line ends and backslashes are written as `\` and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let octal = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match (octal, after.get(3..)) {
            (Some(byte), Some(after)) => (bytes.push(byte), rest = after).1,
            _ => (bytes.push(*first), rest = after).1,
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn a_path_is_read_as_the_kernel_writes_it() {
        #[rustfmt::skip]
        let table: &[(&[u8], &[u8])] = &[
            (b"/a",              b"/a"),
            (b"/a\\040b\\134c",  b"/a b\\c"),
            (b"/a\\04",          b"/a\\04"),
            (b"/a\\\\011\xff",   b"/a\\\t\xff"),
            (b"/a\\999",         b"/a\\999"),
        ];
        for (written, meant) in table {
            assert_eq!(unescape(written).as_os_str().as_bytes(), *meant);
        }
    }

    #[test]
    fn the_other_places_of_a_file_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (own, other) = (root.join("own"), root.join("other"));
        std::fs::create_dir_all(own.join("sub")).unwrap();
        std::fs::write(own.join("db"), "").unwrap();
        // What leads to the same file stands for a second mount.
        std::os::unix::fs::symlink(&own, &other).unwrap();
        let mount = |root: &Path, point: &Path| Mount {
            device: b"8:1".to_vec(),
            root: root.to_path_buf(),
            point: point.to_path_buf(),
        };
        let far = PathBuf::from("/nowhere/part");
        let mounts = Mounts(vec![
            mount(Path::new("/x"), &root),
            mount(Path::new("/x/own"), &other),
            mount(Path::new("/x/own/sub"), &far),
            Mount { device: b"8:2".to_vec(), ..mount(Path::new("/x/own"), &root.join("strange")) },
        ]);
        assert_eq!(mounts.aliases(&own.join("db")), [other.join("db")]);
        assert_eq!(mounts.aliases(&own.join("new")), Vec::<PathBuf>::new(), "a link is no mount");
        assert_eq!(mounts.aliases(&own), [far]);
        assert_eq!(mounts.aliases(&root.join("none/none")), Vec::<PathBuf>::new());
    }
}
