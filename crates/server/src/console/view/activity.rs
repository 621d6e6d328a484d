//! A page of the activity: the newest entries that fit, and where to go on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::fault::Fault;
use super::super::front::Front;
use super::{Plan, Row, RowQuery};

/// How many rows a page has.
pub(crate) const USUAL: usize = 100;
/// How many rows are returned at most.
pub(crate) const MOST: usize = 500;

/// Entries, newest first.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Rows {
    /// The entries, newest first.
    pub(crate) rows: Vec<Row>,
    /// Give this as `below` for those before them; absent where there are none.
    pub(crate) older: Option<u64>,
    /// The index of the first entry that was written after this was read: give it as `from` to go on.
    pub(crate) next: u64,
}

impl Rows {
    /// Reads the newest entries that fit.
    pub(crate) async fn read(front: &Front, query: &RowQuery, most: usize) -> Result<Self, Fault> {
        let most = most.clamp(1, MOST);
        let plan = Plan::new(front, query).await?;
        // What is written while this is read comes with the feed, so that nothing is shown twice or never.
        let next = front.store.log.size().await?;
        let found = plan.read(&*front.store.log, next, most).await?;
        Ok(Self { rows: found.entries.iter().map(Row::of).collect(), older: found.older, next })
    }
}
