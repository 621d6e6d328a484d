//! What is taken along: the whole log as lines of JSON, what a filter leaves of it, and the proof of one entry.
//!
//! INVARIANT: an export needs no more memory than one page of entries, however large the log is, and begins only once the audit
//! knows who takes it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use ringfence::Role;
use ringfence::audit::{Filter, Note, Stored};
use serde_json::{Value, json};

use super::api::Wanted;
use super::enter::Reply;
use super::fault::Fault;
use super::front::{Caller, Front};
use super::view::{Plan, Row, RowQuery, csv as shown_csv, json as shown};

/// How many entries are read at once, and how many where they come without their outputs.
const PAGE: usize = 32;
const FILTERED: usize = 500;

/// Sends all entries there are at the start.
pub(crate) async fn log(State(front): State<Arc<Front>>, caller: Caller) -> Result<Reply, Fault> {
    caller.at_least(Role::Approver)?;
    let end = front.store.log.size().await?;
    front.keep(&caller, "exported audit", json!({ "entries": end })).await?;
    let pages = stream::try_unfold((front, 0), move |(front, next)| async move {
        if next >= end {
            return Ok(None);
        }
        let page = front.store.log.entries(&Filter::default(), next, PAGE).await;
        let page = page.inspect_err(|error| tracing::warn!("an export was broken off: {error}"))?;
        let Some(last) = page.last().map(|stored| stored.index) else { return Ok(None) };
        let lines: String = page.iter().filter(|stored| stored.index < end).map(line).collect();
        Ok::<_, ringfence::StoreError>(Some((Bytes::from(lines), (front, last + 1))))
    });
    Ok(file(Body::from_stream(pages), "application/jsonl", "ringfence-audit.jsonl"))
}

/// How filtered entries are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    /// Fields for a spreadsheet.
    Csv,
    /// The records themselves.
    Jsonl,
}

/// Sends the entries that fit, newest first, for a spreadsheet.
pub(crate) async fn csv(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<RowQuery>,
) -> Result<Reply, Fault> {
    filtered(front, &caller, &query, Format::Csv).await
}

/// Sends the entries that fit, newest first, as lines of JSON without their outputs.
pub(crate) async fn jsonl(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<RowQuery>,
) -> Result<Reply, Fault> {
    filtered(front, &caller, &query, Format::Jsonl).await
}

/// Sends what a page with the same filter would list on all of its pages.
async fn filtered(
    front: Arc<Front>,
    caller: &Caller,
    query: &RowQuery,
    format: Format,
) -> Result<Reply, Fault> {
    caller.at_least(Role::Approver)?;
    let plan = Plan::new(&front, query).await?;
    // What is written from now on, this export among it, is not part of it.
    let end = front.store.log.size().await?;
    let (kind, extension) = match format {
        Format::Csv => ("text/csv", "csv"),
        Format::Jsonl => ("application/jsonl", "jsonl"),
    };
    let about = json!({ "filter": query.written(), "format": extension });
    front.keep(caller, "exported entries", about).await?;
    let first = Bytes::from_static(if format == Format::Csv { shown_csv::HEAD.as_bytes() } else { b"" });
    let pages = stream::try_unfold((front, plan, Some(end)), move |(front, plan, below)| async move {
        let Some(below) = below else { return Ok(None) };
        let page = plan.read(&*front.store.log, below, FILTERED).await;
        let page = page.inspect_err(|error| tracing::warn!("an export was broken off: {error}"))?;
        let mut lines = String::new();
        for stored in &page.entries {
            match format {
                Format::Csv => lines.push_str(&shown_csv::line(&Row::of(stored))),
                Format::Jsonl => {
                    // A list is not given what is large.
                    let whole = if stored.record.is_empty() {
                        front.store.log.entry(stored.index).await?
                    } else {
                        None
                    };
                    let record = &whole.as_ref().unwrap_or(stored).record;
                    let light = Stored { record: record.clone(), raw: None, clean: None, ..stored.clone() };
                    lines.push_str(&line(&light));
                }
            }
        }
        Ok::<_, ringfence::StoreError>(Some((Bytes::from(lines), (front, plan, page.older))))
    });
    let all = stream::once(std::future::ready(Ok(first))).chain(pages);
    Ok(file(Body::from_stream(all), kind, &format!("ringfence-entries.{extension}")))
}

/// Sends the proof that an entry is under the first believed checkpoint that covers it.
pub(crate) async fn proof(
    State(front): State<Arc<Front>>,
    _caller: Caller,
    index: Result<Path<u64>, axum::extract::rejection::PathRejection>,
) -> Result<Reply, Fault> {
    let Path(index) = index.map_err(|_| Fault::input("an entry is named by its index, a number"))?;
    let trust = front.trust.as_ref().ok_or_else(|| {
        Fault::conflict("nobody has said whose checkpoints are believed")
            .hint("give the public key of the log as `trust` in `[console]` of the policy file")
    })?;
    if index >= front.store.log.size().await? {
        return Err(Fault::missing(format!("there is no entry {index}")));
    }
    let notes = front.store.log.checkpoints().await?;
    let covering = notes.into_iter().filter(|(size, _)| *size > index);
    let mut believed = covering
        .filter_map(|(_, note)| note.parse::<Note>().ok())
        .filter(|note| trust.open(note).is_ok_and(|checkpoint| checkpoint.size() > index));
    let note = believed.next().ok_or_else(|| {
        Fault::conflict(format!("no checkpoint that is believed covers the entry {index}"))
            .hint("sign one with `ringfence audit checkpoint`")
    })?;
    let proof = front.store.log.prove(index, &note, trust).await?;
    let name = format!("ringfence-proof-{index}.json");
    Ok(file(Body::from(proof.to_string()), "application/json", &name))
}

/// Writes an entry as the command does: the record with its index, and the outputs that are kept beside it.
fn line(stored: &Stored) -> String {
    let mut record: Value = serde_json::from_str(&stored.record).unwrap_or(Value::Null);
    let read = |text: &Option<String>| text.as_deref().map(shown::read);
    if let Value::Object(fields) = &mut record {
        fields.insert("index".into(), json!(stored.index));
        fields.extend(read(&stored.clean).map(|clean| ("result".to_owned(), clean)));
        fields.extend(read(&stored.raw).map(|raw| ("raw".to_owned(), raw)));
    }
    let mut line = shown::compact(&record);
    line.push('\n');
    line
}

fn file(body: Body, kind: &'static str, name: &str) -> Reply {
    let mut reply = Reply::new(body);
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        reply.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    reply
}
