//! What a verification reports: findings with stable words, and how far the log is proven.

use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::error::{NoteError, OutputError};
use super::hash::Hash;

/// Who says what the root of a log of some size was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Promise {
    /// A signed checkpoint that is kept beside the log.
    Checkpoint,
    /// The frontier that is kept beside the log, which nobody signed.
    Frontier,
    /// A checkpoint that was kept elsewhere.
    Trusted,
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checkpoint => "the checkpoint",
            Self::Frontier => "the stored frontier",
            Self::Trusted => "the trusted checkpoint",
        })
    }
}

/// One thing that is wrong with a log.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Finding {
    /// Records stand behind the last one that the tree has.
    Added {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// A record does not have the hash that is stored for it.
    Edited {
        /// The record.
        index: u64,
    },
    /// The records are not those that were promised. Records that were rewritten together with their hashes show
    /// here, since no stored hash tells any more which of them.
    Forked {
        /// The first record that may be another.
        since: u64,
        /// The size for which the root was promised.
        size: u64,
        /// Who promised it.
        by: Promise,
    },
    /// A checkpoint came after records that it does not know.
    Late {
        /// The size in the checkpoint.
        size: u64,
        /// How many records had been seen.
        seen: u64,
    },
    /// A record is filed under something else than it says, so that it would not be found, or found for another.
    Misfiled {
        /// The record.
        index: u64,
        /// By what it would be found.
        column: &'static str,
    },
    /// Records are not there.
    Missing {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// An inner node of the tree is stored that is not the hash of its records, or is not stored.
    Node {
        /// The first of its records.
        first: u64,
        /// The last of its records.
        last: u64,
    },
    /// A record stands in another's place.
    Reordered {
        /// Where it stands, or the index it claims a second time.
        index: u64,
    },
    /// Two signed checkpoints of one size have different roots.
    Split {
        /// The size.
        size: u64,
    },
    /// An output is not the one that belongs to the record.
    Swapped {
        /// The record.
        index: u64,
        /// Which output.
        why: OutputError,
    },
    /// The log ends before the size that was promised.
    Truncated {
        /// How many records there are.
        records: u64,
        /// How many there must be.
        promised: u64,
        /// Who promised them.
        by: Promise,
    },
    /// More records at the end are without a signed checkpoint than may be.
    Uncovered {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// A stored checkpoint is not one that the log has signed.
    Unsigned {
        /// Which checkpoint, from 0 in the order in which they were given.
        ordinal: u64,
        /// Why it is not believed.
        why: NoteError,
    },
}

impl Finding {
    /// Returns the stable word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Added { .. } => "added",
            Self::Edited { .. } | Self::Misfiled { .. } | Self::Node { .. } => "edited",
            Self::Forked { .. } | Self::Split { .. } => "forked",
            Self::Missing { .. } => "missing",
            Self::Late { .. } | Self::Reordered { .. } => "reordered",
            Self::Swapped { .. } => "swapped",
            Self::Truncated { .. } => "truncated",
            Self::Uncovered { .. } | Self::Unsigned { .. } => "unsigned",
        }
    }

    /// Returns the first and the last record that it concerns, where it concerns records.
    pub const fn records(&self) -> Option<(u64, u64)> {
        match *self {
            Self::Edited { index }
            | Self::Misfiled { index, .. }
            | Self::Reordered { index }
            | Self::Swapped { index, .. } => Some((index, index)),
            Self::Added { first, last }
            | Self::Missing { first, last }
            | Self::Node { first, last }
            | Self::Uncovered { first, last } => Some((first, last)),
            Self::Forked { since: first, size, .. }
            | Self::Truncated { records: first, promised: size, .. } => Some((first, size.saturating_sub(1))),
            Self::Late { .. } | Self::Split { .. } | Self::Unsigned { .. } => None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { first, last } => {
                write!(f, "the records {first} to {last} are not in the stored tree")
            }
            Self::Edited { index } => write!(f, "record {index} does not have its stored hash"),
            Self::Forked { since, size, by } => {
                write!(f, "{by} of {size} records is over other records than these, from {since} on")
            }
            Self::Late { size, seen } => {
                write!(f, "the checkpoint of {size} records comes after record {seen}")
            }
            Self::Misfiled { index, column } => {
                write!(f, "record {index} is filed under another {column} than it has")
            }
            Self::Missing { first, last } if first == last => write!(f, "record {first} is missing"),
            Self::Missing { first, last } => write!(f, "records {first} to {last} are missing"),
            Self::Node { first, last } => {
                write!(f, "the stored hash over the records {first} to {last} is not theirs")
            }
            Self::Reordered { index } => write!(f, "record {index} is out of its place"),
            Self::Split { size } => write!(f, "two checkpoints of {size} records have different roots"),
            Self::Swapped { index, why } => write!(f, "record {index}: {why}"),
            Self::Truncated { records, promised, by } => {
                write!(f, "{by} promises {promised} records and there are {records}")
            }
            Self::Uncovered { first, last } => {
                write!(f, "no checkpoint covers the records {first} to {last}")
            }
            Self::Unsigned { ordinal, why } => {
                write!(f, "checkpoint number {ordinal} is not believed: {why}")
            }
        }
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("finding", self.word())?;
        if let Some((first, last)) = self.records() {
            map.serialize_entry("first", &first)?;
            map.serialize_entry("last", &last)?;
        }
        map.serialize_entry("message", &self.to_string())?;
        map.end()
    }
}

/// The result of a verification.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Verified {
    /// How many places the log has, missing records counted.
    pub records: u64,
    /// How many records, from the first on, a signed checkpoint has proven to be the ones that were logged.
    pub proven: u64,
    /// The root over all records, unless some were missing.
    pub root: Option<Hash>,
    /// How many signed checkpoints the records agree with.
    pub agreeing: u64,
    /// What is wrong, in the order of the log.
    pub findings: Vec<Finding>,
    /// How many findings are not listed.
    pub left_out: u64,
}

impl Verified {
    /// Says whether nothing is wrong.
    pub const fn is_intact(&self) -> bool {
        self.findings.is_empty() && self.left_out == 0
    }
}
