//! What a redirect may carry over.
//!
//! INVARIANT: a redirect never leaves http and https, never drops encryption, and takes neither a body nor any
//! header beyond [`SAFE`] to another origin.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use ringfence_policy::{Code, Refusal};

use crate::{EgressError, Request};

/// Headers that say nothing about who asks.
const SAFE: &[&str] = &["accept", "accept-encoding", "accept-language", "user-agent"];

/// Headers that describe the body and go when it goes.
const OF_BODY: &[&str] = &["content-encoding", "content-language", "content-location", "content-type"];

/// Tells whether the status asks for another request.
pub(crate) fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Returns the request that a redirect asks for.
pub(crate) fn follow(from: &Request, status: StatusCode, location: &str) -> Result<Request, EgressError> {
    let Ok(url) = from.url.join(location) else { return Err(refused("its location does not parse")) };
    if from.url.scheme() == "https" && url.scheme() == "http" {
        return Err(refused("it would leave https for http"));
    }
    let next = Request::with_url(method(&from.method, status), url).map_err(|error| match error {
        EgressError::Scheme { .. } | EgressError::Url(_) => refused("it leads to no http or https host"),
        EgressError::UserInfo => refused("its location has user information"),
        other => other,
    })?;
    let body = if next.method == from.method { from.body.clone() } else { Default::default() };
    let mut headers = from.headers.clone();
    if next.url.origin() != from.url.origin() {
        if !body.is_empty() {
            return Err(refused("it would take the body to another origin"));
        }
        headers = safe(&headers);
    }
    if body.is_empty() {
        for name in OF_BODY {
            headers.remove(*name);
        }
    }
    Ok(Request { headers, body, deadline: from.deadline, limit: from.limit, ..next })
}

fn safe(headers: &HeaderMap) -> HeaderMap {
    let safe = |(name, value): (&HeaderName, &HeaderValue)| {
        SAFE.contains(&name.as_str()).then(|| (name.clone(), value.clone()))
    };
    headers.iter().filter_map(safe).fold(HeaderMap::new(), |mut kept, (name, value)| {
        kept.append(name, value);
        kept
    })
}

/// 303 asks for a GET; 301 and 302 have come to mean it for POST.
fn method(method: &Method, status: StatusCode) -> Method {
    match status {
        StatusCode::SEE_OTHER if *method != Method::HEAD => Method::GET,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND if *method == Method::POST => Method::GET,
        _ => method.clone(),
    }
}

pub(crate) fn refused(why: &str) -> EgressError {
    EgressError::Refused(Refusal::new(Code::HostNotAllowed, format!("the redirect is not followed: {why}")))
}
