//! The two endpoints of 2024-11-05: a stream that says where to post, and carries everything that comes.
//!
//! The session is as long as its stream: nobody could read anything after that.

use std::sync::Arc;

use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode};
use futures_util::StreamExt as _;

use super::feed::{Event, ROOM, handled, received};
use super::reply::{NO_SESSION, Reply, TOO_MUCH, plain, rpc, unreadable};
use super::route::{Caller, Front, refused};
use super::session::{Held, Kind};
use super::{body, negotiate, sse};
use crate::message::{Message, error_code};
use crate::outlet::Outlet;

/// Opens a session, and tells where to post.
pub(super) async fn stream(
    State(front): State<Front>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Reply {
    match open(&front, caller, &headers) {
        Ok(reply) | Err(reply) => reply,
    }
}

/// Takes one message for a session; what comes of it comes on the stream.
pub(super) async fn post(
    State(front): State<Front>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Reply {
    match take(&front, caller, request).await {
        Ok(reply) | Err(reply) => reply,
    }
}

fn open(front: &Front, caller: Caller, headers: &HeaderMap) -> Result<Reply, Reply> {
    negotiate::streamed(headers)?;
    let held = front.table.open(caller.0, Kind::Old).map_err(refused)?;
    let (outlet, lines) = Outlet::new(ROOM);
    held.room.attach(outlet.clone());
    let _first = held.outlet.set(outlet);
    let path = format!("/messages?session={}", held.id);
    let over = held.over.clone();
    let ending = Ending { front: Arc::clone(front), held };
    let events = received(lines)
        .map(move |line| {
            let _held_while_read = &ending;
            Event { id: None, line: line.into(), answer: None }
        })
        .take_until(over.cancelled_owned());
    Ok(sse::reply(vec![sse::endpoint(&path)], events.boxed(), front.limits.keep_alive))
}

/// Ends the session when its stream is not read any more.
struct Ending {
    front: Front,
    held: Held,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let _closing = self.front.table.end(self.held.session());
    }
}

async fn take(front: &Front, caller: Caller, request: Request) -> Result<Reply, Reply> {
    let (parts, body) = request.into_parts();
    negotiate::is_json(&parts.headers)?;
    let name = parts.uri.query().and_then(|query| query.strip_prefix("session=")).unwrap_or_default();
    let held = front.table.find(caller.0, Kind::Old, name);
    let held =
        held.ok_or_else(|| rpc(StatusCode::NOT_FOUND, None, NO_SESSION, "there is no such session"))?;
    let text = body::read(&parts.headers, body, &front.limits).await?;
    let mut all = Message::parse(&text).map_err(|error| unreadable(&error))?;
    let (Some(one), true) = (all.pop(), all.is_empty()) else {
        let text = "several messages at once are not part of this version";
        return Err(rpc(StatusCode::BAD_REQUEST, None, error_code::INVALID_REQUEST, text));
    };
    let (permit, id) = match &one {
        Message::Request(request) => (held.begin(1), Some(&request.id)),
        Message::Notification(_) | Message::Response(_) => (held.begin_aside(), None),
    };
    let permit = permit
        .ok_or_else(|| rpc(StatusCode::TOO_MANY_REQUESTS, id, TOO_MUCH, "too many requests are under way"))?;
    let outlet = held.outlet.get().cloned();
    let outlet =
        outlet.ok_or_else(|| plain(StatusCode::CONFLICT, "the stream of the session is not open"))?;
    front.table.tasks.spawn(async move {
        held.over.run_until_cancelled(handled(&held, one, outlet)).await;
        drop(permit);
    });
    Ok(plain(StatusCode::ACCEPTED, "Accepted"))
}
