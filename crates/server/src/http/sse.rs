//! Writing streams of events.
//!
//! INVARIANT: a message is one event, whatever is in it: an end of a line in it could begin another.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, unfold};

use super::feed::{Event, Feed};
use super::log::EventId;
use super::negotiate::STREAM;
use super::reply::{Reply, with_type};

/// Shows that a stream is alive.
const COMMENT: &[u8] = b": ping\n\n";

/// Answers with a stream: what is already there, and then what comes.
pub(super) fn reply(ready: Vec<Bytes>, feed: Feed, silence: Duration) -> Reply {
    let coming = unfold(feed, move |mut feed| async move {
        match tokio::time::timeout(silence, feed.next()).await {
            Ok(Some(event)) => Some((written(&event), feed)),
            Ok(None) => None,
            Err(_) => Some((Bytes::from_static(COMMENT), feed)),
        }
    });
    let all = stream::iter(ready).chain(coming).map(Ok::<_, std::convert::Infallible>);
    let mut reply = with_type(StatusCode::OK, STREAM, Body::from_stream(all));
    reply.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// Writes a message as an event.
pub(super) fn written(event: &Event) -> Bytes {
    let mut text = Vec::with_capacity(event.line.len() + 64);
    if let Some(id) = event.id {
        text.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    text.extend_from_slice(b"event: message\ndata: ");
    let start = text.len();
    text.extend_from_slice(&event.line);
    // Between the parts of a JSON text the end of a line means no more than a space, and inside a string there is none.
    for byte in text.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// Writes an event that only tells where a stream begins, so that a client can go on from there.
pub(super) fn priming(stream: u64) -> Bytes {
    format!("id: {}\ndata: \n\n", EventId { stream, number: 0 }).into()
}

/// Writes the event that tells a client of 2024-11-05 where to post.
pub(super) fn endpoint(path: &str) -> Bytes {
    format!("event: endpoint\ndata: {path}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_event() {
        let event = |id, line: &'static str| written(&Event { id, line: line.into(), answer: None });
        assert_eq!(event(None, "{}"), "event: message\ndata: {}\n\n");
        let id = Some(EventId { stream: 2, number: 3 });
        let text = event(id, "{\r\n}\n\nevent: message\ndata: {\"id\":1}");
        assert_eq!(text, "id: 2-3\nevent: message\ndata: {  }  event: message data: {\"id\":1}\n\n");
        assert_eq!(priming(4), "id: 4-0\ndata: \n\n");
    }
}
