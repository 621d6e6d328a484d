//! The audit log as a whole.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;

use super::super::act;
use super::super::export;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{
    CheckpointSeen, LogOverview, RowQuery, SearchQuery, SearchResult, TextQuery, VerificationSeen,
    checkpoints, search,
};
use super::{Endpoint, Json, Wanted};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/audit", "Say how large the log is and where it lies", Role::Viewer)
            .answers::<LogOverview, _, _>(overview),
        Endpoint::get("/api/v1/audit/search", "Search the log, a window at a time", Role::Viewer)
            .wants::<SearchQuery>()
            .answers::<SearchResult, _, _>(find),
        Endpoint::get("/api/v1/audit/verification", "Say how the last verification stands", Role::Viewer)
            .answers::<VerificationSeen, _, _>(verification),
        Endpoint::post("/api/v1/audit/verification", "Begin to verify the whole log", Role::Approver)
            .answers::<VerificationSeen, _, _>(verify),
        Endpoint::get("/api/v1/audit/checkpoints", "List the kept checkpoints, newest first", Role::Viewer)
            .answers::<Vec<CheckpointSeen>, _, _>(history),
        Endpoint::get("/api/v1/audit/proof/{index}", "Prove that an entry is in the log", Role::Viewer)
            .streams("application/json", export::proof),
        Endpoint::get("/api/v1/audit/export", "Export every entry as a line of JSON", Role::Approver)
            .streams("application/jsonl", export::log),
    ]
}

async fn overview(State(front): State<Arc<Front>>) -> Result<Json<LogOverview>, Fault> {
    Ok(Json(LogOverview::read(&front).await?))
}

async fn find(
    State(front): State<Arc<Front>>,
    Wanted(rows): Wanted<RowQuery>,
    Wanted(text): Wanted<TextQuery>,
) -> Result<Json<SearchResult>, Fault> {
    Ok(Json(search(&front, &rows, &text).await?))
}

async fn verification(State(front): State<Arc<Front>>) -> Result<Json<VerificationSeen>, Fault> {
    Ok(Json(VerificationSeen::read(front.verifications.last())))
}

async fn verify(State(front): State<Arc<Front>>, caller: Caller) -> Result<Json<VerificationSeen>, Fault> {
    act::verify(&front, &caller).await?;
    Ok(Json(VerificationSeen::read(front.verifications.last())))
}

async fn history(State(front): State<Arc<Front>>) -> Result<Json<Vec<CheckpointSeen>>, Fault> {
    Ok(Json(checkpoints(&front).await?))
}
