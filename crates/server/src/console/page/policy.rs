//! The policy in force, what it says to a question, and how its manifest differs from the accepted one.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::{get, post};
use ringfence::Role;

use super::super::act;
use super::super::api::Wanted;
use super::super::enter::Reply;
use super::super::fault::{Fault, Problem};
use super::super::front::{Caller, Front};
use super::super::port::{ManifestPage, PolicyAnswer, PolicyPage, Surface};
use super::super::sent::Sent;
use super::super::view::{AcceptanceSent, NumberedLine, QuestionSent, SURFACES, numbered};
use super::{Frame, html};

/// Where these pages are.
pub(super) fn routes() -> Router<Arc<Front>> {
    Router::new().route("/policy", get(show)).route("/policy/manifest", post(accept))
}

#[derive(Template)]
#[template(path = "policy.html")]
struct Page {
    frame: Frame,
    policy: PolicyPage,
    lines: Vec<NumberedLine>,
    asked: QuestionSent,
    /// What the policy says, or why the question cannot be answered; absent where none was asked.
    answer: Option<Result<PolicyAnswer, Problem>>,
    /// The manifest, or why it cannot be compared.
    manifest: Result<ManifestPage, Problem>,
    /// Whether whoever looks may accept it.
    accepts: bool,
}

impl Page {
    const fn surfaces(&self) -> [(&'static str, &'static str, Surface); 6] {
        SURFACES
    }
}

async fn show(
    State(front): State<Arc<Front>>,
    caller: Caller,
    Wanted(asked): Wanted<QuestionSent>,
) -> Result<Reply, Fault> {
    let policy = front.ask(|desk| desk.policy()).await?;
    let answer = match asked.question() {
        Some(question) => {
            Some(front.ask(move |desk| desk.ask(&question)).await.map_err(|fault| fault.problem))
        }
        None if asked.is_asked() => {
            let fault = Fault::input("the question is not whole").hint("name a tool, and what it wants");
            Some(Err(fault.problem))
        }
        None => None,
    };
    let manifest = front.ask(|desk| desk.manifest()).await.map_err(|fault| fault.problem);
    let lines = numbered(&policy.text, answer.as_ref().and_then(|answer| answer.as_ref().ok()));
    let frame = Frame::new(&front, &caller, "Policy", "/policy").await;
    let accepts = caller.at_least(Role::Admin).is_ok();
    html(&Page { frame, policy, lines, asked, answer, manifest, accepts })
}

async fn accept(State(front): State<Arc<Front>>, sent: Sent<AcceptanceSent>) -> Result<Reply, Fault> {
    let Sent { caller, fields } = sent;
    act::accept(&front, &caller, fields).await?;
    Ok(Redirect::to("/policy#manifest").into_response())
}
