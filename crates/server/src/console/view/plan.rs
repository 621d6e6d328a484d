//! How entries are found whose names were given only by their beginnings.
//!
//! A name that the log has is looked up as it is. Any other text is the beginning of names: each of those that are known is looked
//! up by its index, and the results are merged. Where too many begin like this, or where names may be unknown, the log is walked
//! back from its end, a bounded part for each answer.
//!
//! INVARIANT: entries come newest first, none twice, and none is left out without the answer saying where to go on.

use ringfence::StoreError;
use ringfence::audit::{Filter, Stored};

use super::super::fault::Fault;
use super::super::front::Front;
use super::super::port::AuditLog;
use super::super::summary::Column;
use super::RowQuery;

/// How many names are looked up one by one.
const NAMES: usize = 50;
/// How many entries are read at once where the log is walked, and how often.
const WALKED: usize = 1_000;
const ROUNDS: usize = 20;

/// How entries are found.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What is given in full.
    filter: Filter,
    /// What must begin how. An empty text asks for any name.
    starts: Vec<(Column, String)>,
    /// What is asked of the log, one part after the other.
    parts: Vec<Vec<Filter>>,
}

/// Entries that were found.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The entries, newest first.
    pub(crate) entries: Vec<Stored>,
    /// Everything from this index on was looked at, and there is more before it; absent where there is none.
    pub(crate) older: Option<u64>,
}

impl Plan {
    /// Finds out which names are meant.
    pub(crate) async fn new(front: &Front, query: &RowQuery) -> Result<Self, Fault> {
        let mut filter = query.filter()?;
        let coverage = front.summary.catch_up().await?;
        let (mut starts, mut best) = (Vec::new(), None::<(Column, Vec<String>)>);
        for column in Column::ALL {
            let Some(text) = column.field(&mut filter).clone() else { continue };
            let start = match text.strip_suffix('*') {
                Some(start) => start.to_owned(),
                None if is_name(front, column, &text).await? => continue,
                None => text,
            };
            *column.field(&mut filter) = None;
            let names = front.summary.count().names().starting(column, &start, NAMES + 1);
            if names.len() <= NAMES && best.as_ref().is_none_or(|(_, best)| names.len() < best.len()) {
                best = Some((column, names));
            }
            starts.push((column, start));
        }
        let parts = match best {
            None => vec![vec![filter.clone()]],
            Some((column, names)) => {
                let known = front.summary.count().names().complete_from().max(coverage.first);
                parts(&filter, column, names, known, coverage.next)
            }
        };
        Ok(Self { filter, starts, parts })
    }

    /// Returns what is given in full; the rest is asked of [`Plan::fits`].
    pub(crate) const fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Says whether the names of an entry begin as they must.
    pub(crate) fn fits(&self, stored: &Stored) -> bool {
        self.starts.iter().all(|(column, start)| column.of(stored).is_some_and(|own| own.starts_with(start)))
    }

    /// Reads up to `most` entries below an index.
    pub(crate) async fn read(
        &self,
        log: &dyn AuditLog,
        below: u64,
        most: usize,
    ) -> Result<Batch, StoreError> {
        let wanted = most + 1;
        let (mut found, mut rounds) = (Vec::new(), 0);
        for part in &self.parts {
            let mut end = below;
            loop {
                let is_walk = !self.starts.is_empty() && part.len() == 1;
                let (entries, reached) =
                    merged(log, part, end, if is_walk { WALKED } else { wanted }).await?;
                found.extend(
                    entries.into_iter().filter(|stored| self.fits(stored)).take(wanted - found.len()),
                );
                if found.len() >= wanted {
                    found.truncate(most);
                    let older = found.last().map(|last| last.index);
                    return Ok(Batch { entries: found, older });
                }
                let Some(reached) = reached else { break };
                rounds += 1;
                if rounds >= ROUNDS {
                    return Ok(Batch { entries: found, older: Some(reached) });
                }
                end = reached;
            }
        }
        Ok(Batch { entries: found, older: None })
    }
}

/// Says whether an entry has a name in full.
async fn is_name(front: &Front, column: Column, text: &str) -> Result<bool, StoreError> {
    if front.summary.count().names().has(column, text) {
        return Ok(true);
    }
    let mut filter = Filter { light: true, ..Filter::default() };
    *column.field(&mut filter) = Some(text.to_owned());
    Ok(!front.store.log.newest(&filter, 1).await?.is_empty())
}

/// Asks for names where all of them are known, which is from the entry `known` on and before `counted`, and walks elsewhere.
fn parts(filter: &Filter, column: Column, names: Vec<String>, known: u64, counted: u64) -> Vec<Vec<Filter>> {
    let within = |first: u64, end: u64| {
        let mut own = filter.clone();
        own.from = Some(own.from.unwrap_or(0).max(first));
        own.below = Some(own.below.unwrap_or(u64::MAX).min(end));
        own
    };
    let named = names.into_iter().map(|name| {
        let mut own = within(known, counted);
        *column.field(&mut own) = Some(name);
        own
    });
    let all = [vec![within(counted, u64::MAX)], named.collect(), vec![within(0, known)]];
    let is_some = |part: &Filter| part.from < part.below;
    all.into_iter()
        .map(|part| part.into_iter().filter(is_some).collect())
        .filter(|part: &Vec<_>| !part.is_empty())
        .collect()
}

/// Returns the newest entries of several filters, newest first, and from which index on all of them were looked at; nothing where
/// there are no more.
async fn merged(
    log: &dyn AuditLog,
    filters: &[Filter],
    below: u64,
    most: usize,
) -> Result<(Vec<Stored>, Option<u64>), StoreError> {
    let (mut all, mut reached) = (Vec::new(), None::<u64>);
    for filter in filters {
        let below = filter.below.unwrap_or(u64::MAX).min(below);
        if filter.from.unwrap_or(0) >= below {
            continue;
        }
        let found = log.newest(&Filter { below: Some(below), ..filter.clone() }, most).await?;
        if found.len() >= most {
            let oldest = found.first().map(|oldest| oldest.index);
            reached = reached.max(oldest);
        }
        all.extend(found);
    }
    all.retain(|stored| reached.is_none_or(|reached| stored.index >= reached));
    all.sort_by_key(|stored| std::cmp::Reverse(stored.index));
    Ok((all, reached))
}
