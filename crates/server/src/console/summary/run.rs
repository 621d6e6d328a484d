//! A run and a session in a line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many agents of a run, and how many runs of a session, are named.
const NAMED: usize = 8;

/// How many calls went how.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Outcomes {
    /// How many calls were done.
    pub(crate) done: u64,
    /// How many calls failed.
    pub(crate) failed: u64,
    /// How many calls were refused.
    pub(crate) refused: u64,
}

impl Outcomes {
    pub(super) fn add(&mut self, outcome: &str) {
        match outcome {
            "done" => self.done += 1,
            "refused" => self.refused += 1,
            _ => self.failed += 1,
        }
    }

    /// Returns how many calls there were.
    pub(crate) const fn total(self) -> u64 {
        self.done + self.failed + self.refused
    }
}

/// A run in a line.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct RunSummary {
    /// The run.
    pub(crate) run: String,
    /// The session of its newest call.
    pub(crate) session: Option<String>,
    /// The agents that proposed its calls; at most 8.
    pub(crate) agents: Vec<String>,
    /// How many calls went how.
    #[serde(flatten)]
    pub(crate) calls: Outcomes,
    /// The code of its newest refusal.
    pub(crate) code: Option<String>,
    /// When its first entry was written, in milliseconds since 1970.
    pub(crate) first_ms: u64,
    /// When its last entry was written, in milliseconds since 1970.
    pub(crate) last_ms: u64,
    /// Its newest entry.
    pub(crate) last_index: u64,
}

/// A session in a line.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct SessionSummary {
    /// The session.
    pub(crate) session: String,
    /// The agents that proposed its calls; at most 8.
    pub(crate) agents: Vec<String>,
    /// Its runs, oldest first; at most 8.
    pub(crate) runs: Vec<String>,
    /// How many calls went how.
    #[serde(flatten)]
    pub(crate) calls: Outcomes,
    /// When its first call ended, in milliseconds since 1970.
    pub(crate) first_ms: u64,
    /// When its last call ended, in milliseconds since 1970.
    pub(crate) last_ms: u64,
    /// Its newest entry.
    pub(crate) last_index: u64,
}

/// How long a name may be that is kept here, in bytes.
pub(super) const LENGTH: usize = 512;

/// Adds a name to a short list of them.
pub(super) fn add_name(all: &mut Vec<String>, name: Option<&str>) {
    if let Some(name) = name
        && name.len() <= LENGTH
        && all.len() < NAMED
        && !all.iter().any(|one| one == name)
    {
        all.push(name.to_owned());
    }
}
