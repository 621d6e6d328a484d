//! Entries of the log, over the API.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::fault::Fault;
use super::super::front::Front;
use super::super::view::{PAGE, Row, RowQuery, Rows, json};
use super::{Endpoint, Index, Json, Wanted};

/// How many entries are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct MostQuery {
    /// How many at most, newest first: 1 to 500, 100 when absent.
    most: Option<usize>,
}

/// Which entries are wanted.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it describes what is read as the two parts it is made of")]
pub(crate) struct EntriesQuery {
    #[schemars(flatten)]
    rows: RowQuery,
    #[schemars(flatten)]
    most: MostQuery,
}

/// One entry.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct Entry {
    /// The entry in a line.
    #[serde(flatten)]
    row: Row,
    /// The record itself, which the tree of the log is over.
    record: Value,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/entries", "List entries of the log, newest first", Role::Viewer)
            .wants::<EntriesQuery>()
            .answers::<Rows, _, _>(list),
        Endpoint::get("/api/v1/entries/{index}", "Show an entry of the log", Role::Viewer)
            .answers::<Entry, _, _>(show),
    ]
}

async fn list(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<RowQuery>,
    Wanted(most): Wanted<MostQuery>,
) -> Result<Json<Rows>, Fault> {
    Ok(Json(Rows::read(&front, &query, most.most.unwrap_or(PAGE)).await?))
}

async fn show(State(front): State<Arc<Front>>, Index(index): Index) -> Result<Json<Entry>, Fault> {
    let stored = front.store.log.entry(index).await?;
    let stored = stored.ok_or_else(|| Fault::missing(format!("there is no entry {index}")))?;
    Ok(Json(Entry { row: Row::of(&stored), record: json::read(&stored.record) }))
}
