//! Entries of the log, over the API.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::export;
use super::super::fault::Fault;
use super::super::front::Front;
use super::super::summary::Column;
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

/// Which names are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct NameQuery {
    /// `code`, `host`, `principal`, `run` or `tool`.
    field: String,
    /// What the name begins with, or holds.
    text: String,
}

/// Names.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct NameList {
    /// Those that begin with the text first, newest first; at most 20.
    names: Vec<String>,
}

/// How many names are suggested.
const SUGGESTED: usize = 20;

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
        Endpoint::get("/api/v1/entries/export.csv", "Export the entries that fit as CSV", Role::Approver)
            .wants::<RowQuery>()
            .streams("text/csv", export::csv),
        Endpoint::get(
            "/api/v1/entries/export.jsonl",
            "Export the entries that fit as lines of JSON",
            Role::Approver,
        )
        .wants::<RowQuery>()
        .streams("application/jsonl", export::jsonl),
        Endpoint::get("/api/v1/names", "Suggest names that entries are filed under", Role::Viewer)
            .wants::<NameQuery>()
            .answers::<NameList, _, _>(names),
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

async fn names(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<NameQuery>,
) -> Result<Json<NameList>, Fault> {
    let column = Column::ALL.into_iter().find(|column| column.as_str() == query.field);
    let column =
        column.ok_or_else(|| Fault::input("the field is `code`, `host`, `principal`, `run` or `tool`"))?;
    front.summary.catch_up().await?;
    let names = front.summary.count().names().suggest(column, &query.text, SUGGESTED);
    Ok(Json(NameList { names }))
}
