//! A run: its calls in time, and what they reached.
//!
//! INVARIANT: work is bounded whatever a run holds, and what was left out is said.

use ringfence::audit::{Filter, Stored};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::fault::Fault;
use super::super::front::Front;
use super::reach::{Connected, Edge, Process, Reach, Touch};
use super::time::{Moment, micros};

/// How many calls are read, how many at once, and how many of them are drawn.
const READ: usize = 2000;
const BATCH: usize = 200;
pub(crate) const DRAWN: usize = 200;
/// How many connections and steps of servers are read.
const MORE: usize = 500;
/// How many things that were touched are listed.
const LISTED: usize = 500;

/// A run.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct RunView {
    /// The run.
    pub(crate) run: String,
    /// When its first entry was written, in milliseconds since 1970.
    pub(crate) first_ms: u64,
    /// When its last entry was written, in milliseconds since 1970.
    pub(crate) last_ms: u64,
    /// Who proposed its calls.
    pub(crate) agents: Vec<String>,
    /// The personalities it was decided under.
    pub(crate) personalities: Vec<String>,
    /// The session.
    pub(crate) session: Option<String>,
    /// How many calls were done.
    pub(crate) done: u64,
    /// How many calls failed.
    pub(crate) failed: u64,
    /// How many calls were refused, before their tool ran or by the fence while it ran.
    pub(crate) refused: u64,
    /// Whether there are older calls, which are in none of these figures.
    pub(crate) has_older: bool,
    /// The newest calls, in the order they began; at most 200.
    pub(crate) calls: Vec<Bar>,
    /// What was touched or refused, what was refused first; at most 500.
    pub(crate) reach: Vec<Edge>,
    /// How many things that were touched are not listed; where records were cut themselves, it is more.
    pub(crate) reach_left_out: u64,
}

/// A call in time.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Bar {
    /// Its entry.
    pub(crate) index: u64,
    /// The tool.
    pub(crate) tool: String,
    /// `done`, `failed` or `refused`.
    pub(crate) outcome: String,
    /// The code of what was not done.
    pub(crate) code: Option<String>,
    /// When it began, in microseconds since 1970.
    pub(crate) start_us: u64,
    /// How long it took, in microseconds.
    pub(crate) duration_us: u64,
}

impl Bar {
    /// Says how long it took.
    pub(crate) fn duration(&self) -> String {
        micros(self.duration_us)
    }
}

/// What is read of the record of a call, or of a connection.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallHead {
    outcome: String,
    /// The code of what the fence refused a tool before it failed.
    refused: Option<String>,
    session: Option<String>,
    proposer: Option<String>,
    personality: Option<String>,
    duration_us: u64,
    processes: Vec<Process>,
    connections: Vec<Connected>,
    connections_left_out: u64,
    touched: Vec<Touch>,
    touched_left_out: u64,
}

/// What is read of a step of a server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ServerHead {
    server: String,
    step: String,
    about: serde_json::Value,
}

impl RunView {
    /// Reads a run.
    pub(crate) async fn read(front: &Front, run: &str) -> Result<Self, Fault> {
        let log = &*front.store.log;
        let all = Filter { run: Some(run.to_owned()), light: true, ..Filter::default() };
        let first = log.entries(&all, 0, 1).await?;
        let first =
            first.first().ok_or_else(|| Fault::missing(format!("nothing is known of a run `{run}`")))?;
        let last_ms = log.newest(&all, 1).await?.last().map_or(first.at, |last| last.at);
        let mut view = Self {
            run: run.to_owned(),
            first_ms: first.at,
            last_ms,
            agents: Vec::new(),
            personalities: Vec::new(),
            session: None,
            done: 0,
            failed: 0,
            refused: 0,
            has_older: false,
            calls: Vec::new(),
            reach: Vec::new(),
            reach_left_out: 0,
        };
        let mut reach = Reach::default();
        let mut below = None;
        for round in 0..READ / BATCH {
            let filter = Filter { kind: Some("call".to_owned()), below, ..all.clone() };
            let batch = log.newest(&filter, BATCH).await?;
            batch.iter().rev().for_each(|stored| view.call(stored, &mut reach));
            below = batch.first().map(|oldest| oldest.index);
            if batch.len() < BATCH {
                break;
            }
            view.has_older = round + 1 == READ / BATCH;
        }
        view.calls.sort_by_key(|call| (call.start_us, call.index));
        for kind in ["connection", "server"] {
            let filter = Filter { kind: Some(kind.to_owned()), ..all.clone() };
            log.newest(&filter, MORE).await?.iter().for_each(|stored| connected(stored, &mut reach));
        }
        view.reach = reach.edges();
        view.reach_left_out += view.reach.len().saturating_sub(LISTED) as u64;
        view.reach.truncate(LISTED);
        Ok(view)
    }

    /// Adds a call, newest first.
    fn call(&mut self, stored: &Stored, reach: &mut Reach) {
        let head: CallHead = serde_json::from_str(&stored.record).unwrap_or_default();
        // Records of earlier versions have no field for it; the code that the call failed with says it where a handle refused.
        let refused = head.refused.is_some() || stored.code.as_deref().is_some_and(is_reach_refusal);
        let outcome = if head.outcome == "failed" && refused { "refused" } else { head.outcome.as_str() };
        match outcome {
            "done" => self.done += 1,
            "refused" => self.refused += 1,
            _ => self.failed += 1,
        }
        let outcome = outcome.to_owned();
        let add = |all: &mut Vec<String>, one: Option<String>| {
            if let Some(one) = one.filter(|one| !all.contains(one)) {
                all.push(one);
            }
        };
        add(&mut self.agents, head.proposer);
        add(&mut self.personalities, head.personality);
        self.session = self.session.take().or(head.session);
        self.reach_left_out += head.touched_left_out.max(head.connections_left_out);
        let tool = stored.tool.clone().unwrap_or_default();
        for touch in head.touched {
            reach.add(&tool, touch);
        }
        head.connections.iter().for_each(|connection| reach.add(&tool, connection.touch()));
        head.processes.iter().for_each(|process| reach.add(&tool, process.touch()));
        if self.calls.len() < DRAWN {
            // A call is written down when it has ended.
            let start_us = stored.at.saturating_mul(1000).saturating_sub(head.duration_us);
            self.calls.push(Bar {
                index: stored.index,
                tool,
                outcome,
                code: stored.code.clone(),
                start_us,
                duration_us: head.duration_us,
            });
        }
    }

    /// Returns when it began.
    pub(crate) const fn first(&self) -> Moment {
        Moment(self.first_ms)
    }

    /// Returns when something last happened.
    pub(crate) const fn last(&self) -> Moment {
        Moment(self.last_ms)
    }

    /// Returns how many calls were read.
    pub(crate) const fn total(&self) -> u64 {
        self.done + self.failed + self.refused
    }
}

/// Tells whether a code says that the fence refused something.
fn is_reach_refusal(code: &str) -> bool {
    ringfence::Code::ALL.into_iter().any(|known| known.is_reach_refusal() && known.as_str() == code)
}

/// Adds a connection of a call, or of a server.
fn connected(stored: &Stored, reach: &mut Reach) {
    if stored.kind == "connection" {
        let connection: Connected = serde_json::from_str(&stored.record).unwrap_or_default();
        reach.add(stored.tool.as_deref().unwrap_or_default(), connection.touch());
        return;
    }
    let head: ServerHead = serde_json::from_str(&stored.record).unwrap_or_default();
    if head.step == "connection" {
        let connection: Connected = serde_json::from_value(head.about).unwrap_or_default();
        reach.add(&format!("server {}", head.server), connection.touch());
    }
}
