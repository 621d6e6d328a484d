//! Searching the log for a text, a window at a time.
//!
//! INVARIANT: nothing is filed by its text, so that no more than [`WINDOW`] entries are read for one answer, which says where to
//! go on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::fault::Fault;
use super::super::front::Front;
use super::{Plan, Row, RowQuery};

/// How many entries are searched for a text at once.
pub(crate) const WINDOW: u64 = 20_000;
/// How many entries are shown at once.
const MOST: usize = 100;

/// A text that entries must hold.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct TextQuery {
    /// The record holds this text, byte for byte.
    pub(crate) text: Option<String>,
}

/// Which entries are wanted, as the API takes it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it describes what is read as the two parts it is made of")]
pub(crate) struct SearchQuery {
    #[schemars(flatten)]
    rows: RowQuery,
    #[schemars(flatten)]
    text: TextQuery,
}

/// What a search found.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct SearchResult {
    /// The entries, newest first.
    pub(crate) rows: Vec<Row>,
    /// The lowest index that was looked at.
    pub(crate) reached: u64,
    /// Give this as `below` to go on further back; absent where the start of the log was reached.
    pub(crate) below: Option<u64>,
}

/// Searches the newest entries below `below`.
pub(crate) async fn search(front: &Front, rows: &RowQuery, text: &TextQuery) -> Result<SearchResult, Fault> {
    let plan = Plan::new(front, rows).await?;
    let size = front.store.log.size().await?;
    let Some(text) = text.text.clone().filter(|text| !text.is_empty()) else {
        let end = rows.below.unwrap_or(size).min(size);
        let found = plan.read(&*front.store.log, end, MOST).await?;
        let (below, reached) = (found.older, found.older.or(rows.from).unwrap_or(0));
        return Ok(SearchResult { rows: found.entries.iter().map(Row::of).collect(), reached, below });
    };
    let mut filter = plan.filter().clone();
    filter.text = Some(text);
    let end = filter.below.unwrap_or(size).min(size);
    let first = filter.from.unwrap_or(0);
    let start = end.saturating_sub(WINDOW).max(first);
    (filter.from, filter.below) = (Some(start), Some(end));
    let found = if start < end { front.store.log.newest(&filter, MOST).await? } else { Vec::new() };
    // Where a page is full, what is before its oldest entry was not looked at.
    let reached =
        if found.len() == MOST { found.first().map_or(start, |oldest| oldest.index) } else { start };
    let below = (reached > first).then_some(reached);
    let found = found.iter().rev().filter(|stored| plan.fits(stored));
    Ok(SearchResult { rows: found.map(Row::of).collect(), reached, below })
}
