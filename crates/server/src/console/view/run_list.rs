//! Runs and sessions, newest first, a page at a time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::enter::encode;
use super::super::fault::Fault;
use super::super::front::{Front, now};
use super::super::summary::{Coverage, RunSummary, SessionSummary};
use super::time::{self, Moment};

/// How many a page has.
const PAGE: usize = 50;

/// Which runs or sessions are wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct RunQuery {
    /// A part of the name, in upper or lower case.
    pub(crate) text: Option<String>,
    /// The agent.
    pub(crate) agent: Option<String>,
    /// The session, in full.
    pub(crate) session: Option<String>,
    /// `refused` or `failed` for those with such a call.
    pub(crate) result: Option<String>,
    /// Something happened from then on: `2026-03-01T12:30` in UTC, `2h` ago, or milliseconds since 1970.
    pub(crate) since: Option<String>,
    /// They began before then, written the same way.
    pub(crate) until: Option<String>,
    /// The page, from 1 on.
    pub(crate) page: Option<usize>,
}

/// What a run or a session is found by.
struct Found<'a> {
    name: &'a str,
    agents: &'a [String],
    session: Option<&'a str>,
    refused: u64,
    failed: u64,
    first_ms: u64,
    last_ms: u64,
}

impl RunQuery {
    /// Returns what decides whether one is wanted.
    fn filter(&self) -> Result<impl Fn(&Found<'_>) -> bool + use<>, Fault> {
        let given = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let now = u64::try_from(now().as_millis()).unwrap_or(u64::MAX);
        let at = |field: &Option<String>| {
            let wrong = |text: &str| {
                Fault::input(format!("`{text}` is not a time"))
                    .hint("write `2026-03-01T12:30` in UTC, or `15m`, `2h` or `7d` for how long ago")
            };
            given(field).map(|text| time::read(&text, now).ok_or_else(|| wrong(&text))).transpose()
        };
        let (since, until) = (at(&self.since)?, at(&self.until)?);
        let text = given(&self.text).map(|text| text.to_lowercase());
        let (agent, session) = (given(&self.agent), given(&self.session));
        let (refused, failed) = match given(&self.result).as_deref() {
            None => (false, false),
            Some("refused") => (true, false),
            Some("failed") => (false, true),
            Some(_) => return Err(Fault::input("the result is `refused` or `failed`")),
        };
        Ok(move |found: &Found<'_>| {
            text.as_ref().is_none_or(|text| found.name.to_lowercase().contains(text))
                && agent.as_ref().is_none_or(|agent| found.agents.iter().any(|own| own.starts_with(agent)))
                && session.as_deref().is_none_or(|session| found.session == Some(session))
                && (!refused || found.refused > 0)
                && (!failed || found.failed > 0)
                && since.is_none_or(|since| found.last_ms >= since)
                && until.is_none_or(|until| found.first_ms < until)
        })
    }

    fn page(&self) -> usize {
        self.page.unwrap_or(1).clamp(1, 10_000)
    }

    /// Writes the same query for another page.
    pub(crate) fn on_page(&self, page: u64) -> String {
        let fields = [
            ("text", &self.text),
            ("agent", &self.agent),
            ("session", &self.session),
            ("result", &self.result),
            ("since", &self.since),
            ("until", &self.until),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| {
            let value = value.as_deref().filter(|value| !value.is_empty())?;
            Some(format!("{name}={}&", encode(value)))
        });
        format!("{}page={page}", given.collect::<String>())
    }

    /// Returns a field as a form shows it.
    pub(crate) fn given(field: &Option<String>) -> &str {
        field.as_deref().unwrap_or_default()
    }
}

/// A page of runs or of sessions.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "{T}List")]
pub(crate) struct Listed<T> {
    /// Those of this page, newest first.
    pub(crate) listed: Vec<T>,
    /// How many there are on all pages.
    pub(crate) total: u64,
    /// This page, from 1 on.
    pub(crate) page: u64,
    /// How many pages there are.
    pub(crate) pages: u64,
    /// The first entry of the log that is counted.
    pub(crate) counted_from: u64,
    /// Whether every entry since then is counted; otherwise ask again in a moment.
    pub(crate) complete: bool,
}

pub(crate) type RunList = Listed<RunSummary>;
pub(crate) type SessionList = Listed<SessionSummary>;

impl<T: Clone> Listed<T> {
    fn new(mut all: Vec<&T>, query: &RunQuery, last: impl Fn(&T) -> u64, coverage: Coverage) -> Self {
        all.sort_by_key(|one| std::cmp::Reverse(last(one)));
        let pages = all.len().div_ceil(PAGE).max(1);
        let page = query.page().min(pages);
        Self {
            total: all.len() as u64,
            listed: all.into_iter().skip((page - 1) * PAGE).take(PAGE).cloned().collect(),
            page: page as u64,
            pages: pages as u64,
            counted_from: coverage.first,
            complete: coverage.is_complete(),
        }
    }
}

impl RunList {
    /// Reads a page of runs.
    pub(crate) async fn read(front: &Front, query: &RunQuery) -> Result<Self, Fault> {
        let wanted = query.filter()?;
        let coverage = front.summary.catch_up().await?;
        let count = front.summary.count();
        let fits = |run: &&RunSummary| {
            wanted(&Found {
                name: &run.run,
                agents: &run.agents,
                session: run.session.as_deref(),
                refused: run.calls.refused,
                failed: run.calls.failed,
                first_ms: run.first_ms,
                last_ms: run.last_ms,
            })
        };
        Ok(Self::new(count.runs().filter(fits).collect(), query, |run| run.last_index, coverage))
    }
}

impl SessionList {
    /// Reads a page of sessions.
    pub(crate) async fn read(front: &Front, query: &RunQuery) -> Result<Self, Fault> {
        let wanted = query.filter()?;
        let coverage = front.summary.catch_up().await?;
        let count = front.summary.count();
        let fits = |one: &&SessionSummary| {
            wanted(&Found {
                name: &one.session,
                agents: &one.agents,
                session: Some(&one.session),
                refused: one.calls.refused,
                failed: one.calls.failed,
                first_ms: one.first_ms,
                last_ms: one.last_ms,
            })
        };
        Ok(Self::new(count.sessions().filter(fits).collect(), query, |one| one.last_index, coverage))
    }
}

impl RunSummary {
    /// Returns the address of its page.
    pub(crate) fn href(&self) -> String {
        format!("/runs/{}", encode(&self.run))
    }

    /// Returns the address of its session.
    pub(crate) fn session_href(&self) -> String {
        format!("/runs?session={}", encode(self.session.as_deref().unwrap_or_default()))
    }

    /// Returns when something last happened.
    pub(crate) const fn last(&self) -> Moment {
        Moment(self.last_ms)
    }

    /// Says how long it was from its first to its last entry.
    pub(crate) fn length(&self) -> String {
        length(self.first_ms, self.last_ms)
    }
}

impl SessionSummary {
    /// Returns the address of its runs.
    pub(crate) fn href(&self) -> String {
        format!("/runs?session={}", encode(&self.session))
    }

    /// Returns when its last call ended.
    pub(crate) const fn last(&self) -> Moment {
        Moment(self.last_ms)
    }

    /// Says how long it was from its first to its last call.
    pub(crate) fn length(&self) -> String {
        length(self.first_ms, self.last_ms)
    }
}

fn length(first_ms: u64, last_ms: u64) -> String {
    time::lasting(std::time::Duration::from_millis(last_ms.saturating_sub(first_ms)))
}
