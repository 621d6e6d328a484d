//! What the keys do.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::routing::get;

use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::{Frame, html};

/// Where this page is.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/help", get(show))
}

#[derive(Template)]
#[template(path = "help.html")]
struct HelpPage {
    frame: Frame,
}

async fn show(State(front): State<Arc<Front>>, caller: Caller) -> Result<Reply, Fault> {
    html(&HelpPage { frame: Frame::new(&front, &caller, "Keyboard shortcuts", "").await })
}
