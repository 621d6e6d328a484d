//! Coming in and leaving.
//!
//! A valid token or link always lets in, however often others have failed from the same address. Attempts that fail are limited, so
//! that nobody fills the audit with them; guessing 256 random bits is hopeless at any rate.
//!
//! INVARIANT: looking at a link uses nothing up, so that only a person who presses the button is let in; every login begins a
//! session of a new name.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Extension, Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect};
use ringfence::{ApproverName, ApproverToken, Principal, Proof};
use serde::Deserialize;
use serde_json::json;

use super::super::api::Wanted;
use super::super::enter::Reply;
use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::sent::{self, Sent, unreadable};
use super::{Frame, html};
use crate::http::{Peer, peer_key};

/// How large the form may be.
const FORM: usize = 8 << 10;

/// What the address says.
#[derive(Deserialize)]
pub(crate) struct Asked {
    #[serde(default)]
    code: String,
    #[serde(default)]
    next: String,
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    /// For whom the link is; nobody where there is none or it was used.
    owner: Option<ApproverName>,
    code: String,
    next: String,
    /// Why somebody was not let in.
    refused: Option<String>,
}

/// Shows the login.
pub(crate) async fn show(
    State(front): State<Arc<Front>>,
    Wanted(asked): Wanted<Asked>,
) -> Result<Reply, Fault> {
    let owner = front.access.links.owner(&asked.code).map(|owner| owner.name);
    let is_spent = !asked.code.is_empty() && owner.is_none();
    let refused = is_spent.then(|| "this link was used, or its time is up".to_owned());
    let frame = Frame::still(&front, None, "Log in", "");
    html(&LoginPage { frame, owner, code: asked.code, next: asked.next, refused })
}

/// What the form brings.
#[derive(Deserialize)]
struct Brought {
    #[serde(default)]
    code: String,
    #[serde(default)]
    token: String,
    #[serde(default)]
    next: String,
}

/// Lets somebody in.
pub(crate) async fn enter(
    State(front): State<Arc<Front>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Reply, Fault> {
    let peer = peer_key(peer.0);
    let former = front.cookies.read(request.headers()).map(str::to_owned);
    let text = sent::read(request, FORM).await?;
    let brought: Brought = serde_urlencoded::from_str(&text).map_err(unreadable)?;
    let (principal, way) = match proven(&front, &brought).await? {
        Some(proven) => proven,
        None => {
            // Only attempts that failed are counted, and only they wait: many people may share an address.
            front.logins.take(peer, 1).map_err(|wait| {
                let text = format!("too many failed attempts; try again in {} seconds", wait.as_secs() + 1);
                Fault::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS", text)
            })?;
            front.keep_by("", "login refused", json!({ "from": peer })).await?;
            let refused = Some("that link or token lets nobody in".to_owned());
            let frame = Frame::still(&front, None, "Log in", "");
            let page = LoginPage { frame, owner: None, code: String::new(), next: brought.next, refused };
            let mut reply = html(&page)?;
            *reply.status_mut() = StatusCode::FORBIDDEN;
            return Ok(reply);
        }
    };
    let about = json!({ "by": way, "role": principal.role.as_str(), "from": peer });
    front.keep_by(principal.name.as_str(), "login", about).await?;
    if let Some(former) = former {
        front.access.sessions.end(&former);
    }
    let own = front.access.sessions.begin(principal);
    let mut reply = Redirect::to(inside(&brought.next)).into_response();
    if let Some(cookie) = front.cookies.write(&own) {
        reply.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(reply)
}

/// Says who has proven who they are, and by what.
async fn proven(front: &Front, brought: &Brought) -> Result<Option<(Principal, &'static str)>, Fault> {
    if brought.code.is_empty() {
        let proof = Proof::Token(ApproverToken::new(&brought.token).hash());
        return Ok(front.store.approvals.principal(&proof).await?.map(|principal| (principal, "token")));
    }
    let Some(owner) = front.access.links.take(&brought.code) else { return Ok(None) };
    let found = front.store.approvals.principal(&Proof::Named(owner.name)).await?;
    // Somebody who was revoked and added again is somebody else.
    Ok(found.filter(|found| found.since == owner.since).map(|found| (found, "link")))
}

/// Only a place of this console is gone on to.
fn inside(next: &str) -> &str {
    let is_inside = next.starts_with('/')
        && !next.starts_with("//")
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_inside { next } else { "/approvals" }
}

/// Lets somebody out.
pub(crate) async fn leave(
    State(front): State<Arc<Front>>,
    headers: HeaderMap,
    sent: Sent<std::collections::BTreeMap<String, String>>,
) -> Result<Reply, Fault> {
    let Sent { caller, .. } = sent;
    end(&front, &headers, &caller).await
}

async fn end(front: &Front, headers: &HeaderMap, caller: &Caller) -> Result<Reply, Fault> {
    if let Some(own) = front.cookies.read(headers) {
        front.access.sessions.end(own);
    }
    front.keep(caller, "logout", json!({})).await?;
    let mut reply = Redirect::to("/login").into_response();
    if let Some(cookie) = front.cookies.clear() {
        reply.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        #[rustfmt::skip]
        let cases = [
            ("/activity?run=a%20b", "/activity?run=a%20b"),
            ("",                    "/approvals"),
            ("//evil.example/",     "/approvals"),
            ("/\\evil.example",     "/approvals"),
            ("https://evil.example","/approvals"),
            ("/a\r\nSet-Cookie: x", "/approvals"),
            ("/\tevil",             "/approvals"),
        ];
        for (next, expected) in cases {
            assert_eq!(inside(next), expected, "{next:?}");
        }
    }
}
