//! Files by `wasi:filesystem` itself: paths reach the host as they are written here, which no C library tidied up.

use serde::Deserialize;
use serde_json::{Value, json};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

use crate::Came;

/// An act on a path below the first granted folder, or below the one that `root` numbers.
#[derive(Deserialize)]
#[expect(clippy::enum_variant_names, reason = "the variants are the names of the acts")]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Act {
    /// Makes a second name for a file.
    RawHardLink {
        path: String,
        to: String,
        #[serde(default)]
        follow: bool,
        #[serde(default)]
        root: usize,
    },
    /// Opens a folder, and from there reads a file.
    RawNested {
        folder: String,
        path: String,
        #[serde(default)]
        root: usize,
    },
    /// Returns so many random bytes of the good kind.
    RawRandom { bytes: u64 },
    /// Reads a file.
    RawRead {
        path: String,
        #[serde(default)]
        follow: bool,
        #[serde(default)]
        root: usize,
    },
    /// Returns where a link leads.
    RawReadLink {
        path: String,
        #[serde(default)]
        root: usize,
    },
    /// Removes a file.
    RawRemove {
        path: String,
        #[serde(default)]
        root: usize,
    },
    /// Gives a path another name.
    RawRename {
        path: String,
        to: String,
        #[serde(default)]
        root: usize,
    },
    /// Opens a file for reading only, and writes to it all the same.
    RawReadThenWrite {
        path: String,
        text: String,
        #[serde(default)]
        root: usize,
    },
    /// Names the granted folders.
    RawRoots,
    /// Returns the length of what a path leads to.
    RawStat {
        path: String,
        #[serde(default)]
        follow: bool,
        #[serde(default)]
        root: usize,
    },
    /// Makes a link that leads to `to`.
    RawSymlink {
        path: String,
        to: String,
        #[serde(default)]
        root: usize,
    },
    /// Sets both times of a path to the start of all time.
    RawTimes {
        path: String,
        #[serde(default)]
        follow: bool,
        #[serde(default)]
        root: usize,
    },
    /// Makes or replaces a file.
    RawWrite {
        path: String,
        text: String,
        #[serde(default)]
        follow: bool,
        #[serde(default)]
        root: usize,
    },
}

impl Act {
    pub(crate) fn attempt(self) -> Came {
        match self {
            Self::RawHardLink { path, to, follow, root } => {
                let root = numbered(root)?;
                done(root.link_at(followed(follow), &path, &root, &to))
            }
            Self::RawNested { folder, path, root } => {
                let root = numbered(root)?;
                let opened =
                    root.open_at(PathFlags::empty(), &folder, OpenFlags::DIRECTORY, DescriptorFlags::READ);
                read(&opened.map_err(named)?, &path, false)
            }
            Self::RawRandom { bytes } => Ok(json!(wasip2::random::random::get_random_bytes(bytes))),
            Self::RawRead { path, follow, root } => read(&numbered(root)?, &path, follow),
            Self::RawReadLink { path, root } => Ok(json!(numbered(root)?.readlink_at(&path).map_err(named)?)),
            Self::RawRemove { path, root } => done(numbered(root)?.unlink_file_at(&path)),
            Self::RawRename { path, to, root } => {
                let root = numbered(root)?;
                done(root.rename_at(&path, &root, &to))
            }
            Self::RawReadThenWrite { path, text, root } => {
                let opened = numbered(root)?.open_at(
                    PathFlags::empty(),
                    &path,
                    OpenFlags::empty(),
                    DescriptorFlags::READ,
                );
                let written = opened.map_err(named)?.write(text.as_bytes(), 0);
                Ok(json!(written.map_err(named)?))
            }
            Self::RawRoots => {
                Ok(json!(get_directories().into_iter().map(|(_, name)| name).collect::<Vec<_>>()))
            }
            Self::RawStat { path, follow, root } => {
                Ok(json!(numbered(root)?.stat_at(followed(follow), &path).map_err(named)?.size))
            }
            Self::RawSymlink { path, to, root } => done(numbered(root)?.symlink_at(&to, &path)),
            Self::RawTimes { path, follow, root } => {
                let start = || {
                    NewTimestamp::Timestamp(wasip2::clocks::wall_clock::Datetime {
                        seconds: 0,
                        nanoseconds: 0,
                    })
                };
                done(numbered(root)?.set_times_at(followed(follow), &path, start(), start()))
            }
            Self::RawWrite { path, text, follow, root } => {
                let opened = numbered(root)?.open_at(
                    followed(follow),
                    &path,
                    OpenFlags::CREATE | OpenFlags::TRUNCATE,
                    DescriptorFlags::WRITE,
                );
                let written = opened.map_err(named)?.write(text.as_bytes(), 0);
                Ok(json!(written.map_err(named)?))
            }
        }
    }
}

fn numbered(root: usize) -> Result<Descriptor, String> {
    let found = get_directories().into_iter().nth(root);
    found.map(|(descriptor, _)| descriptor).ok_or_else(|| format!("there is no granted folder {root}"))
}

fn read(folder: &Descriptor, path: &str, follow: bool) -> Came {
    let opened = folder.open_at(followed(follow), path, OpenFlags::empty(), DescriptorFlags::READ);
    let (bytes, _) = opened.map_err(named)?.read(1_000_000, 0).map_err(named)?;
    Ok(json!(String::from_utf8_lossy(&bytes)))
}

fn followed(follow: bool) -> PathFlags {
    if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() }
}

fn done(came: Result<(), ErrorCode>) -> Came {
    came.map(|()| Value::Null).map_err(named)
}

fn named(code: ErrorCode) -> String {
    code.name().to_owned()
}
