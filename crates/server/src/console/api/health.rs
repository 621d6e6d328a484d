//! How this process and this machine are.

use std::sync::Arc;

use axum::extract::State;
use ringfence::Role;

use super::super::fault::Fault;
use super::super::front::Front;
use super::super::view::Health;
use super::{Endpoint, Json};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/api/v1/health", "Say how this process and this machine are", Role::Viewer)
            .answers::<Health, _, _>(show),
    ]
}

async fn show(State(front): State<Arc<Front>>) -> Result<Json<Health>, Fault> {
    Ok(Json(Health::read(&front).await?))
}
