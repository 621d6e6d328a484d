//! Answers that are no streams.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Response, StatusCode};
use bytes::Bytes;
use serde_json::json;

use super::negotiate::JSON;
use crate::message::{Id, MessageError, rpc_error};
use crate::raw::Raw;

/// What a client is answered.
pub(super) type Reply = Response<Body>;

/// There is no session of that name, as the protocol's own libraries number it.
pub(super) const NO_SESSION: i64 = -32001;

/// Somebody asks too much.
pub(super) const TOO_MUCH: i64 = -32000;

/// Answers in plain words.
pub(super) fn plain(status: StatusCode, text: &'static str) -> Reply {
    with_type(status, "text/plain; charset=utf-8", Body::from(text))
}

/// Answers with nothing.
pub(super) fn empty(status: StatusCode) -> Reply {
    let mut reply = Reply::new(Body::empty());
    *reply.status_mut() = status;
    reply
}

/// Answers with one message as it was written.
pub(super) fn message(status: StatusCode, line: Bytes) -> Reply {
    with_type(status, JSON, Body::from(line))
}

/// Answers with an error of the protocol. Where the id could not be told it is null.
pub(super) fn rpc(status: StatusCode, id: Option<&Id>, code: i64, text: &str) -> Reply {
    rpc_raw(status, id, &rpc_error(code, text))
}

/// Answers with an error of the protocol as it was written.
pub(super) fn rpc_raw(status: StatusCode, id: Option<&Id>, error: &Raw) -> Reply {
    let line = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    message(status, line.into())
}

/// Answers something that is no message.
pub(super) fn unreadable(error: &MessageError) -> Reply {
    rpc(StatusCode::BAD_REQUEST, error.id.as_ref(), error.code, &error.message)
}

/// Says when to ask again.
pub(super) fn later(mut reply: Reply, wait: Duration) -> Reply {
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    if let Ok(value) = HeaderValue::try_from(seconds.to_string()) {
        reply.headers_mut().insert(RETRY_AFTER, value);
    }
    reply
}

/// Answers with a body of a type.
pub(super) fn with_type(status: StatusCode, kind: &'static str, body: Body) -> Reply {
    let mut reply = Reply::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}
