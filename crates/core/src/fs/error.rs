//! How an operation on files ends when it does not succeed.

use std::io;
use std::path::Path;

use ringfence_policy::{Code, Refusal};
use rustix::io::Errno;

use super::metadata::FileKind;

/// Why a file operation did nothing, or less than asked.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The tree has more levels than are walked.
    #[error("`{path}` is more than {limit} levels deep")]
    Depth {
        /// The path as asked.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// Another name of the file may lie outside the grant.
    #[error("`{path}` has {links} hard links, and writing it could change a file outside the grant")]
    HardLinked {
        /// The path as asked.
        path: String,
        /// How many names the file has.
        links: u64,
    },
    /// The operating system could not do it.
    #[error("cannot {verb} `{path}`: {}", source.kind())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The path as asked.
        path: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// Symbolic links lead to each other, or there are too many.
    #[error("`{path}` goes through too many symbolic links")]
    Links {
        /// The path as asked.
        path: String,
    },
    /// The content is not UTF-8.
    #[error("`{path}` is not UTF-8 text; read its bytes instead")]
    NotText {
        /// The path as asked.
        path: String,
    },
    /// The grant does not admit it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The source and the destination of a copy are one file.
    #[error("`{path}` is the file it would be copied from")]
    SameFile {
        /// The path as asked.
        path: String,
    },
    /// The file is larger than what is read at once.
    #[error("`{path}` is larger than {limit} bytes")]
    TooLarge {
        /// The path as asked.
        path: String,
        /// The limit.
        limit: u64,
    },
    /// It is something else.
    #[error("`{path}` is a {found}, not a {wanted}")]
    WrongKind {
        /// The path as asked.
        path: String,
        /// What it is.
        found: FileKind,
        /// What the operation needs.
        wanted: FileKind,
    },
}

impl FsError {
    /// Returns the stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Depth { .. } | Self::TooLarge { .. } => Code::LimitExceeded,
            Self::HardLinked { .. }
            | Self::Io { .. }
            | Self::Links { .. }
            | Self::NotText { .. }
            | Self::SameFile { .. }
            | Self::WrongKind { .. } => Code::ExecutionFailed,
            Self::Refused(refusal) => refusal.code,
        }
    }

    /// Tells whether there is nothing of that name.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }

    /// Tells whether there is something of that name already.
    pub fn is_already_exists(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists)
    }

    pub(super) fn io(verb: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { verb, path: shown(path), source: source.into() }
    }

    /// Returns a step that turns an error number into an error of this verb and path.
    pub(super) fn at(verb: &'static str, path: &Path) -> impl Fn(Errno) -> Self {
        move |errno| Self::io(verb, path, errno)
    }
}

/// Returns a path for one line of a message: control characters escaped.
pub(super) fn shown(path: &Path) -> String {
    let mut line = String::new();
    for character in path.to_string_lossy().chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
