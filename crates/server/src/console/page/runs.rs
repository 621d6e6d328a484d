//! The lists of runs and of sessions.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;

use super::super::api::Wanted;
use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{RunList, RunQuery, SessionList};
use super::{Frame, html_counting};

/// Where they are.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/runs", get(runs)).route("/sessions", get(sessions))
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    query: RunQuery,
    list: RunList,
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    frame: Frame,
    query: RunQuery,
    list: SessionList,
}

async fn runs(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<RunQuery>,
) -> Result<Reply, Fault> {
    let list = RunList::read(&front, &query).await?;
    let frame = Frame::new(&front, &caller, "Runs", "/runs").await;
    let is_complete = list.complete;
    html_counting(&RunsPage { frame, query, list }, is_complete)
}

async fn sessions(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<RunQuery>,
) -> Result<Reply, Fault> {
    let list = SessionList::read(&front, &query).await?;
    let frame = Frame::new(&front, &caller, "Sessions", "/runs").await;
    let is_complete = list.complete;
    html_counting(&SessionsPage { frame, query, list }, is_complete)
}
