//! Structured output: cleaned inside its strings and keys.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::finding::{Action, Finding, FindingKind};
use super::{clean, finding};
use crate::credential;

/// A finding in a string of a JSON value.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct JsonFinding {
    /// Where the string is: a JSON pointer into the raw value.
    pub pointer: String,
    /// What was found, by its place in that string.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Cleans the strings and keys of a value.
///
/// A string under a name such as `password` is judged as the value of that name.
pub fn clean_json(value: &Value) -> (Value, Vec<JsonFinding>) {
    let mut findings = Vec::new();
    let mut pointer = String::new();
    let cleaned = walk(value, None, &mut pointer, &mut findings);
    (cleaned, findings)
}

fn walk(value: &Value, name: Option<&str>, pointer: &mut String, findings: &mut Vec<JsonFinding>) -> Value {
    match value {
        Value::String(text) => Value::String(string(text, name, pointer, findings)),
        Value::Array(items) => {
            let items = items.iter().enumerate().map(|(index, item)| {
                let length = pointer.len();
                pointer.push('/');
                pointer.push_str(&index.to_string());
                let item = walk(item, name, pointer, findings);
                pointer.truncate(length);
                item
            });
            Value::Array(items.collect())
        }
        Value::Object(fields) => {
            let mut cleaned = Map::new();
            for (key, value) in fields {
                let length = pointer.len();
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                let value = walk(value, Some(key), pointer, findings);
                let mut key = string(key, None, pointer, findings);
                // Two keys that only hidden characters told apart stay two.
                while cleaned.contains_key(&key) {
                    key.push('_');
                }
                pointer.truncate(length);
                cleaned.insert(key, value);
            }
            Value::Object(cleaned)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn string(text: &str, name: Option<&str>, pointer: &str, findings: &mut Vec<JsonFinding>) -> String {
    let cleaned = clean(text);
    let named = name.and_then(|name| credential::named(name, &cleaned.text));
    let note = |finding| JsonFinding { pointer: pointer.to_owned(), finding };
    findings.extend(cleaned.findings.into_iter().map(note));
    match named {
        Some(label) => {
            let marker = format!("[redacted: {label}]");
            let action = Action::Replaced(Cow::Owned(marker.clone()));
            findings.push(note(Finding {
                kind: FindingKind::Credential,
                label,
                span: 0..text.len(),
                action,
            }));
            marker
        }
        None => cleaned.text.into_owned(),
    }
}

/// Replaces halves of surrogate pairs in JSON text by U+FFFD, so that it can be read; tells where they were.
///
/// # Examples
///
/// ```
/// let (text, findings) = ringfence_text::replace_lone_surrogates(r#"{"a": "x\ud800y \ud83d\ude00"}"#);
///
/// assert_eq!(text, r#"{"a": "x\ufffdy \ud83d\ude00"}"#);
/// assert_eq!(findings.len(), 1);
/// ```
pub fn replace_lone_surrogates(json: &str) -> (Cow<'_, str>, Vec<finding::Finding>) {
    let bytes = json.as_bytes();
    let mut out: Option<String> = None;
    let mut findings = Vec::new();
    let (mut at, mut done) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        let start = at + found;
        let unit = unit(bytes, start);
        at = match unit {
            None => start + 2,
            Some(0xD800..=0xDBFF) if matches!(self::unit(bytes, start + 6), Some(0xDC00..=0xDFFF)) => {
                start + 12
            }
            Some(0xD800..=0xDFFF) => {
                let out = out.get_or_insert_default();
                out.push_str(json.get(done..start).unwrap_or_default());
                out.push_str("\\ufffd");
                done = start + 6;
                findings.push(Finding {
                    kind: FindingKind::Encoding,
                    label: "lone-surrogate",
                    span: start..done,
                    action: Action::Replaced(Cow::Borrowed("\u{FFFD}")),
                });
                done
            }
            Some(_) => start + 6,
        };
    }
    match out {
        Some(mut out) => {
            out.push_str(json.get(done..).unwrap_or_default());
            (Cow::Owned(out), findings)
        }
        None => (Cow::Borrowed(json), findings),
    }
}

/// Reads `\uXXXX`.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |value, byte| Some(value << 4 | char::from(*byte).to_digit(16)?))
}
