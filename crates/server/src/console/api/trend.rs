//! What happened over time, over the API.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;

use super::super::fault::Fault;
use super::super::front::Front;
use super::super::view::{Trend, TrendQuery};
use super::{Endpoint, Json, Wanted};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/trend", "Show calls, refusals and latency over time", Role::Viewer)
            .wants::<TrendQuery>()
            .answers::<Trend, _, _>(show),
    ]
}

async fn show(
    State(front): State<Arc<Front>>,
    Wanted(query): Wanted<TrendQuery>,
) -> Result<Json<Trend>, Fault> {
    Ok(Json(Trend::read(&front, &query).await?))
}
