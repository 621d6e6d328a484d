//! What a recorded command named: paths, programs and addresses, each once, in the order it first did.
//!
//! Recording only watches. What a command is given is decided by its plan, whatever is written here.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

use crate::host::Kind;

/// Everything that a recorded command named.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The paths.
    pub paths: Vec<Touch>,
    /// The addresses, and how often.
    pub addresses: Vec<(SocketAddr, u64)>,
    /// How many system calls named something that is not listed, because the list was full.
    pub left_out: u64,
    /// How many system calls named something that could not be read.
    pub unread: u64,
    /// How many system calls were told of.
    pub calls: u64,
}

/// A path, and what was to be done with it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Touch {
    /// The path as it was asked for, made absolute.
    pub path: PathBuf,
    /// What was to be done.
    pub how: How,
    /// How often.
    pub times: u64,
    /// What was there, inside, when it was first asked for.
    pub there: Option<Kind>,
    /// Its path without any link, when there was something.
    pub real: Option<PathBuf>,
    /// Whether it was named from the working directory.
    pub relative: bool,
}

/// What was to be done with a path.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Its content or its attributes were to be changed in place.
    Change,
    /// It was to be started.
    Execute,
    /// It was asked whether it is there, and what it is.
    Look,
    /// It was to be made: a file, a folder, a link.
    Make,
    /// It was to be read, or listed.
    Read,
    /// It was to be removed, or moved away.
    Remove,
}
