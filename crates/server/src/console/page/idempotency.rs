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
use super::super::view::{Key, KeyQuery, SettlementSent, time};
use super::{Frame, html};

/// How many keys in doubt are shown.
const MOST: usize = 200;

/// Where this page is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/idempotency", get(show)).route("/idempotency/settle", post(settle))
}

#[derive(Template)]
#[template(path = "idempotency.html")]
struct Page {
    frame: Frame,
    doubts: Vec<Key>,
    keys: Vec<Key>,
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
    let doubt = KeyFilter { state: Some(KeyState::Unknown), key: None, most: MOST };
    let doubts = front.store.keys.keys(&doubt).await?.into_iter().map(Key::from).collect();
    let keys = front.store.keys.keys(&query.filter()?).await?.into_iter().map(Key::from).collect();
    let frame = Frame::new(&front, &caller, "Idempotency", "/idempotency").await;
    let settles = caller.at_least(Role::Approver).is_ok();
    html(&Page { frame, doubts, keys, query, settles })
}

async fn settle(State(front): State<Arc<Front>>, sent: Sent<SettlementSent>) -> Result<Reply, Fault> {
    let Sent { caller, fields } = sent;
    act::settle(&front, &caller, fields).await?;
    Ok(Redirect::to("/idempotency").into_response())
}
