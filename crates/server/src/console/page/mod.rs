//! The pages: HTML that is whole without a script.

mod activity;
mod approval;
mod asset;
mod audit;
mod call;
mod charts;
mod frame;
mod health;
mod help;
mod idempotency;
mod login;
mod people;
mod policy;
mod run;
mod runs;
mod tools;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Redirect};
use axum::routing::{get, post};

use super::enter::Reply;
use super::fault::{Fault, Problem};
use super::front::{Caller, Front};
use super::live;
pub(crate) use frame::Frame;

/// Where pages are.
pub(crate) fn routes() -> Router<Arc<Front>> {
    Router::new()
        .route("/", get(async || Redirect::to("/approvals")))
        .route("/approvals", get(approval::list))
        .route("/approvals/part", get(approval::part))
        .route("/approvals/decide", post(approval::decide_selected))
        .route("/approvals/{id}", get(approval::show))
        .route("/approvals/{id}/decide", post(approval::decide))
        .route("/login", get(login::show).post(login::enter))
        .route("/logout", post(login::leave))
        .route("/live", get(live::subscribe))
        .route("/healthz", get(async || "ok"))
        .route("/favicon.ico", get(asset::icon))
        .route("/assets/{file}", get(asset::file))
        .merge(activity::routes())
        .merge(call::routes())
        .merge(run::routes())
        .merge(runs::routes())
        .merge(charts::routes())
        .merge(people::routes())
        .merge(help::routes())
        .merge(tools::routes())
        .merge(policy::routes())
        .merge(idempotency::routes())
        .merge(audit::routes())
        .merge(health::routes())
}

/// Answers with a page.
pub(crate) fn html(page: &impl Template) -> Result<Reply, Fault> {
    let text =
        page.render().map_err(|error| Fault::unavailable(format!("the page cannot be made: {error}")))?;
    let mut reply = text.into_response();
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    Ok(reply)
}

/// Answers with a page that is loaded again by itself while entries are still being counted, also without a script.
pub(crate) fn html_counting(page: &impl Template, is_complete: bool) -> Result<Reply, Fault> {
    let mut reply = html(page)?;
    if !is_complete {
        reply.headers_mut().insert("refresh", HeaderValue::from_static("1"));
    }
    Ok(reply)
}

/// Says that there is nothing at an address.
pub(crate) async fn nothing_here() -> Fault {
    Fault::missing("there is nothing here").hint("the pages are in the list above")
}

#[derive(Template)]
#[template(path = "fault.html")]
struct FaultPage {
    frame: Frame,
    status: StatusCode,
    problem: Problem,
}

/// Makes a page of what went wrong.
pub(crate) fn fault(front: &Front, caller: Option<&Caller>, fault: &Fault) -> Reply {
    let frame = Frame::still(front, caller, "Not done", "");
    let page = FaultPage { frame, status: fault.status, problem: fault.problem.clone() };
    let mut reply = html(&page).unwrap_or_else(|fault| fault.into_response());
    *reply.status_mut() = fault.status;
    reply
}
