//! Which protocol a request speaks.

use axum::http::HeaderMap;

use crate::era::{LEGACY, VERSION};
use crate::message::{Message, Notification, Request};
use crate::raw::RawObject;

/// The one version in which several messages may be sent at once.
pub(super) const BATCHES: &str = "2025-03-26";

/// The version in which a stream begins with an event that only tells its number.
pub(super) const PRIMED: &str = "2025-11-25";

/// The header that says which version is spoken.
pub(super) const HEADER: &str = "mcp-protocol-version";

/// How a message is to be taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Era {
    /// In a session.
    Legacy,
    /// By itself.
    Modern,
}

/// A header that is there several times, or is no text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Unclear;

/// Returns the one value of a header, without the spaces around it.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Unclear> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(|text| Some(text.trim())).map_err(|_| Unclear),
        (Some(_), Some(_)) => Err(Unclear),
    }
}

/// Tells by the header alone.
pub(super) fn era_of_header(stated: Option<&str>) -> Era {
    match stated {
        Some(version) if !LEGACY.contains(&version) => Era::Modern,
        _ => Era::Legacy,
    }
}

/// Tells by the header and by what a message says of itself.
pub(super) fn era(stated: Option<&str>, message: &Message) -> Era {
    let (method, params) = match message {
        Message::Request(Request { method, params, .. }) => (Some(method.as_str()), Some(params)),
        Message::Notification(Notification { params, .. }) => (None, Some(params)),
        Message::Response(_) => (None, None),
    };
    let claims = params.and_then(meta).is_some_and(|meta| meta.get(VERSION).is_some());
    match method {
        _ if claims => Era::Modern,
        Some("initialize") => Era::Legacy,
        _ => era_of_header(stated),
    }
}

/// Returns what stands beside the parameters of a message.
pub(super) fn meta(params: &RawObject) -> Option<RawObject> {
    params.object("_meta")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_era_is_told_by_the_header_and_the_claim() {
        let claim = r#""_meta":{"io.modelcontextprotocol/protocolVersion":3}"#;
        #[rustfmt::skip]
        let cases = [
            // header             method                      params  era
            (None,                r#""id":1,"method":"x""#,          "",    Era::Legacy),
            (Some("2024-11-05"),  r#""id":1,"method":"x""#,          "",    Era::Legacy),
            (Some("2025-11-25"),  r#""id":1,"method":"x""#,          "",    Era::Legacy),
            (Some("2026-07-28"),  r#""id":1,"method":"x""#,          "",    Era::Modern),
            (Some("2099-01-01"),  r#""id":1,"method":"x""#,          "",    Era::Modern),
            (Some(""),            r#""id":1,"method":"x""#,          "",    Era::Modern),
            (None,                r#""id":1,"method":"x""#,          claim, Era::Modern),
            (Some("2025-11-25"),  r#""id":1,"method":"x""#,          claim, Era::Modern),
            (None,                r#""id":1,"method":"initialize""#, "",    Era::Legacy),
            (Some("2026-07-28"),  r#""id":1,"method":"initialize""#, "",    Era::Legacy),
            (Some("2026-07-28"),  r#""id":1,"method":"initialize""#, claim, Era::Modern),
            (Some("2026-07-28"),  r#""method":"initialize""#,        "",    Era::Modern),
            (None,                r#""method":"x""#,                 claim, Era::Modern),
            (None,                r#""method":"x""#,                 "",    Era::Legacy),
        ];
        for (stated, method, params, expected) in cases {
            let text = format!(r#"{{"jsonrpc":"2.0",{method},"params":{{{params}}}}}"#);
            let message = Message::parse(&text).unwrap().remove(0);
            assert_eq!(era(stated, &message), expected, "{stated:?} {text}");
        }
        let answer = Message::parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap().remove(0);
        assert_eq!(era(None, &answer), Era::Legacy);
        assert_eq!(era(Some("2026-07-28"), &answer), Era::Modern);
    }
}
