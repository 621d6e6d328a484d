//! What comes back from a room, message by message, and which of it is an answer.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, poll_fn};
use futures_util::{FutureExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::alias::{ConnectionSlot, restored};
use super::log::EventId;
use super::session::Held;
use crate::message::{Id, Message, Request, answer_line, error_code, rpc_error};
use crate::outlet::Outlet;

/// How many messages wait between a room and the edge.
pub(super) const ROOM: usize = 16;

/// One message on its way to the client.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// What a client can go on from; absent where it cannot.
    pub(super) id: Option<EventId>,
    /// The message.
    pub(super) line: Bytes,
    /// What it answers with, where it is an answer that is waited for.
    pub(super) answer: Option<Answered>,
}

/// How something was answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Answered {
    /// With an error of this number.
    Error(i64),
    /// With a result.
    Result,
}

/// Everything that comes.
pub(super) type Feed = BoxStream<'static, Event>;

/// What the first thing that came was.
pub(super) enum First {
    /// The answer, so there is nothing else.
    Answer(Event, Answered),
    /// Nothing, and nothing will come.
    Nothing,
    /// Something else, or nothing yet: the rest comes one by one.
    Stream(Option<Event>, Feed),
}

/// Waits for the first thing, but no longer than a stream may be silent.
pub(super) async fn first(mut feed: Feed, patience: Duration) -> First {
    match tokio::time::timeout(patience, feed.next()).await {
        Ok(Some(event)) => match event.answer {
            Some(answered) => First::Answer(event, answered),
            None => First::Stream(Some(event), feed),
        },
        Ok(None) => First::Nothing,
        Err(_) => First::Stream(None, feed),
    }
}

/// Has a room handle a request for as long as somebody reads what comes of it. Dropping it before the answer gives the
/// request up.
pub(super) fn attended(held: Held, mut request: Request, permit: OwnedSemaphorePermit) -> Feed {
    let place = ConnectionSlot::take(&held, &request.id);
    let outer = std::mem::replace(&mut request.id, place.id().clone());
    let inner = place.id().clone();
    let mut awaited = Awaited::of([&inner]);
    let (outlet, mut lines) = Outlet::new(ROOM);
    let handled = handled(&held, Message::Request(request), outlet);
    let mut task = Some(AbortOnDropHandle::new(tokio::spawn(async move {
        held.over.run_until_cancelled(handled).await;
        drop((place, permit, held));
    })));
    let mut answered = false;
    let events = poll_fn(move |context| {
        loop {
            if answered {
                return Poll::Ready(None);
            }
            if let Poll::Ready(line) = lines.poll_recv(context) {
                let Some(line) = line else { return Poll::Ready(None) };
                let answer = awaited.answer(&line);
                if answer.is_some() {
                    answered = true;
                    // What the room still does after its answer is not given up.
                    task.take().map(AbortOnDropHandle::detach);
                }
                let line = if inner == outer { Some(line) } else { restored(&line, &inner, &outer) };
                // The room writes objects; what is none belongs to nobody.
                let Some(line) = line else { continue };
                return Poll::Ready(Some(Event { id: None, line: line.into(), answer }));
            }
            let Some(handle) = task.as_mut() else { return Poll::Pending };
            if Pin::new(handle).poll(context).is_pending() {
                return Poll::Pending;
            }
            // Nobody is left to answer: what was sent is read, and then it is over.
            task = None;
            lines.close();
        }
    });
    events.boxed()
}

/// Has a room handle a message. A panic in it ends this message only, and whoever waits for an answer hears of it.
pub(super) fn handled(
    held: &Held,
    message: Message,
    outlet: Outlet,
) -> impl Future<Output = ()> + Send + use<> {
    let id = match &message {
        Message::Request(request) => Some(request.id.clone()),
        Message::Notification(_) | Message::Response(_) => None,
    };
    let room = Arc::clone(&held.room);
    async move {
        let handled = AssertUnwindSafe(async { room.handle(message, outlet.clone()).await }).catch_unwind();
        if handled.await.is_err()
            && let Some(id) = id
        {
            let error = rpc_error(error_code::INTERNAL, "the request failed inside the gateway");
            let _sent = outlet.send(answer_line(Some(&id), &Err(error))).await;
        }
    }
}

/// Reads a channel.
pub(super) fn received<T: Send + 'static>(mut from: mpsc::Receiver<T>) -> BoxStream<'static, T> {
    poll_fn(move |context| from.poll_recv(context)).boxed()
}

/// The requests that are not answered yet.
pub(super) struct Awaited(Vec<Id>);

impl Awaited {
    pub(super) fn of<'a>(ids: impl IntoIterator<Item = &'a Id>) -> Self {
        Self(ids.into_iter().cloned().collect())
    }

    /// Says whether everything is answered.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says how a message answers one of them; nothing where it does not.
    pub(super) fn answer(&mut self, line: &str) -> Option<Answered> {
        let head: Head<'_> = serde_json::from_str(line).ok()?;
        if head.method.is_some() {
            return None;
        }
        let id = head.id.and_then(|id| Id::parse(id.get()))?;
        let place = self.0.iter().position(|own| *own == id)?;
        self.0.swap_remove(place);
        Some(head.error.map_or(Answered::Result, |error| Answered::Error(error.code)))
    }
}

/// As much of a message as tells what it is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<Code>,
}

#[derive(Deserialize)]
struct Code {
    #[serde(default)]
    code: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_everything_else() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,                                 Some(Answered::Result)),
            (r#"{"id":1,"error":{"code":-32601,"message":"x"},"jsonrpc":"2.0"}"#,       Some(Answered::Error(-32601))),
            (r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,                               None),
            (r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,                                 None),
            (r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#,           None),
            (r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":1}}"#, None),
            ("no JSON",                                                                 None),
        ];
        for (line, expected) in cases {
            let mut awaited = Awaited::of([&Id::Number(1)]);
            assert_eq!(awaited.answer(line), expected, "{line}");
            assert_eq!(awaited.is_empty(), expected.is_some(), "{line}");
        }
    }
}
