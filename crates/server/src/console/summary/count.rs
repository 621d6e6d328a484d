//! Counting entries, one after the other.

use std::collections::{BTreeMap, HashMap};

use ringfence::audit::Stored;
use serde::Deserialize;

use super::hour::{HOUR_MS, Hour};
use super::name::Names;
use super::run::{LENGTH, RunSummary, SessionSummary, add_name};

/// How many runs, and how many sessions, are remembered.
const REMEMBERED: usize = 20_000;
/// How many hours are remembered: a quarter of a year.
const HOURS: usize = 92 * 24;

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct Count {
    first: u64,
    next: u64,
    begun: bool,
    runs: HashMap<String, RunSummary>,
    sessions: HashMap<String, SessionSummary>,
    hours: BTreeMap<u64, Hour>,
    names: Names,
}

/// What is read of a record.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    outcome: Option<String>,
    verdict: Option<String>,
    /// The code of what the fence refused the tool before it failed.
    refused: Option<String>,
    session: Option<String>,
    duration_us: u64,
    stages: Stages,
}

/// How long people were asked, in microseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stages {
    approval: u64,
}

impl Count {
    /// Returns where to read on in a log of this size. A log that is shorter than what was read is another one.
    pub(super) fn begin(&mut self, size: u64, first: u64) -> u64 {
        if !self.begun || size < self.next {
            *self = Self { first, next: first, begun: true, ..Self::default() };
        }
        self.next
    }

    pub(super) fn advance(&mut self, next: u64) {
        self.next = next;
    }

    /// Counts an entry.
    pub(super) fn add(&mut self, stored: &Stored) {
        self.names.add(stored);
        let head: Head = serde_json::from_str(&stored.record).unwrap_or_default();
        let is_call = stored.kind == "call";
        let outcome = head.outcome.as_deref().filter(|_| is_call);
        let outcome = match outcome {
            Some("failed") if head.refused.is_some() => Some("refused"),
            other => other,
        };
        let is_refused = outcome == Some("refused") || head.verdict.as_deref() == Some("refused");
        if is_call || is_refused {
            let hour = self.hours.entry(stored.at / HOUR_MS).or_default();
            if is_call {
                let took = head.duration_us.saturating_sub(head.stages.approval);
                hour.add_call(stored.tool.as_deref().unwrap_or_default(), outcome.unwrap_or_default(), took);
            }
            if is_refused && let Some(code) = &stored.code {
                hour.add_refusal(code);
            }
            while self.hours.len() > HOURS {
                self.hours.pop_first();
            }
        }
        if let Some(run) = stored.run.as_deref().filter(|run| run.len() <= LENGTH) {
            self.add_run(run, stored, &head, outcome.filter(|_| is_call));
        }
        if let Some(session) = head.session.as_deref().filter(|own| is_call && own.len() <= LENGTH) {
            self.add_session(session, stored, outcome.unwrap_or_default());
        }
    }

    fn add_run(&mut self, run: &str, stored: &Stored, head: &Head, outcome: Option<&str>) {
        if !self.runs.contains_key(run) {
            forget(&mut self.runs, |run| run.last_index);
            let new = RunSummary { run: run.to_owned(), first_ms: stored.at, ..RunSummary::default() };
            self.runs.insert(run.to_owned(), new);
        }
        let Some(own) = self.runs.get_mut(run) else { return };
        own.first_ms = own.first_ms.min(stored.at);
        own.last_ms = own.last_ms.max(stored.at);
        own.last_index = stored.index;
        if stored.kind == "call" {
            own.calls.add(outcome.unwrap_or_default());
            add_name(&mut own.agents, stored.principal.as_deref());
            if head.session.as_ref().is_some_and(|session| session.len() <= LENGTH) {
                own.session.clone_from(&head.session);
            }
            if outcome == Some("refused") {
                own.code.clone_from(&stored.code);
            }
        }
    }

    fn add_session(&mut self, session: &str, stored: &Stored, outcome: &str) {
        if !self.sessions.contains_key(session) {
            forget(&mut self.sessions, |session| session.last_index);
            let new = SessionSummary {
                session: session.to_owned(),
                first_ms: stored.at,
                ..SessionSummary::default()
            };
            self.sessions.insert(session.to_owned(), new);
        }
        let Some(own) = self.sessions.get_mut(session) else { return };
        own.first_ms = own.first_ms.min(stored.at);
        own.last_ms = own.last_ms.max(stored.at);
        own.last_index = stored.index;
        own.calls.add(outcome);
        add_name(&mut own.agents, stored.principal.as_deref());
        add_name(&mut own.runs, stored.run.as_deref());
    }

    /// Returns the first entry that is counted.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// Returns the first entry that is not counted yet.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns the runs, in no order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunSummary> {
        self.runs.values()
    }

    /// Returns the sessions, in no order.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &SessionSummary> {
        self.sessions.values()
    }

    /// Adds up the hours that begin in a range of hours since 1970.
    pub(crate) fn hours(&self, range: std::ops::Range<u64>) -> Hour {
        let mut sum = Hour::default();
        self.hours.range(range).for_each(|(_, hour)| sum.merge(hour));
        sum
    }

    /// Returns the names.
    pub(crate) const fn names(&self) -> &Names {
        &self.names
    }
}

/// Makes room for one more: what was used longest ago goes, a quarter at once.
fn forget<T>(all: &mut HashMap<String, T>, last: impl Fn(&T) -> u64) {
    if all.len() < REMEMBERED {
        return;
    }
    let mut lasts: Vec<u64> = all.values().map(&last).collect();
    lasts.sort_unstable();
    let oldest = lasts.get(REMEMBERED / 4).copied().unwrap_or(0);
    all.retain(|_, one| last(one) >= oldest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: u64, run: &str, record: &str) -> Stored {
        Stored {
            index,
            at: index * 1000,
            kind: "call".to_owned(),
            run: Some(run.to_owned()),
            tool: Some("pay".to_owned()),
            code: record.contains("refused").then(|| "FORBIDDEN".to_owned()),
            class: None,
            host: None,
            principal: Some("agent".to_owned()),
            record: record.to_owned(),
            raw: None,
            clean: None,
        }
    }

    #[test]
    fn calls_are_counted_by_run_session_and_hour_without_waiting_for_people() {
        let mut count = Count::default();
        assert_eq!(count.begin(9, 2), 2);
        count.add(&call(
            2,
            "a",
            r#"{"outcome":"done","session":"s","duration_us":9000000,"stages":{"approval":8999000}}"#,
        ));
        count.add(&call(3, "a", r#"{"outcome":"refused","session":"s"}"#));
        count.add(&call(4, "b", r#"{"outcome":"failed","refused":"FORBIDDEN"}"#));
        count.add(&call(4, "c", "no record"));
        count.advance(5);
        assert_eq!((count.begin(9, 0), count.first()), (5, 2));
        let run = count.runs().find(|run| run.run == "a").unwrap();
        assert_eq!((run.calls.done, run.calls.refused, run.code.as_deref()), (1, 1, Some("FORBIDDEN")));
        assert_eq!((run.first_ms, run.last_ms, run.session.as_deref()), (2000, 3000, Some("s")));
        let session = count.sessions().next().unwrap();
        assert_eq!((session.calls.total(), session.runs.as_slice()), (2, ["a".to_owned()].as_slice()));
        let hour = count.hours(0..1);
        assert_eq!((hour.calls.total(), hour.calls.failed, hour.refusals["FORBIDDEN"]), (4, 1, 2));
        assert_eq!(hour.within(100), Some(1000), "eight seconds of it were a person's");
        assert_eq!(count.begin(4, 0), 0, "a shorter log is another one");
        assert_eq!(count.runs().count(), 0);
    }

    #[test]
    fn no_more_runs_are_kept_than_there_is_room_for() {
        let mut count = Count::default();
        for index in 0..20_001 {
            count.add(&call(index, &format!("run-{index}"), "{}"));
        }
        assert_eq!(count.runs.len(), REMEMBERED - REMEMBERED / 4 + 1);
        assert!(count.runs.contains_key("run-20000") && !count.runs.contains_key("run-0"));
    }
}
