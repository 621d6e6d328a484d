//! The audit: search, the checkpoints, and everything that is proven or taken along.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::get;
use ringfence::Role;

use super::super::act;
use super::super::api::Wanted;
use super::super::enter::{Reply, encode};
use super::super::export;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::sent::Sent;
use super::super::view::{
    CheckpointSeen, LogOverview, Row, RowQuery, SearchResult, TextQuery, VerificationSeen, WINDOW,
    checkpoints, json, search, time,
};
use super::{Frame, html};

/// Where these pages are.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new()
        .route("/audit", get(show))
        .route("/audit/entries/{index}", get(entry))
        .route("/audit/verify", get(verification).post(verify))
        .route("/audit/export", get(export::log))
        .route("/audit/proof/{index}", get(export::proof))
}

#[derive(Template)]
#[template(path = "audit.html")]
struct Page {
    frame: Frame,
    log: LogOverview,
    rows: RowQuery,
    text: TextQuery,
    found: SearchResult,
    /// Where the search goes on further back.
    further: Option<String>,
    checkpoints: Vec<CheckpointSeen>,
    verification: VerificationSeen,
    /// Whether whoever looks may verify and export.
    approves: bool,
}

impl Page {
    const fn window(&self) -> u64 {
        WINDOW
    }

    fn given(field: &Option<String>) -> &str {
        field.as_deref().unwrap_or_default()
    }
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(rows): Wanted<RowQuery>,
    Wanted(text): Wanted<TextQuery>,
) -> Result<Reply, Fault> {
    let found = search(&front, &rows, &text).await?;
    let further = found.below.map(|below| format!("/audit?{}", query(&rows, &text, below)));
    let page = Page {
        log: LogOverview::read(&front).await?,
        checkpoints: checkpoints(&front).await?,
        verification: VerificationSeen::read(front.verifications.last()),
        approves: caller.at_least(Role::Approver).is_ok(),
        frame: Frame::new(&front, &caller, "Audit", "/audit").await,
        rows,
        text,
        found,
        further,
    };
    html(&page)
}

/// Writes the same search further back.
fn query(rows: &RowQuery, text: &TextQuery, below: u64) -> String {
    let from = rows.from.map(|from| format!("from={from}"));
    let text =
        text.text.as_deref().filter(|text| !text.is_empty()).map(|text| format!("text={}", encode(text)));
    let rows = Some(rows.written()).filter(|rows| !rows.is_empty());
    [rows, from, text, Some(format!("below={below}"))].into_iter().flatten().collect::<Vec<_>>().join("&")
}

#[derive(Template)]
#[template(path = "entry.html")]
struct EntryPage {
    frame: Frame,
    row: Row,
    /// The record over several lines, with everything visible.
    record: String,
    /// Whether it is known whose checkpoints are believed.
    trusted: bool,
}

async fn entry(
    State(front): State<Arc<Front>>,
    caller: Caller,
    index: Result<Path<u64>, PathRejection>,
) -> Result<Reply, Fault> {
    let Path(index) = index.map_err(|_| Fault::input("an entry is named by its index, a number"))?;
    let is_there = index < front.store.log.size().await?;
    let stored = if is_there { front.store.log.entry(index).await? } else { None };
    let stored = stored.ok_or_else(|| Fault::missing(format!("there is no entry {index}")))?;
    let frame = Frame::new(&front, &caller, &format!("Entry {index} · Audit"), "/audit").await;
    let record = json::pretty(&json::read(&stored.record));
    html(&EntryPage { frame, row: Row::of(&stored), record, trusted: front.trust.is_some() })
}

#[derive(Template)]
#[template(path = "verification.html")]
struct VerificationPage {
    frame: Frame,
    verification: VerificationSeen,
    log: LogOverview,
    approves: bool,
}

async fn verification(State(front): State<Arc<Front>>, caller: Caller) -> Result<Reply, Fault> {
    let verification = VerificationSeen::read(front.verifications.last());
    let frame = Frame::new(&front, &caller, "Verification · Audit", "/audit").await;
    let approves = caller.at_least(Role::Approver).is_ok();
    let running = verification.is_running();
    let mut reply =
        html(&VerificationPage { frame, verification, log: LogOverview::read(&front).await?, approves })?;
    if running {
        // The page looks again by itself, also without a script.
        let again = axum::http::HeaderValue::from_static("2;url=/audit/verify");
        reply.headers_mut().insert("refresh", again);
    }
    Ok(reply)
}

async fn verify(
    State(front): State<Arc<Front>>,
    sent: Sent<std::collections::BTreeMap<String, String>>,
) -> Result<Reply, Fault> {
    act::verify(&front, &sent.caller).await?;
    Ok(Redirect::to("/audit/verify").into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_goes_on_with_what_was_searched_for() {
        let rows = RowQuery {
            tool: Some("a b".to_owned()),
            code: Some(String::new()),
            from: Some(3),
            ..RowQuery::default()
        };
        let text = TextQuery { text: Some("x&y".to_owned()) };
        assert_eq!(query(&rows, &text, 70), "tool=a%20b&from=3&text=x%26y&below=70");
    }
}
