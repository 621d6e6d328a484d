//! Files by `std::fs`, the way that an ordinary author takes. Paths go through the C library of the component.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Came;

/// An act on a path.
#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Act {
    /// Adds a text at the end of a file.
    Append { path: String, text: String },
    /// Follows every link of a path.
    Canonicalize { path: String },
    /// Copies a file.
    Copy { path: String, to: String },
    /// Makes a second name for a file.
    HardLink { path: String, to: String },
    /// Names what is in a folder.
    List { path: String },
    /// Makes a folder and those above it.
    MakeFolder { path: String },
    /// Holds so many open files of one path at once.
    OpenMany { path: String, count: usize },
    /// Returns a file's text.
    Read { path: String },
    /// Returns where a link leads.
    ReadLink { path: String },
    /// Removes a file.
    Remove { path: String },
    /// Removes a folder and all below it.
    RemoveFolder { path: String },
    /// Gives a path another name.
    Rename { path: String, to: String },
    /// Sets the length of a file that exists.
    SetLength { path: String, bytes: u64 },
    /// Returns kind and length of what a path leads to.
    Stat { path: String },
    /// Returns kind and length of the path itself.
    StatLink { path: String },
    /// Makes a link at `path` that leads to `to`.
    Symlink { path: String, to: String },
    /// Replaces a file's text, and makes the file where there is none.
    Write { path: String, text: String },
}

impl Act {
    pub(crate) fn attempt(self) -> Came {
        self.touch().map_err(|error| format!("{:?}: {error}", error.kind()))
    }

    fn touch(self) -> io::Result<Value> {
        match self {
            Self::Append { path, text } => {
                OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes())?;
                Ok(Value::Null)
            }
            Self::Canonicalize { path } => Ok(json!(fs::canonicalize(path)?)),
            Self::Copy { path, to } => Ok(json!(fs::copy(path, to)?)),
            Self::HardLink { path, to } => fs::hard_link(path, to).map(|()| Value::Null),
            Self::List { path } => {
                let mut names = Vec::new();
                for entry in fs::read_dir(path)? {
                    names.push(entry?.file_name().to_string_lossy().into_owned());
                }
                names.sort();
                Ok(json!(names))
            }
            Self::MakeFolder { path } => fs::create_dir_all(path).map(|()| Value::Null),
            Self::OpenMany { path, count } => {
                let mut files = Vec::new();
                for _ in 0..count {
                    files.push(fs::File::open(&path)?);
                }
                Ok(json!(files.len()))
            }
            Self::Read { path } => Ok(json!(String::from_utf8_lossy(&fs::read(path)?))),
            Self::ReadLink { path } => Ok(json!(fs::read_link(path)?)),
            Self::Remove { path } => fs::remove_file(path).map(|()| Value::Null),
            Self::RemoveFolder { path } => fs::remove_dir_all(path).map(|()| Value::Null),
            Self::Rename { path, to } => fs::rename(path, to).map(|()| Value::Null),
            Self::SetLength { path, bytes } => {
                OpenOptions::new().write(true).open(path)?.set_len(bytes).map(|()| Value::Null)
            }
            Self::Stat { path } => Ok(described(&fs::metadata(path)?)),
            Self::StatLink { path } => Ok(described(&fs::symlink_metadata(path)?)),
            Self::Symlink { path, to } => symlink(&to, &path).map(|()| Value::Null),
            Self::Write { path, text } => fs::write(path, text).map(|()| Value::Null),
        }
    }
}

#[expect(deprecated, reason = "it is the only way that is stable for both components and programs")]
fn symlink(to: &str, path: &str) -> io::Result<()> {
    fs::soft_link(to, path)
}

fn described(found: &fs::Metadata) -> Value {
    let kind = match found.file_type() {
        kind if kind.is_dir() => "folder",
        kind if kind.is_file() => "file",
        kind if kind.is_symlink() => "link",
        _ => "other",
    };
    json!({ "kind": kind, "bytes": found.len() })
}
