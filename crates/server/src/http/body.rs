//! Reading the body of a request: no more than allowed, and no longer than allowed.

use axum::body::Body;
use axum::http::StatusCode;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use hyper::body::Body as _;

use super::config::EdgeLimits;
use super::reply::{Reply, plain, rpc};
use crate::message::error_code;

/// Reads a body that is text.
pub(super) async fn read(body: Body, limits: &EdgeLimits) -> Result<String, Reply> {
    // What says of itself that it is too long is not read at all.
    if body.size_hint().lower() > u64::try_from(limits.body).unwrap_or(u64::MAX) {
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
            return Err(too_large());
        }
        all.extend_from_slice(&piece);
    }
    String::from_utf8(all.into())
        .map_err(|_| rpc(StatusCode::BAD_REQUEST, None, error_code::PARSE, "the body is not UTF-8"))
}

fn too_large() -> Reply {
    plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than allowed")
}
