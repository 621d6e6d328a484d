//! Following a path to the file it means, and remembering the links on the way.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// A file by device and inode: the same file, whatever path leads to it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link; only where links are not followed.
    Link,
    /// A socket or device.
    Other,
    /// A named pipe.
    Pipe,
}

/// A file that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// Its path without any link.
    pub real: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Which file it is.
    pub identity: Identity,
    /// The symbolic links on the way: where each is and what it says.
    pub links: Vec<(PathBuf, PathBuf)>,
}

/// More than any honest path has; the kernel's own bound.
const MAX_LINKS: usize = 40;

/// Follows an absolute path.
///
/// # Errors
///
/// Something on the way is missing, is not a directory, or may not be looked at; or the links go in circles.
pub(crate) fn find(path: &Path) -> io::Result<Found> {
    let mut way = Way::default();
    way.follow(path)?;
    let Way { real, links, .. } = way;
    // `..` and links leave the metadata of what they came from.
    let metadata = std::fs::symlink_metadata(&real)?;
    let kind = match &metadata {
        directory if directory.is_dir() => Kind::Directory,
        file if file.is_file() => Kind::File,
        pipe if pipe.file_type().is_fifo() => Kind::Pipe,
        _ => Kind::Other,
    };
    Ok(Found { real, kind, identity: Identity { device: metadata.dev(), inode: metadata.ino() }, links })
}

/// Returns what decides where an absolute path leads beside the folders around what it leads to: each link on the way, and each folder
/// that `..` leaves again. Of a path that ends early, what comes before that.
pub(crate) fn waypoints(path: &Path) -> Vec<(PathBuf, Kind)> {
    let mut way = Way::default();
    // Where it ends is nothing that decides.
    let _ended = way.follow(path);
    let links = way.links.into_iter().map(|(link, _)| (link, Kind::Link));
    links.chain(way.left.into_iter().map(|folder| (folder, Kind::Directory))).collect()
}

/// How a path is followed.
#[derive(Debug, Default)]
struct Way {
    /// The folder that it has come to, without any link.
    real: PathBuf,
    /// The links so far: where each is and what it says.
    links: Vec<(PathBuf, PathBuf)>,
    /// The folders that `..` has left.
    left: Vec<PathBuf>,
}

impl Way {
    fn follow(&mut self, path: &Path) -> io::Result<()> {
        self.real = PathBuf::from("/");
        let mut pending: VecDeque<OsString> = VecDeque::new();
        push_front(&mut pending, path);
        while let Some(name) = pending.pop_front() {
            if name == ".." {
                self.left.push(self.real.clone());
                self.real.pop();
                continue;
            }
            let next = self.real.join(&name);
            if !std::fs::symlink_metadata(&next)?.is_symlink() {
                self.real = next;
                continue;
            }
            if self.links.len() == MAX_LINKS {
                return Err(io::Error::from_raw_os_error(40));
            }
            let target = std::fs::read_link(&next)?;
            if target.is_absolute() {
                self.real = PathBuf::from("/");
            }
            push_front(&mut pending, &target);
            self.links.push((next, target));
        }
        Ok(())
    }
}

/// Opens a plain file that is no link. What became a pipe meanwhile is not waited for.
pub(super) fn open_plain(path: &Path) -> Option<std::fs::File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().is_ok_and(|found| found.is_file()).then_some(file)
}

/// Reads a plain file as text; nothing where it is larger than that, or no text.
pub(super) fn read_small(path: &Path, most: u64) -> Option<String> {
    let mut text = String::new();
    let length = open_plain(path)?.take(most + 1).read_to_string(&mut text).ok()?;
    (length as u64 <= most).then_some(text)
}

fn push_front(pending: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => pending.push_front(name.to_owned()),
            Component::ParentDir => pending.push_front("..".into()),
            Component::CurDir | Component::Prefix(_) | Component::RootDir => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn follows_links_and_remembers_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::write(root.join("real/deep/file"), "x").unwrap();
        symlink("real", root.join("short")).unwrap();
        symlink(root.join("short/deep"), root.join("long")).unwrap();
        symlink("loop", root.join("loop")).unwrap();

        let found = find(&root.join("long/../deep/file")).unwrap();
        assert_eq!(found.real, root.join("real/deep/file"));
        assert_eq!(found.kind, Kind::File);
        let links: Vec<PathBuf> = found.links.into_iter().map(|(at, _)| at).collect();
        assert_eq!(links, [root.join("long"), root.join("short")]);
        assert_eq!(find(&root.join("long/..")).unwrap().kind, Kind::Directory);
        assert_eq!(find(&root.join("long")).unwrap().real, root.join("real/deep"));

        assert_eq!(find(&root.join("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(find(&root.join("loop")).unwrap_err().raw_os_error(), Some(40));
        assert_eq!(find(Path::new("/")).unwrap().kind, Kind::Directory);
    }

    #[test]
    fn tells_what_decides_where_a_path_leads() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        symlink("real", root.join("short")).unwrap();
        symlink("short/deep", root.join("long")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();
        #[rustfmt::skip]
        let cases: [(&str, &[(&str, Kind)]); 6] = [
            ("real/deep",           &[]),
            ("long/none",           &[("long", Kind::Link), ("short", Kind::Link)]),
            ("real/deep/../none",   &[("real/deep", Kind::Directory)]),
            ("long/../../short/x",  &[("long", Kind::Link), ("short", Kind::Link), ("short", Kind::Link),
                                      ("real/deep", Kind::Directory), ("real", Kind::Directory)]),
            ("broken/x",            &[("broken", Kind::Link)]),
            ("none/../long",        &[]),
        ];
        for (path, expected) in cases {
            let expected: Vec<_> = expected.iter().map(|(path, kind)| (root.join(path), *kind)).collect();
            assert_eq!(waypoints(&root.join(path)), expected, "{path}");
        }
    }
}
