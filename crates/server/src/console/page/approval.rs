//! The pages of approvals: what waits, what became of the rest, and one request to decide about.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect};
use serde::Deserialize;

use super::super::decision::{self, Say};
use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::sent::Sent;
use super::super::view::{Asked, Piece, Request, Requests};
use super::{Frame, html};

#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    frame: Frame,
    requests: Requests,
}

#[derive(Template)]
#[template(path = "approvals_part.html")]
struct ApprovalsPart {
    requests: Requests,
}

#[derive(Template)]
#[template(path = "approval.html")]
struct ApprovalPage {
    frame: Frame,
    asked: Asked,
}

/// Lists what waits and what was decided.
pub(crate) async fn list(State(front): State<Arc<Front>>, caller: Caller) -> Result<Reply, Fault> {
    let requests = Requests::read(&front).await?;
    let still = Frame::still(&front, Some(&caller), "Approvals", "/approvals");
    html(&ApprovalsPage { frame: Frame { waiting: requests.waiting, ..still }, requests })
}

/// The same without what stands around it, for a page that is open.
pub(crate) async fn part(State(front): State<Arc<Front>>, _caller: Caller) -> Result<Reply, Fault> {
    html(&ApprovalsPart { requests: Requests::read(&front).await? })
}

/// Shows one request.
pub(crate) async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Reply, Fault> {
    let asked = Asked::read(&front, &caller, &id).await?;
    let title = format!("Approve {}?", asked.request.tool);
    let frame = Frame::new(&front, &caller, &title, "/approvals").await;
    html(&ApprovalPage { frame, asked })
}

/// What the forms of a request bring.
#[derive(Deserialize)]
pub(crate) struct Fields {
    word: String,
    #[serde(default)]
    reason: String,
    arguments: Option<String>,
}

/// Takes what a person says about a request.
pub(crate) async fn decide(
    State(front): State<Arc<Front>>,
    Path(id): Path<String>,
    sent: Sent<Fields>,
) -> Result<Reply, Fault> {
    let Sent { caller, fields } = sent;
    let say = Say { word: decision::word(&fields.word)?, reason: fields.reason, arguments: fields.arguments };
    let filed = decision::decide(&front, &caller, &id, say).await?;
    Ok(Redirect::to(&Request::of(&filed).href()).into_response())
}
