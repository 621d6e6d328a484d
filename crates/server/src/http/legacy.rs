//! Sessions: opened by `initialize`, named in a header, and not ended by a lost connection.
//!
//! What is asked in a session goes on when the connection is lost, and what comes of it is kept for a client that comes back and
//! says which event it had last.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use futures_util::StreamExt as _;
use futures_util::stream;

use super::carry::{Busy, begin, holding};
use super::feed::{Answered, Event, Feed, First, ROOM, first, handled, received};
use super::log::{EventId, Rest, STANDALONE};
use super::negotiate;
use super::reply::{NO_SESSION, Reply, TOO_MUCH, empty, later, message, plain, rpc};
use super::route::{Caller, Front, refused};
use super::session::{Claim, Held, Kind};
use super::sse;
use super::version::{BATCHES, PRIMED, header};
use crate::message::{Id, Message, error_code};
use crate::outlet::Outlet;

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// How long a client waits for something to be taken that wants no answer.
const TAKEN: Duration = Duration::from_secs(1);

/// Takes one message.
pub(super) async fn post(front: &Front, caller: Caller, headers: &HeaderMap, one: Message) -> Reply {
    if matches!(&one, Message::Request(request) if request.method == "initialize") {
        return initialize(front, caller, one).await.unwrap_or_else(std::convert::identity);
    }
    let held = match find(front, caller, headers, id_of(&one)) {
        Ok(held) => held,
        Err(reply) => return reply,
    };
    match one {
        Message::Request(_) => ask(front, held, vec![one]).await,
        Message::Notification(_) | Message::Response(_) => tell(&held, one).await,
    }
}

/// Takes several messages at once, in the one version that has that.
pub(super) async fn post_batch(
    front: &Front,
    caller: Caller,
    headers: &HeaderMap,
    all: Vec<Message>,
) -> Reply {
    let held = match find(front, caller, headers, None) {
        Ok(held) => held,
        Err(reply) => return reply,
    };
    let opens = |one: &Message| matches!(one, Message::Request(request) if request.method == "initialize");
    if held.version() != Some(BATCHES) || all.iter().any(opens) {
        let text = "several messages at once are not part of the version of this session";
        return rpc(StatusCode::BAD_REQUEST, None, error_code::INVALID_REQUEST, text);
    }
    if all.iter().any(|one| matches!(one, Message::Request(_))) {
        return ask(front, held, all).await;
    }
    for one in all {
        let reply = tell(&held, one).await;
        if reply.status() != StatusCode::ACCEPTED {
            return reply;
        }
    }
    empty(StatusCode::ACCEPTED)
}

/// Opens a stream: the one that belongs to no request, or again one whose connection was lost.
pub(super) fn get(front: &Front, caller: Caller, headers: &HeaderMap) -> Result<Reply, Reply> {
    negotiate::streamed(headers)?;
    let held = find(front, caller, headers, None)?;
    let unclear = |_| plain(StatusCode::BAD_REQUEST, "`Last-Event-ID` is not one of this session");
    let last = header(headers, "last-event-id").map_err(|_| unclear(super::log::NoEventId))?;
    let last: Option<EventId> = last.map(str::parse).transpose().map_err(unclear)?;
    let silence = front.limits.keep_alive;
    if let Some(after) = last.filter(|last| last.stream != STANDALONE) {
        let Rest { missed, coming } = held.log().resume(after);
        let coming: Feed = coming.map_or_else(|| stream::empty().boxed(), received);
        return Ok(sse::reply(missed.iter().map(sse::written).collect(), holding(held, coming), silence));
    }
    let claim = if last.is_some() { Claim::Again } else { Claim::New };
    let Some(over) = held.claim_standalone(claim) else {
        return Err(plain(StatusCode::CONFLICT, "the session has such a stream already"));
    };
    let missed = last.map(|after| held.log().missed(after)).unwrap_or_default();
    let mut ready: Vec<_> = missed.iter().map(sse::written).collect();
    if ready.is_empty() && last.is_none() && is_primed(&held) {
        ready.push(sse::priming(STANDALONE));
    }
    let (outlet, lines) = Outlet::new(ROOM);
    held.room.attach(outlet);
    let session = Arc::clone(held.session());
    let place = over.clone().drop_guard();
    let events = received(lines)
        .map(move |line| session.log().push(STANDALONE, line.into(), None).0)
        .take_until(over.cancelled_owned())
        .inspect(move |_| {
            let _held_while_read = &place;
        });
    Ok(sse::reply(ready, holding(held, events.boxed()), silence))
}

/// Ends a session.
pub(super) async fn delete(front: &Front, caller: Caller, headers: &HeaderMap) -> Reply {
    match find(front, caller, headers, None) {
        Ok(held) => {
            let _ended = front.table.end(held.session()).await;
            empty(StatusCode::OK)
        }
        Err(reply) => reply,
    }
}

async fn initialize(front: &Front, caller: Caller, one: Message) -> Result<Reply, Reply> {
    let held = front.table.open(caller.0, Kind::Streamable).map_err(refused)?;
    let opening = Opening { front: front.clone(), held: Some(held.clone()) };
    let id = id_of(&one).cloned();
    let silence = front.limits.keep_alive;
    let (_, feed) = begin(front, held.clone(), vec![one]).map_err(|Busy| busy(id.as_ref()))?;
    let mut reply = match first(feed, silence).await {
        // A client that was refused has no session.
        First::Answer(event, Answered::Error(_)) => return Ok(message(StatusCode::OK, event.line)),
        First::Answer(event, Answered::Result) => message(StatusCode::OK, event.line),
        First::Stream(event, feed) => sse::reply(event.iter().map(sse::written).collect(), feed, silence),
        First::Nothing => {
            return Err(rpc(StatusCode::OK, id.as_ref(), error_code::INTERNAL, "the request was given up"));
        }
    };
    opening.done();
    if let Ok(value) = HeaderValue::try_from(&held.id) {
        reply.headers_mut().insert(SESSION, value);
    }
    Ok(reply)
}

/// A session whose client does not know of it yet; dropped before that, nobody could ever use or end it.
struct Opening {
    front: Front,
    held: Option<Held>,
}

impl Opening {
    fn done(mut self) {
        self.held = None;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let _closing = self.front.table.end(held.session());
        }
    }
}

/// Asks, and answers with the answer alone or with everything that comes.
async fn ask(front: &Front, held: Held, all: Vec<Message>) -> Reply {
    let is_batch = all.len() > 1;
    let id = all.first().and_then(id_of).cloned();
    let Ok((stream, feed)) = begin(front, held.clone(), all) else { return busy(id.as_ref()) };
    let silence = front.limits.keep_alive;
    if is_batch {
        return streamed(&held, stream, None, feed, silence);
    }
    match first(feed, silence).await {
        First::Answer(event, _) => {
            // The client knows no event of this stream, so it cannot ask for it again.
            held.log().forget(stream);
            message(StatusCode::OK, event.line)
        }
        First::Stream(event, feed) => streamed(&held, stream, event.as_ref(), feed, silence),
        // It was cancelled, and a request that was cancelled has no answer.
        First::Nothing => streamed(&held, stream, None, stream::empty().boxed(), silence),
    }
}

fn streamed(held: &Held, stream: u64, event: Option<&Event>, feed: Feed, silence: Duration) -> Reply {
    let priming = is_primed(held).then(|| sse::priming(stream));
    sse::reply(priming.into_iter().chain(event.map(sse::written)).collect(), feed, silence)
}

fn is_primed(held: &Held) -> bool {
    held.version().is_some_and(|version| version >= PRIMED)
}

/// Tells the room something that wants no answer.
async fn tell(held: &Held, one: Message) -> Reply {
    let Some(permit) = held.begin_aside() else { return busy(None) };
    // What the room has to say to this does not belong to an answer, as there is none.
    let (outlet, nobody) = Outlet::new(1);
    drop(nobody);
    let held = held.clone();
    let told = tokio::spawn(async move {
        held.over.run_until_cancelled(handled(&held, one, outlet)).await;
        drop(permit);
    });
    let _taken = tokio::time::timeout(TAKEN, told).await;
    empty(StatusCode::ACCEPTED)
}

fn find(front: &Front, caller: Caller, headers: &HeaderMap, id: Option<&Id>) -> Result<Held, Reply> {
    let name = header(headers, SESSION).ok().flatten().ok_or_else(|| {
        let text = "the header `Mcp-Session-Id` is missing; `initialize` opens a session";
        rpc(StatusCode::BAD_REQUEST, id, error_code::INVALID_REQUEST, text)
    })?;
    front
        .table
        .find(caller.0, Kind::Streamable, name)
        .ok_or_else(|| rpc(StatusCode::NOT_FOUND, id, NO_SESSION, "there is no such session"))
}

fn busy(id: Option<&Id>) -> Reply {
    let reply = rpc(StatusCode::TOO_MANY_REQUESTS, id, TOO_MUCH, "too many requests are under way");
    later(reply, Duration::from_secs(1))
}

const fn id_of(one: &Message) -> Option<&Id> {
    match one {
        Message::Request(request) => Some(&request.id),
        Message::Notification(_) => None,
        Message::Response(response) => response.id.as_ref(),
    }
}
