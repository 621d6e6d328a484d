//! What a client sends and takes: the types of bodies.

use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};

use super::reply::{Reply, plain};

/// The type of one answer.
pub(super) const JSON: &str = "application/json";

/// The type of a stream.
pub(super) const STREAM: &str = "text/event-stream";

/// Checks that the body is JSON as it is, and that either kind of answer is taken.
pub(super) fn posted(headers: &HeaderMap) -> Result<(), Reply> {
    is_json(headers)?;
    if !(accepts(headers, JSON) && accepts(headers, STREAM)) {
        let text = "the client must accept application/json and text/event-stream";
        return Err(plain(StatusCode::NOT_ACCEPTABLE, text));
    }
    Ok(())
}

/// Checks that the body is JSON as it is.
pub(super) fn is_json(headers: &HeaderMap) -> Result<(), Reply> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let is_json = match (types.next(), types.next()) {
        (Some(one), None) => one.to_str().is_ok_and(|text| essence(text).eq_ignore_ascii_case(JSON)),
        _ => false,
    };
    if !is_json || headers.contains_key(CONTENT_ENCODING) {
        return Err(plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be application/json, not encoded",
        ));
    }
    Ok(())
}

/// Checks that a stream is taken.
pub(super) fn streamed(headers: &HeaderMap) -> Result<(), Reply> {
    if accepts(headers, STREAM) {
        return Ok(());
    }
    Err(plain(StatusCode::NOT_ACCEPTABLE, "the client must accept text/event-stream"))
}

fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let family = wanted.split('/').next().unwrap_or_default();
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .any(|one| {
            let range = essence(one).to_ascii_lowercase();
            let (kind, rest) = range.split_once('/').unwrap_or_default();
            let matches = range == wanted || range == "*/*" || (kind == family && rest == "*");
            matches && !is_refused(one)
        })
}

/// Says whether the weight is nought.
fn is_refused(range: &str) -> bool {
    let weights = range.split(';').skip(1).filter_map(|parameter| parameter.trim().split_once('='));
    weights
        .filter(|(name, _)| name.eq_ignore_ascii_case("q"))
        .any(|(_, weight)| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
}

fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_answers_must_be_taken() {
        #[rustfmt::skip]
        let cases = [
            ("application/json, text/event-stream",          true),
            ("text/event-stream;q=0.5,Application/JSON",     true),
            ("*/*",                                          true),
            ("application/*, text/*",                        true),
            ("application/json",                             false),
            ("text/event-stream",                            false),
            ("text/html",                                    false),
            ("application/json, text/event-stream;q=0",      false),
            ("application/json, text/event-stream; q=0.000", false),
            ("application/jsonx, text/event-stream",         false),
            ("",                                             false),
        ];
        for (accept, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            headers.insert(CONTENT_TYPE, JSON.parse().unwrap());
            assert_eq!(posted(&headers).is_ok(), expected, "{accept}");
        }
    }

    #[test]
    fn the_body_must_be_json() {
        #[rustfmt::skip]
        let cases = [
            ("application/json",                true),
            ("Application/JSON; charset=utf-8", true),
            ("application/json-patch+json",     false),
            ("text/plain",                      false),
            ("",                                false),
        ];
        for (kind, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, "*/*".parse().unwrap());
            headers.insert(CONTENT_TYPE, kind.parse().unwrap());
            assert_eq!(posted(&headers).is_ok(), expected, "{kind}");
        }
    }
}
