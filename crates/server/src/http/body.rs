//! Reading the body of a request: no more than allowed, and no longer than allowed.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::header::EXPECT;
use axum::http::{HeaderMap, StatusCode};
use bytes::BytesMut;
use futures_util::StreamExt as _;
use hyper::body::Body as _;

use super::config::EdgeLimits;
use super::reply::{Reply, plain, rpc};
use crate::message::{MAX_MESSAGE, error_code};

/// How long a client that sends too much is listened to, so that it is ready to hear why it is refused.
const LINGER: Duration = Duration::from_secs(2);

/// Reads a body that is text.
pub(super) async fn read(headers: &HeaderMap, body: Body, limits: &EdgeLimits) -> Result<String, Reply> {
    // What says of itself that it is too long is not kept, and not even sent by a client that asked first.
    if body.size_hint().lower() > u64::try_from(limits.body).unwrap_or(u64::MAX) {
        if !headers.contains_key(EXPECT) {
            discard(&mut body.into_data_stream()).await;
        }
        return Err(too_large());
    }
    match tokio::time::timeout(limits.body_timeout, collect(body, limits.body)).await {
        Ok(read) => read,
        Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
    }
}

async fn collect(body: Body, most: usize) -> Result<String, Reply> {
    let mut all = BytesMut::new();
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| plain(StatusCode::BAD_REQUEST, "the body ended early"))?;
        if all.len() + piece.len() > most {
            drop(all);
            discard(&mut pieces).await;
            return Err(too_large());
        }
        all.extend_from_slice(&piece);
    }
    String::from_utf8(all.into())
        .map_err(|_| rpc(StatusCode::BAD_REQUEST, None, error_code::PARSE, "the body is not UTF-8"))
}

/// Reads on for a while without keeping anything: a connection that is closed while something is unread is reset, and the
/// client would not see the answer.
async fn discard(pieces: &mut BodyDataStream) {
    let all = async {
        let mut left = MAX_MESSAGE;
        while let Some(Ok(piece)) = pieces.next().await
            && let Some(rest) = left.checked_sub(piece.len())
        {
            left = rest;
        }
    };
    let _in_time = tokio::time::timeout(LINGER, all).await;
}

fn too_large() -> Reply {
    plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than allowed")
}
