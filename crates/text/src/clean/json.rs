//! Structured output: cleaned inside its strings and keys.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use super::finding::{Action, Finding, FindingKind};
use super::{clean, finding};
use crate::credential::Named;

/// A finding in a string of a JSON value.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct JsonFinding {
    /// Where the string is: a JSON pointer into the raw value.
    pub pointer: String,
    /// What was found, by its place in that string.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Cleans the strings and keys of a value; `None` where there is nothing to change.
///
/// A string under a name such as `password` is judged as the value of that name.
pub fn clean_json(value: &Value) -> (Option<Value>, Vec<JsonFinding>) {
    let mut findings = Vec::new();
    // Nearly every value is clean, and needs no places to be written down.
    if is_clean(value, None) {
        return (None, findings);
    }
    let mut pointer = String::new();
    let cleaned = walk(value, None, &mut pointer, &mut findings);
    (cleaned, findings)
}

fn is_clean(value: &Value, name: Option<&Named>) -> bool {
    let is_clean_text = |text: &str| clean(text).findings.is_empty();
    match value {
        Value::String(text) => is_clean_text(text) && name.is_none_or(|name| name.judge(text).is_none()),
        Value::Array(items) => items.iter().all(|item| is_clean(item, name)),
        Value::Object(fields) => fields.iter().all(|(key, value)| {
            let name = if Named::may_judge(value) { Named::read(key) } else { None };
            is_clean_text(key) && is_clean(value, name.as_ref())
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn walk(
    value: &Value,
    name: Option<&Named>,
    pointer: &mut String,
    findings: &mut Vec<JsonFinding>,
) -> Option<Value> {
    match value {
        Value::String(text) => string(text, name, pointer, findings).map(Value::String),
        Value::Array(items) => {
            let mut cleaned: Option<Vec<Value>> = None;
            for (index, item) in items.iter().enumerate() {
                let length = pointer.len();
                // Writing to a string cannot fail.
                let _written = write!(pointer, "/{index}");
                if let Some(item) = walk(item, name, pointer, findings)
                    && let Some(slot) = cleaned.get_or_insert_with(|| items.clone()).get_mut(index)
                {
                    *slot = item;
                }
                pointer.truncate(length);
            }
            cleaned.map(Value::Array)
        }
        Value::Object(fields) => object(fields, pointer, findings).map(Value::Object),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn object(
    fields: &Map<String, Value>,
    pointer: &mut String,
    findings: &mut Vec<JsonFinding>,
) -> Option<Map<String, Value>> {
    let mut changes: Vec<(Option<String>, Option<Value>)> = Vec::new();
    for (index, (key, value)) in fields.iter().enumerate() {
        let length = pointer.len();
        pointer.push('/');
        if key.contains(['~', '/']) {
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        } else {
            pointer.push_str(key);
        }
        let value = walk(value, Named::read(key).as_ref(), pointer, findings);
        let key = string(key, None, pointer, findings);
        pointer.truncate(length);
        if value.is_some() || key.is_some() {
            changes.resize_with(index, || (None, None));
            changes.push((key, value));
        }
    }
    if changes.is_empty() {
        return None;
    }
    changes.resize_with(fields.len(), || (None, None));
    let mut cleaned = Map::new();
    for ((key, value), (new_key, new_value)) in fields.iter().zip(changes) {
        let mut key = new_key.unwrap_or_else(|| key.clone());
        // Two keys that only hidden characters told apart stay two.
        while cleaned.contains_key(&key) {
            key.push('_');
        }
        cleaned.insert(key, new_value.unwrap_or_else(|| value.clone()));
    }
    Some(cleaned)
}

/// Cleans one string; `None` where there is nothing to change.
fn string(
    text: &str,
    name: Option<&Named>,
    pointer: &str,
    findings: &mut Vec<JsonFinding>,
) -> Option<String> {
    let cleaned = clean(text);
    let named = name.and_then(|name| name.judge(&cleaned.text));
    let note = |finding| JsonFinding { pointer: pointer.to_owned(), finding };
    findings.extend(cleaned.findings.into_iter().map(note));
    match (named, cleaned.text) {
        (Some(label), _) => {
            let marker = format!("[redacted: {label}]");
            let action = Action::Replaced(Cow::Owned(marker.clone()));
            findings.push(note(Finding {
                kind: FindingKind::Credential,
                label,
                span: 0..text.len(),
                action,
            }));
            Some(marker)
        }
        (None, Cow::Owned(clean)) => Some(clean),
        (None, Cow::Borrowed(_)) => None,
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
