//! Reading questions, one bounded line each.

use std::io::{self, BufRead};

use ringfence::policy::{JsonLimits, parse_json};
use serde_json::Value;

/// What a whole line may be: arguments or a schema of full size, and a little around them.
const LIMITS: JsonLimits = JsonLimits { bytes: 24 << 20, depth: 140, values: 600_000 };

/// One line of input.
pub(in crate::commands) enum Line {
    /// Nothing but white space.
    Blank,
    /// Not a JSON object within the limits; the id as far as it can be told.
    Malformed { id: Value, message: String },
    /// A JSON object.
    Question(Value),
}

/// Reads the next line; `None` at the end. A line over the limit is skipped to its end, so that the next one works.
pub(in crate::commands) fn next(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    Ok(next_bytes(input)?.map(|(bytes, dropped)| parse(&bytes, dropped)))
}

/// Reads the bytes of the next line, and whether some were dropped because it is too long; `None` at the end.
pub(in crate::commands) fn next_bytes(input: &mut impl BufRead) -> io::Result<Option<(Vec<u8>, bool)>> {
    let mut bytes = Vec::new();
    let mut dropped = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            if bytes.is_empty() && !dropped {
                return Ok(None);
            }
            break;
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(chunk.len(), |end| end + 1);
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        let room = LIMITS.bytes - bytes.len();
        dropped |= part.len() > room;
        bytes.extend(part.iter().take(room));
        input.consume(taken);
        if end.is_some() {
            break;
        }
    }
    Ok(Some((bytes, dropped)))
}

/// Reads a line as a JSON object.
pub(in crate::commands) fn parse(bytes: &[u8], dropped: bool) -> Line {
    if dropped {
        let id = std::str::from_utf8(bytes).map_or(Value::Null, salvage_id);
        return Line::Malformed { id, message: format!("the line is larger than {} bytes", LIMITS.bytes) };
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let id = salvage_id(&String::from_utf8_lossy(bytes));
            return Line::Malformed {
                id,
                message: format!("the line is not UTF-8 at byte {}", error.valid_up_to()),
            };
        }
    };
    if text.trim().is_empty() {
        return Line::Blank;
    }
    match parse_json(text, LIMITS) {
        Ok(value @ Value::Object(_)) => Line::Question(value),
        Ok(_) => Line::Malformed { id: Value::Null, message: "a question is a JSON object".into() },
        Err(error) => {
            let place = if error.line == 0 { String::new() } else { format!(" at column {}", error.column) };
            Line::Malformed { id: salvage_id(text), message: format!("{}{place}", error.message) }
        }
    }
}

/// Finds the `id` of a line that is not valid, so that the answer can be matched to it.
///
/// Goes over the text once, without recursion, and looks only at keys of the outermost object.
fn salvage_id(text: &str) -> Value {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at);
                if depth == 1 && bytes.get(at..end) == Some(b"\"id\"") {
                    let rest = text.get(end..).unwrap_or_default().trim_start();
                    if let Some(value) = rest.strip_prefix(':') {
                        return scalar(value.trim_start());
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    Value::Null
}

/// Returns the position after a string's closing quote.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Reads a string or a number at the start of a text.
fn scalar(text: &str) -> Value {
    let end = match text.as_bytes().first() {
        Some(b'"') => string_end(text.as_bytes(), 0),
        _ => text.find([',', '}', ']', ' ']).unwrap_or(text.len()),
    };
    text.get(..end).and_then(|value| serde_json::from_str(value).ok()).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_id_of_a_broken_line() {
        let deep = format!(r#"{{"declare": {}, "id": "deep"}}"#, "[".repeat(10) + &"]".repeat(10));
        #[rustfmt::skip]
        let cases = [
            (r#"{"id": "a", "want": NaN}"#,                 json!("a")),
            (r#"{"want": {"id": "no"}, "id" : 7 , x}"#,     json!(7)),
            (r#"{"x": "\"id\": 1", "id": "q\"uote" "#,      json!("q\"uote")),
            (r#"{"want": "id", "id": "b""#,                 json!("b")),
            (r#"not json"#,                                 json!(null)),
            (r#"{"id""#,                                    json!(null)),
            (deep.as_str(),                                 json!("deep")),
        ];
        for (text, id) in cases {
            assert_eq!(salvage_id(text), id, "{text}");
        }
    }

    #[test]
    fn a_line_over_the_limit_does_not_take_the_next_one_along() {
        let mut text = br#"{"id": "big", "want": {"args": ""#.to_vec();
        text.resize(LIMITS.bytes + 100, b'a');
        text.extend_from_slice(b"\"}}\n{\"id\": \"next\"}\n\n");
        let mut input = text.as_slice();
        assert!(matches!(next(&mut input).unwrap(), Some(Line::Malformed { id, .. }) if id == "big"));
        assert!(matches!(next(&mut input).unwrap(), Some(Line::Question(_))));
        assert!(matches!(next(&mut input).unwrap(), Some(Line::Blank)));
        assert!(next(&mut input).unwrap().is_none());
    }
}
