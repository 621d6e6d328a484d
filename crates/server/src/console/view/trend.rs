//! What happened over time: calls, refusals by code, latency, and what grew.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::fault::Fault;
use super::super::front::{Front, now};
use super::super::summary::{HOUR_MS, Hour};
use super::time::Moment;

/// How many tools and codes are compared.
const COMPARED: usize = 20;

/// Which time is wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct TrendQuery {
    /// `24h`, `7d` or `30d`; `24h` when absent.
    pub(crate) range: Option<String>,
}

/// A time that can be looked at: its name, how it is said, how many hours it has, and how many of them a bar has.
pub(crate) const RANGES: [(&str, &str, u64, u64); 3] =
    [("24h", "24 hours", 24, 1), ("7d", "7 days", 7 * 24, 6), ("30d", "30 days", 30 * 24, 24)];

/// What happened over time.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Trend {
    /// `24h`, `7d` or `30d`.
    pub(crate) range: String,
    /// The parts of that time, oldest first.
    pub(crate) slots: Vec<TrendSlot>,
    /// All of that time.
    pub(crate) total: TrendSlot,
    /// The time of the same length before it.
    pub(crate) before: TrendSlot,
    /// Tools and codes with the largest changes first; at most 20.
    pub(crate) changes: Vec<Change>,
    /// The first entry of the log that is counted.
    pub(crate) counted_from: u64,
    /// Whether every entry since then is counted; otherwise ask again in a moment.
    pub(crate) complete: bool,
}

/// What happened in a part of a time.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct TrendSlot {
    /// When it begins, in milliseconds since 1970.
    pub(crate) start_ms: u64,
    /// How many calls were done.
    pub(crate) done: u64,
    /// How many calls failed.
    pub(crate) failed: u64,
    /// How many calls were refused.
    pub(crate) refused: u64,
    /// How many calls and connections were refused, by code.
    pub(crate) refusals: BTreeMap<String, u64>,
    /// Half of the calls took at most this many microseconds, without waiting for people; absent where there were none.
    pub(crate) p50_us: Option<u64>,
    /// 95 of 100 calls took at most this many microseconds.
    pub(crate) p95_us: Option<u64>,
}

/// How often a tool was called, or a code was given, compared with the time before.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Change {
    /// `tool` or `code`.
    pub(crate) kind: String,
    /// Its name.
    pub(crate) name: String,
    /// How often in the time before.
    pub(crate) before: u64,
    /// How often in this time.
    pub(crate) now: u64,
}

impl Change {
    /// Says how much it changed, in percent where there was something before.
    pub(crate) fn difference(&self) -> String {
        match self.before {
            0 => "new".to_owned(),
            _ if self.now == self.before => "0 %".to_owned(),
            before => {
                let part = self.now.abs_diff(before).saturating_mul(100) / before;
                let sign = if self.now > before { '+' } else { '−' };
                format!("{sign}{part} %")
            }
        }
    }

    /// Returns the address of the entries it counts.
    pub(crate) fn href(&self, range: &str) -> String {
        format!("/activity?{}={}&since={range}", self.kind, super::super::enter::encode(&self.name))
    }
}

impl TrendSlot {
    fn new(start: u64, hour: &Hour) -> Self {
        Self {
            start_ms: start * HOUR_MS,
            done: hour.calls.done,
            failed: hour.calls.failed,
            refused: hour.calls.refused,
            refusals: hour.refusals.clone(),
            p50_us: hour.within(50),
            p95_us: hour.within(95),
        }
    }

    /// Returns how many calls there were.
    pub(crate) const fn calls(&self) -> u64 {
        self.done + self.failed + self.refused
    }

    /// Returns how often something was refused.
    pub(crate) fn refusals_total(&self) -> u64 {
        self.refusals.values().sum()
    }

    /// Returns when it begins.
    pub(crate) const fn start(&self) -> Moment {
        Moment(self.start_ms)
    }
}

impl Trend {
    /// Reads what happened.
    pub(crate) async fn read(front: &Front, query: &TrendQuery) -> Result<Self, Fault> {
        let wanted = query.range.as_deref().filter(|range| !range.is_empty()).unwrap_or("24h");
        let found = RANGES.into_iter().find(|(name, ..)| *name == wanted);
        let (range, _, hours, step) =
            found.ok_or_else(|| Fault::input("the range is `24h`, `7d` or `30d`"))?;
        let coverage = front.summary.catch_up().await?;
        let this_hour = u64::try_from(now().as_millis()).unwrap_or(u64::MAX) / HOUR_MS;
        // The parts end where hours, quarters of a day and days do, and the last one has begun.
        let end = (this_hour + 1).next_multiple_of(step);
        let start = end.saturating_sub(hours);
        let count = front.summary.count();
        let slots = (start..end).step_by(usize::try_from(step).unwrap_or(1));
        let slots = slots.map(|slot| TrendSlot::new(slot, &count.hours(slot..slot + step))).collect();
        let (total, before) = (count.hours(start..end), count.hours(start.saturating_sub(hours)..start));
        let mut changes = changes("tool", &before.tools, &total.tools);
        changes.extend(self::changes("code", &before.refusals, &total.refusals));
        changes.sort_by_key(|change| {
            (std::cmp::Reverse(change.now.abs_diff(change.before)), change.name.clone())
        });
        changes.truncate(COMPARED);
        Ok(Self {
            range: range.to_owned(),
            slots,
            total: TrendSlot::new(start, &total),
            before: TrendSlot::new(start.saturating_sub(hours), &before),
            changes,
            counted_from: coverage.first,
            complete: coverage.is_complete(),
        })
    }
}

fn changes(kind: &str, before: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> Vec<Change> {
    let mut names: Vec<&String> = before.keys().chain(now.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let count = |all: &BTreeMap<String, u64>, name: &String| all.get(name).copied().unwrap_or(0);
    let all = names.into_iter().map(|name| Change {
        kind: kind.to_owned(),
        name: name.clone(),
        before: count(before, name),
        now: count(now, name),
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_in_percent() {
        for (before, now, expected) in
            [(0, 5, "new"), (4, 4, "0 %"), (4, 6, "+50 %"), (4, 1, "−75 %"), (3, 0, "−100 %")]
        {
            let change = Change { kind: "tool".to_owned(), name: "a b".to_owned(), before, now };
            assert_eq!(change.difference(), expected);
            assert_eq!(change.href("7d"), "/activity?tool=a%20b&since=7d");
        }
    }
}
