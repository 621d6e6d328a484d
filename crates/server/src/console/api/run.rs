//! Runs and calls, over the API.

use std::sync::Arc;

use axum::extract::{Path, State};
use ringfence::Role;

use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{CallView, RawQuery, RunList, RunQuery, RunView, SessionList};
use super::{Endpoint, Index, Json, Wanted};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/runs", "List runs, newest first", Role::Viewer)
            .wants::<RunQuery>()
            .answers::<RunList, _, _>(runs),
        Endpoint::get("/api/v1/sessions", "List sessions of agents, newest first", Role::Viewer)
            .wants::<RunQuery>()
            .answers::<SessionList, _, _>(sessions),
        Endpoint::get(
            "/api/v1/runs/{run}",
            "Show a run: its calls in time, and what they reached",
            Role::Viewer,
        )
        .answers::<RunView, _, _>(run),
        Endpoint::get(
            "/api/v1/calls/{index}",
            "Show a call with everything that is known of it",
            Role::Viewer,
        )
        .wants::<RawQuery>()
        .answers::<CallView, _, _>(call),
    ]
}

async fn run(State(front): State<Arc<Front>>, Path(run): Path<String>) -> Result<Json<RunView>, Fault> {
    Ok(Json(RunView::read(&front, &run).await?))
}

async fn call(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Index(index): Index,
    Wanted(query): Wanted<RawQuery>,
) -> Result<Json<CallView>, Fault> {
    Ok(Json(CallView::read(&front, &caller, index, &query).await?))
}

async fn runs(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<RunQuery>,
) -> Result<Json<RunList>, Fault> {
    Ok(Json(RunList::read(&front, &query).await?))
}

async fn sessions(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<RunQuery>,
) -> Result<Json<SessionList>, Fault> {
    Ok(Json(SessionList::read(&front, &query).await?))
}
