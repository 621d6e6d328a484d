//! Printing records: the newest, one of them, all of them.

use std::io::Write;

use ringfence_store::{Database, Filter, Stored};
use serde_json::{Value, json};

use crate::error::{CommandError, Exit};
use crate::list_limit::{COUNTED, report_cut};
use crate::shown::{json_line, json_lines};

/// How many records are read at once when all of them are printed.
const PAGE: usize = 500;

/// Prints the newest records that fit, newest last.
pub(super) async fn newest(
    store: &dyn Database,
    filter: &Filter,
    limit: usize,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let newest = store.newest(filter, limit).await?;
    for stored in &newest {
        writeln!(out, "{}", json_line(&numbered(stored)))?;
    }
    let mut total = newest.len();
    let mut below = newest.first().filter(|_| newest.len() >= limit).map(|first| first.index);
    // Page by page, and without outputs: they are only counted.
    while let Some(end) = below.filter(|_| total <= COUNTED) {
        let older = Filter { below: Some(end), light: true, ..filter.clone() };
        let page = store.newest(&older, PAGE).await?;
        total += page.len();
        below = page.first().map(|first| first.index);
    }
    report_cut(newest.len(), total);
    Ok(Exit::Done)
}

/// Prints one record with its outputs.
pub(super) async fn show(
    store: &dyn Database,
    index: u64,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let stored = store.entry(index).await?;
    let stored = stored.ok_or_else(|| CommandError::Input {
        message: format!("there is no record {index}"),
        hint: Some("records are counted from 0; `ringfence audit tail` shows the newest"),
    })?;
    writeln!(out, "{}", json_lines(&whole(&stored)))?;
    Ok(Exit::Done)
}

/// Prints all records there are at the start, page by page.
pub(super) async fn export(store: &dyn Database, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let (mut next, end) = (0, store.size().await?);
    while next < end {
        let page = store.entries(&Filter::default(), next, PAGE).await?;
        let Some(last) = page.last().map(|stored| stored.index) else { break };
        for stored in page.iter().filter(|stored| stored.index < end) {
            writeln!(out, "{}", json_line(&whole(stored)))?;
        }
        next = last + 1;
    }
    Ok(Exit::Done)
}

/// The record with its number.
pub(in crate::commands) fn numbered(stored: &Stored) -> Value {
    let mut record: Value = serde_json::from_str(&stored.record).unwrap_or(Value::Null);
    if let Value::Object(fields) = &mut record {
        fields.insert("index".into(), json!(stored.index));
    }
    record
}

/// The same, with the outputs that are kept beside it.
fn whole(stored: &Stored) -> Value {
    let mut record = numbered(stored);
    let read = |text: &Option<String>| {
        text.as_deref().map(|text| serde_json::from_str::<Value>(text).unwrap_or(json!(text)))
    };
    if let Value::Object(fields) = &mut record {
        fields.extend(read(&stored.clean).map(|clean| ("result".to_owned(), clean)));
        fields.extend(read(&stored.raw).map(|raw| ("raw".to_owned(), raw)));
    }
    record
}
