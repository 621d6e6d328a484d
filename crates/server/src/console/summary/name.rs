//! The names that entries are filed under, for suggestions and for filters that give only the beginning of a name.

use std::collections::HashMap;

use ringfence::audit::{Filter, Stored};

/// How many names of a column are remembered.
const NAMES: usize = 20_000;
/// How long a name may be that is remembered, in bytes.
const LENGTH: usize = 512;

/// A column of the log that is filtered by name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Column {
    /// The code of what was not done.
    Code,
    /// The host that was reached or refused.
    Host,
    /// The person, or the agent that proposed a call.
    Principal,
    /// The run.
    Run,
    /// The tool.
    Tool,
}

impl Column {
    pub(crate) const ALL: [Self; 5] = [Self::Code, Self::Host, Self::Principal, Self::Run, Self::Tool];

    /// Returns the name of its field in a query.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Host => "host",
            Self::Principal => "principal",
            Self::Run => "run",
            Self::Tool => "tool",
        }
    }

    /// Returns what an entry has in it.
    pub(crate) fn of(self, stored: &Stored) -> Option<&str> {
        let own = match self {
            Self::Code => &stored.code,
            Self::Host => &stored.host,
            Self::Principal => &stored.principal,
            Self::Run => &stored.run,
            Self::Tool => &stored.tool,
        };
        own.as_deref()
    }

    /// Returns the field of a filter.
    pub(crate) const fn field(self, filter: &mut Filter) -> &mut Option<String> {
        match self {
            Self::Code => &mut filter.code,
            Self::Host => &mut filter.host,
            Self::Principal => &mut filter.principal,
            Self::Run => &mut filter.run,
            Self::Tool => &mut filter.tool,
        }
    }
}

/// The names of every column, with the entry that had each of them last.
#[derive(Debug, Default)]
pub(crate) struct Names {
    columns: HashMap<Column, HashMap<String, u64>>,
    /// The entry from which on no name was forgotten.
    complete_from: u64,
}

impl Names {
    /// Adds the names of an entry.
    pub(super) fn add(&mut self, stored: &Stored) {
        for column in Column::ALL {
            let Some(name) = column.of(stored) else { continue };
            if name.len() > LENGTH {
                self.complete_from = self.complete_from.max(stored.index + 1);
                continue;
            }
            let names = self.columns.entry(column).or_default();
            match names.get_mut(name) {
                Some(last) => *last = stored.index,
                None => drop(names.insert(name.to_owned(), stored.index)),
            }
            if names.len() > NAMES {
                // A quarter at once, so that it is rare.
                let mut lasts: Vec<u64> = names.values().copied().collect();
                lasts.sort_unstable();
                let oldest = lasts.get(NAMES / 4).copied().unwrap_or(0);
                names.retain(|_, last| *last >= oldest);
                self.complete_from = self.complete_from.max(oldest);
            }
        }
    }

    /// Returns the entry from which on every name is known.
    pub(crate) const fn complete_from(&self) -> u64 {
        self.complete_from
    }

    /// Says whether an entry has this name.
    pub(crate) fn has(&self, column: Column, name: &str) -> bool {
        self.columns.get(&column).is_some_and(|names| names.contains_key(name))
    }

    /// Returns the names that begin with a text, up to `most` of them, in no order.
    pub(crate) fn starting(&self, column: Column, start: &str, most: usize) -> Vec<String> {
        let names = self.columns.get(&column).into_iter().flatten();
        names.filter(|(name, _)| name.starts_with(start)).take(most).map(|(name, _)| name.clone()).collect()
    }

    /// Returns names for somebody who types: those that begin with the text first, then those that hold it, newest first.
    pub(crate) fn suggest(&self, column: Column, text: &str, most: usize) -> Vec<String> {
        let wanted = text.to_lowercase();
        let names = self.columns.get(&column).into_iter().flatten();
        let mut found: Vec<(bool, u64, &String)> = names
            .filter_map(|(name, last)| {
                let lower = name.to_lowercase();
                lower.contains(&wanted).then(|| (!lower.starts_with(&wanted), u64::MAX - last, name))
            })
            .collect();
        found.sort_unstable();
        found.into_iter().take(most).map(|(_, _, name)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, run: &str) -> Stored {
        Stored {
            index,
            at: 0,
            kind: "call".to_owned(),
            run: Some(run.to_owned()),
            tool: None,
            code: None,
            class: None,
            host: None,
            principal: None,
            record: String::new(),
            raw: None,
            clean: None,
        }
    }

    #[test]
    fn names_are_suggested_by_beginning_then_by_part_newest_first() {
        let mut names = Names::default();
        for (index, run) in (0..).zip(["nightly-1", "Pay-1", "weekly-pay", "pay-2", "pay-1"]) {
            names.add(&entry(index, run));
        }
        assert_eq!(names.suggest(Column::Run, "PAY", 9), ["pay-1", "pay-2", "Pay-1", "weekly-pay"]);
        assert_eq!(names.suggest(Column::Run, "", 2), ["pay-1", "pay-2"]);
        assert_eq!(names.suggest(Column::Tool, "", 2), [""; 0]);
        assert!(names.has(Column::Run, "pay-2") && !names.has(Column::Run, "pay"));
        let mut found = names.starting(Column::Run, "pay-", 9);
        found.sort_unstable();
        assert_eq!(found, ["pay-1", "pay-2"]);
    }

    #[test]
    fn no_more_names_are_kept_than_there_is_room_for_and_it_is_said() {
        let mut names = Names::default();
        for index in 0..=20_000 {
            names.add(&entry(index, &format!("run-{index}")));
        }
        assert!(names.columns[&Column::Run].len() <= NAMES);
        assert!(!names.has(Column::Run, "run-0") && names.has(Column::Run, "run-20000"));
        assert_eq!(names.complete_from(), 5_000);
        names.add(&entry(30_000, &"x".repeat(513)));
        assert_eq!(names.complete_from(), 30_001);
    }
}
