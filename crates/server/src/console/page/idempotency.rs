//! Idempotency keys: calls in doubt first, with what is known and what a person says of them.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::{get, post};
use ringfence::{KeyFilter, KeyState, Role};

use super::super::act;
use super::super::api::Wanted;
use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::sent::Sent;
use super::super::view::{KeyList, KeyQuery, SettlementSent, time};
use super::{Frame, html};

/// Where this page is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/idempotency", get(show)).route("/idempotency/settle", post(settle))
}

#[derive(Template)]
#[template(path = "idempotency.html")]
struct Page {
    frame: Frame,
    doubts: KeyList,
    list: KeyList,
    query: KeyQuery,
    /// Whether whoever looks may settle.
    settles: bool,
}

impl Page {
    const fn states(&self) -> [KeyState; 4] {
        KeyState::ALL
    }
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(query): Wanted<KeyQuery>,
) -> Result<Reply, Fault> {
    let doubt = KeyFilter { state: Some(KeyState::Unknown), ..KeyFilter::default() };
    let doubts = KeyList::read(&front, doubt).await?;
    let list = KeyList::read(&front, query.filter()?).await?;
    let frame = Frame::new(&front, &caller, "Idempotency", "/idempotency").await;
    let settles = caller.at_least(Role::Approver).is_ok();
    html(&Page { frame, doubts, list, query, settles })
}

async fn settle(State(front): State<Arc<Front>>, sent: Sent<SettlementSent>) -> Result<Reply, Fault> {
    let Sent { caller, fields } = sent;
    act::settle(&front, &caller, fields).await?;
    Ok(Redirect::to("/idempotency").into_response())
}
