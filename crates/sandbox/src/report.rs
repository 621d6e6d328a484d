//! What a command left behind.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringfence_policy::Assurance;
use serde::Serialize;

use crate::backend::Tier;
use crate::limit::{Enforcer, LimitName};
use crate::record::Record;

/// How a command ended and what it used.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// The head of what it wrote to its standard output.
    pub stdout: Capture,
    /// The head of what it wrote to its standard error.
    pub stderr: Capture,
    /// What it used.
    pub usage: Usage,
    /// What confined it.
    pub backend: &'static str,
    /// How strongly.
    pub tier: Tier,
    /// How that is known. A backend only claims it; whoever tried it says more.
    pub assurance: Assurance,
    /// What enforced each limit.
    pub limits: BTreeMap<LimitName, Enforcer>,
    /// The limits it ran into, as far as that can be known.
    pub exceeded: Vec<LimitName>,
    /// The system calls that were refused and how often, where that was observed.
    pub denied: BTreeMap<&'static str, u64>,
    /// What it named, where that was recorded.
    pub record: Option<Record>,
    /// Files on the always-deny floor that it made in a writable folder: where each was and where it is now.
    pub quarantined: Vec<Quarantined>,
    /// What should have been moved and could not be, or could not be searched, and why. Look at it before you use it.
    pub left: Vec<(PathBuf, String)>,
}

/// What is said of a protected file that was replaced during a run.
pub(crate) const REPLACED: &str =
    "it was replaced during the run and no longer protected, so the run was ended";

impl Report {
    /// Tells whether a protected file was replaced during the run, which was ended then. Who made what is there is not known.
    pub fn is_replaced(&self, path: &Path) -> bool {
        self.left.iter().any(|(left, why)| left == path && why == REPLACED)
    }
}

/// A folder of a run that was killed, whose file system is not mounted where it was.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unmounted {
    /// The folder.
    pub tree: PathBuf,
    /// The mark of the run, which stays.
    pub mark: PathBuf,
}

impl fmt::Display for Unmounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| path.to_string_lossy().escape_debug().to_string();
        write!(
            f,
            "a killed run could write `{}`, whose file system is not mounted; mount it, or remove `{}`",
            shown(&self.tree),
            shown(&self.mark)
        )
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// It exited with a code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// Its time was up, and it was killed.
    TimedOut,
}

impl Ending {
    /// Returns the exit code a shell would show: 128 and the signal's number, 124 when its time was up.
    pub const fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::TimedOut => 124,
        }
    }

    /// Reads a status as `wait` reports it.
    pub(crate) const fn from_wait(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited(status >> 8 & 0xff),
            signal => Self::Signalled(signal),
        }
    }
}

/// The head of a stream.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Capture {
    /// What was kept.
    pub bytes: Vec<u8>,
    /// How many bytes were not.
    pub dropped: u64,
}

impl Capture {
    /// Keeps what fits, and returns the part that was kept.
    pub(crate) fn take<'a>(
        &mut self,
        bytes: &'a [u8],
        limit: usize,
        keep: Keep,
        total: &mut usize,
    ) -> &'a [u8] {
        let room = limit.saturating_sub(*total);
        let (kept, rest) = bytes.split_at(room.min(bytes.len()));
        *total += kept.len();
        if keep == Keep::Yes {
            self.bytes.extend_from_slice(kept);
        }
        self.dropped += rest.len() as u64;
        kept
    }
}

/// Whether what is passed on is also kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Keep {
    No,
    Yes,
}

/// What a command used.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Wall-clock time.
    #[serde(serialize_with = "millis")]
    pub wall: Duration,
    /// Processor time of the command and the children it waited for; of the whole tree with a control group.
    #[serde(serialize_with = "millis")]
    pub cpu: Duration,
    /// The most memory, in bytes: of the whole tree with a control group, else of the largest process. One that is smaller than
    /// whoever started it is told by the last look at the tree; 0 where it ended before.
    pub peak_memory: u64,
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1000.0)
}

/// A file that was moved out of the way.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Quarantined {
    /// Where it was found.
    pub found: PathBuf,
    /// Where it is now.
    pub moved: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_head() {
        let (mut capture, mut total) = (Capture::default(), 0);
        assert_eq!(capture.take(b"hello ", 8, Keep::Yes, &mut total), b"hello ");
        assert_eq!(capture.take(b"world", 8, Keep::Yes, &mut total), b"wo");
        assert_eq!(capture.take(b"!", 8, Keep::Yes, &mut total), b"");
        assert_eq!((capture.bytes.as_slice(), capture.dropped), (b"hello wo".as_slice(), 4));
    }

    #[test]
    fn reads_wait_statuses() {
        assert_eq!(Ending::from_wait(0).code(), 0);
        assert_eq!(Ending::from_wait(7 << 8).code(), 7);
        assert_eq!(Ending::from_wait(15).code(), 143);
        assert_eq!(Ending::from_wait(6 | 0x80).code(), 134);
        assert_eq!(Ending::TimedOut.code(), 124);
    }
}
