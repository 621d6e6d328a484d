//! How this process and this machine are, for people and for Prometheus.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use ringfence::Role;

use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::sent::Sent;
use super::super::view::{Health, Latency, Queues, metrics, time};
use super::{Frame, html};

/// Where this page is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new()
        .route("/health", get(show))
        .route("/health/check", post(check))
        .route("/metrics", get(counted))
}

#[derive(Template)]
#[template(path = "health.html")]
struct Page {
    frame: Frame,
    health: Health,
    /// What does not fit together in the database, where it was looked for.
    checked: Option<Vec<String>>,
    /// Whether whoever looks may have it looked through.
    checks: bool,
}

async fn show(State(front): State<Arc<Front>>, caller: Caller) -> Result<Reply, Fault> {
    page(&front, &caller, None).await
}

/// Looks through the database, which takes a while for a large one.
async fn check(
    State(front): State<Arc<Front>>,
    sent: Sent<std::collections::BTreeMap<String, String>>,
) -> Result<Reply, Fault> {
    sent.caller.at_least(Role::Approver)?;
    front.keep(&sent.caller, "checked database", serde_json::json!({})).await?;
    let found = front.store.log.check().await?;
    page(&front, &sent.caller, Some(found)).await
}

async fn page(front: &Front, caller: &Caller, checked: Option<Vec<String>>) -> Result<Reply, Fault> {
    let health = Health::read(front).await?;
    let frame = Frame::new(front, caller, "Health", "/health").await;
    html(&Page { frame, health, checked, checks: caller.at_least(Role::Approver).is_ok() })
}

/// What is counted, for Prometheus.
async fn counted(State(front): State<Arc<Front>>, _caller: Caller) -> Result<Reply, Fault> {
    let entries = front.store.log.size().await?;
    let mut reply = metrics(&front.live, Queues::read(&front).await, entries).into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(reply)
}
