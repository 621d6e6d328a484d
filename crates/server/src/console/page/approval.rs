//! The pages of approvals: what waits, what became of the rest, and one request to decide about.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect};
use ringfence::Word;
use serde::Deserialize;

use super::super::decision::{self, Decided, Pick, Say};
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
    frame: Frame,
    requests: Requests,
}

#[derive(Template)]
#[template(path = "decided.html")]
struct DecidedPage {
    frame: Frame,
    decided: Vec<Decided>,
    /// What was said about all of them: `approved` or `denied`.
    verb: &'static str,
}

impl DecidedPage {
    fn count(&self) -> usize {
        self.decided.iter().filter(|one| one.request.is_some()).count()
    }
}

#[derive(Template)]
#[template(path = "approval.html")]
struct ApprovalPage {
    frame: Frame,
    asked: Asked,
}

/// Lists what waits and what was decided.
pub(crate) async fn list(State(front): State<Arc<Front>>, caller: Caller) -> Result<Reply, Fault> {
    let requests = Requests::read(&front, &caller).await?;
    let still = Frame::still(&front, Some(&caller), "Approvals", "/approvals");
    html(&ApprovalsPage { frame: Frame { waiting: requests.waiting, ..still }, requests })
}

/// The same without what stands around it, for a page that is open.
pub(crate) async fn part(State(front): State<Arc<Front>>, caller: Caller) -> Result<Reply, Fault> {
    let frame = Frame::still(&front, Some(&caller), "Approvals", "/approvals");
    html(&ApprovalsPart { frame, requests: Requests::read(&front, &caller).await? })
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
    digest: Option<String>,
}

/// Takes what a person says about a request.
pub(crate) async fn decide(
    State(front): State<Arc<Front>>,
    Path(id): Path<String>,
    sent: Sent<Fields>,
) -> Result<Reply, Fault> {
    let Sent { caller, fields } = sent;
    let Fields { word, reason, arguments, digest } = fields;
    let say = Say { word: decision::word(&word)?, reason, arguments, digest };
    let filed = decision::decide(&front, &caller, &id, say).await?;
    Ok(Redirect::to(&Request::of(&filed).href()).into_response())
}

/// Takes what a person says about several requests.
pub(crate) async fn decide_selected(
    State(front): State<Arc<Front>>,
    sent: Sent<Vec<(String, String)>>,
) -> Result<Reply, Fault> {
    let Sent { caller, fields } = sent;
    let (mut picks, mut word, mut reason) = (Vec::new(), String::new(), String::new());
    for (name, value) in fields {
        match name.as_str() {
            "pick" => {
                let (id, digest) = value
                    .split_once(':')
                    .ok_or_else(|| Fault::input("a selected request comes with its digest"))?;
                picks.push(Pick { id: id.to_owned(), digest: digest.to_owned() });
            }
            "word" => word = value,
            "reason" => reason = value,
            _ => {}
        }
    }
    let word = decision::word(&word)?;
    let decided = decision::decide_all(&front, &caller, picks, word, &reason).await?;
    let verb = if word == Word::Deny { "denied" } else { "approved" };
    let frame = Frame::new(&front, &caller, "Decisions", "/approvals").await;
    let is_partial = decided.iter().any(|one| one.request.is_none());
    let mut reply = html(&DecidedPage { frame, decided, verb })?;
    if is_partial {
        *reply.status_mut() = StatusCode::CONFLICT;
    }
    Ok(reply)
}
