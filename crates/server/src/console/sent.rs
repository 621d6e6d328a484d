//! What a form sent.
//!
//! INVARIANT: a form counts only where it brings along what its page was given.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use hyper::body::Body as _;
use serde::de::DeserializeOwned;

use super::access::same;
use super::fault::Fault;
use super::front::Caller;

/// How large a form may be: arguments of full size, each byte written as three.
const MOST: usize = 13 << 20;
/// How long a body may take to arrive.
const TIME: Duration = Duration::from_secs(20);

/// The fields of a form, and who sent it.
pub(crate) struct Sent<T> {
    pub(crate) caller: Caller,
    pub(crate) fields: T,
}

/// What every form brings along.
#[derive(serde::Deserialize)]
struct Brought {
    #[serde(rename = "_form", default)]
    form: String,
}

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Self, Fault> {
        let caller = request.extensions().get::<Caller>().cloned().ok_or_else(Fault::nobody)?;
        let text = read(request, MOST).await?;
        if let Some(form) = &caller.form {
            let brought: Brought = serde_urlencoded::from_str(&text).map_err(unreadable)?;
            if !same(form.as_bytes(), brought.form.as_bytes()) {
                return Err(
                    Fault::forbidden("the form is not one of this session").hint("open the page anew")
                );
            }
        }
        Ok(Self { caller, fields: serde_urlencoded::from_str(&text).map_err(unreadable)? })
    }
}

/// Reads the text of a form that is no larger than `most`.
pub(crate) async fn read(request: Request, most: usize) -> Result<String, Fault> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind
        .split(';')
        .next()
        .is_none_or(|kind| !kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded"))
    {
        return Err(Fault::input("a form is sent as `application/x-www-form-urlencoded`"));
    }
    let bytes = body(request, most).await?;
    String::from_utf8(bytes.into()).map_err(|_| Fault::input("the form is not UTF-8"))
}

/// Reads a body that is no larger than `most` and takes no longer than it may.
pub(crate) async fn body(request: Request, most: usize) -> Result<Bytes, Fault> {
    let too_large =
        || Fault::new(StatusCode::BAD_REQUEST, "INPUT_INVALID", "the body is too large, or ended early");
    // What says of itself that it is too large is not even begun.
    if request.body().size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(too_large());
    }
    match tokio::time::timeout(TIME, axum::body::to_bytes(request.into_body(), most)).await {
        Ok(read) => read.map_err(|_| too_large()),
        Err(_) => Err(Fault::input("the body took too long")),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(crate) fn unreadable(error: serde_urlencoded::de::Error) -> Fault {
    Fault::input(format!("the form cannot be understood: {error}"))
}
