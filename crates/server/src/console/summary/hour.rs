//! What happened in an hour.

use std::collections::BTreeMap;

use super::run::Outcomes;
use crate::console::live::STEPS;

/// How long an hour is, in milliseconds.
pub(crate) const HOUR_MS: u64 = 60 * 60 * 1000;
/// How many tools and how many codes of an hour are told apart, and how long their names may be, in bytes. Agents choose names of tools
/// that nobody knows.
const NAMES: usize = 100;
const LENGTH: usize = 128;
/// What the rest is counted under.
const OTHER: &str = "other";

/// What happened in an hour, or in several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hour {
    /// How many calls went how.
    pub(crate) calls: Outcomes,
    /// How many calls and connections were refused, by code.
    pub(crate) refusals: BTreeMap<String, u64>,
    /// How many calls were made, by tool.
    pub(crate) tools: BTreeMap<String, u64>,
    /// How many calls took how long, by the steps of the health page; the last step has no end.
    took: [u64; STEPS.len() + 1],
}

impl Hour {
    /// Counts a call. `took_us` is without the time in which it waited for people.
    pub(super) fn add_call(&mut self, tool: &str, outcome: &str, took_us: u64) {
        self.calls.add(outcome);
        add(&mut self.tools, tool);
        let step = STEPS.iter().position(|end| took_us <= *end).unwrap_or(STEPS.len());
        if let Some(count) = self.took.get_mut(step) {
            *count += 1;
        }
    }

    /// Counts a refusal.
    pub(super) fn add_refusal(&mut self, code: &str) {
        add(&mut self.refusals, code);
    }

    /// Adds another hour to it.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.calls.done += other.calls.done;
        self.calls.failed += other.calls.failed;
        self.calls.refused += other.calls.refused;
        for (own, more) in [(&mut self.refusals, &other.refusals), (&mut self.tools, &other.tools)] {
            for (name, count) in more {
                *own.entry(name.clone()).or_default() += count;
            }
        }
        self.took.iter_mut().zip(other.took).for_each(|(own, more)| *own += more);
    }

    /// Returns the time within which so many of a hundred calls ended, in microseconds; nothing where there were none. What took
    /// longer than the last step counts as that long.
    pub(crate) fn within(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.took.iter().sum();
        let wanted = (all * percent).div_ceil(100);
        let mut sum = 0;
        let step = self.took.iter().position(|count| {
            sum += count;
            all > 0 && sum >= wanted
        })?;
        STEPS.get(step).or(STEPS.last()).copied()
    }
}

fn add(names: &mut BTreeMap<String, u64>, name: &str) {
    let is_told = name.len() <= LENGTH && (names.len() < NAMES || names.contains_key(name));
    let name = if is_told { name } else { OTHER };
    match names.get_mut(name) {
        Some(count) => *count += 1,
        None => drop(names.insert(name.to_owned(), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_counts_and_is_bounded() {
        let mut hour = Hour::default();
        assert_eq!(hour.within(95), None);
        for number in 0..300_u64 {
            hour.add_call(&format!("tool-{number}"), "done", 700);
        }
        hour.add_call(&"slow".repeat(40), "refused", u64::MAX);
        hour.add_refusal("FORBIDDEN");
        let mut both = hour.clone();
        both.merge(&hour);
        assert_eq!((both.calls.done, both.calls.refused, both.calls.total()), (600, 2, 602));
        assert_eq!((both.tools.len(), both.tools["other"]), (NAMES + 1, 402));
        assert_eq!((both.within(50), both.within(100)), (Some(1_000), Some(60_000_000)));
        assert_eq!(both.refusals["FORBIDDEN"], 2);
    }
}
