//! What a tool returned, before and after cleaning.

use std::sync::OnceLock;

use ringfence_policy::{JsonError, JsonLimits};
use serde_json::{Map, Value};

use crate::budget::marker;

/// What the tool returned. It has no accessor: only [`RawOutput::clean`] opens it.
///
/// Nobody outside the pipeline makes one, looks into one, or makes what comes after it:
///
/// ```compile_fail,E0624
/// let raw = ringfence::RawOutput::new(serde_json::json!("made up"));
/// ```
///
/// ```compile_fail,E0616
/// fn peek(raw: ringfence::RawOutput) -> serde_json::Value {
///     raw.0
/// }
/// ```
///
/// ```compile_fail,E0451
/// let clean = ringfence::CleanOutput { value: serde_json::json!("unclean"), text: Default::default() };
/// ```
#[derive(Debug)]
pub struct RawOutput(Value);

/// What the model may see.
#[derive(Clone, Debug, PartialEq)]
pub struct CleanOutput {
    /// What the output schema describes.
    value: Value,
    /// The text of a value that is not a text itself, written when somebody asks for it.
    text: OnceLock<String>,
}

impl RawOutput {
    pub(super) const fn new(value: Value) -> Self {
        Self(value)
    }

    /// Refuses an output that is too large or too deep to be gone through.
    pub(super) fn measure(&self) -> Result<(), JsonError> {
        JsonLimits::DOCUMENT.check(&self.0)
    }

    /// Makes the output fit to be seen: control characters that drive terminals are replaced, in the text and inside
    /// every string and key of a structure.
    pub fn clean(self) -> CleanOutput {
        CleanOutput { value: cleaned(self.0), text: OnceLock::new() }
    }
}

impl CleanOutput {
    /// Returns the text for the model.
    pub fn text(&self) -> &str {
        match &self.value {
            Value::String(text) => text,
            structured => self.text.get_or_init(|| written(structured)),
        }
    }

    /// Returns the structure, when the output is more than a text.
    pub fn structured(&self) -> Option<&Value> {
        (!self.value.is_string()).then_some(&self.value)
    }

    /// Returns the output as the JSON value that its schema describes.
    pub(super) const fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the same output with a shorter text; a structure is kept whole.
    pub(crate) fn with_text(&self, text: String) -> Self {
        match self.structured() {
            Some(structured) => Self { value: structured.clone(), text: text.into() },
            None => Self { value: Value::String(text), text: OnceLock::new() },
        }
    }

    /// Returns the output within a limit of bytes: the head of the text is kept, and no structure.
    pub(super) fn limited(self, bytes: usize) -> Self {
        if self.text().len() <= bytes {
            return self;
        }
        Self { value: Value::String(shortened(self.text(), bytes)), text: OnceLock::new() }
    }
}

/// Writes a value as JSON, mostly without growing the text on the way.
fn written(value: &Value) -> String {
    let mut text = Vec::with_capacity(128);
    match serde_json::to_writer(&mut text, value).map(|()| String::from_utf8(text)) {
        Ok(Ok(text)) => text,
        _ => value.to_string(),
    }
}

/// Keeps the head of a text so that head and marker have at most `bytes` bytes.
fn shortened(text: &str, bytes: usize) -> String {
    let marker = marker(text.chars().count());
    let head = bytes.saturating_sub(marker.len());
    let marker = marker.get(..marker.floor_char_boundary(bytes)).unwrap_or_default();
    let head = text.get(..text.floor_char_boundary(head)).unwrap_or_default();
    format!("{head}{marker}")
}

fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cleaned_text(text)),
        Value::Array(list) => Value::Array(list.into_iter().map(cleaned).collect()),
        Value::Object(map) if map.iter().all(|(key, value)| !is_unclean(key) && is_clean(value)) => {
            Value::Object(map)
        }
        Value::Object(map) => {
            let mut clean = Map::new();
            for (key, value) in map {
                let mut key = cleaned_text(key);
                // Two keys that differ in what was replaced stay two.
                while clean.contains_key(&key) {
                    key.push(char::REPLACEMENT_CHARACTER);
                }
                clean.insert(key, cleaned(value));
            }
            Value::Object(clean)
        }
        plain @ (Value::Bool(_) | Value::Null | Value::Number(_)) => plain,
    }
}

fn is_clean(value: &Value) -> bool {
    match value {
        Value::String(text) => !is_unclean(text),
        Value::Array(list) => list.iter().all(is_clean),
        Value::Object(map) => map.iter().all(|(key, value)| !is_unclean(key) && is_clean(value)),
        Value::Bool(_) | Value::Null | Value::Number(_) => true,
    }
}

fn is_unclean(text: &str) -> bool {
    // C0, DEL and C1 (0xC2 0x80..=0x9F in UTF-8); a plain byte scan decides for nearly every text.
    let suspect = |byte: &u8| (*byte < 0x20 && !matches!(byte, b'\n' | b'\t')) || matches!(byte, 0x7f | 0xc2);
    text.as_bytes().iter().any(suspect) && unclean_at(text).is_some()
}

fn unclean_at(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let line_end = character == '\r' && characters.peek().is_some_and(|(_, next)| *next == '\n');
        if character.is_control() && !matches!(character, '\n' | '\t') && !line_end {
            return Some(at);
        }
    }
    None
}

pub(super) fn cleaned_text(text: String) -> String {
    if !is_unclean(&text) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text.as_str();
    while let Some(at) = unclean_at(rest) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        out.push(char::REPLACEMENT_CHARACTER);
        rest = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        #[rustfmt::skip]
        let cases = [
            ("plain\ttext\n",            "plain\ttext\n"),
            ("dos\r\nlines",             "dos\r\nlines"),
            ("over\rwritten",            "over\u{fffd}written"),
            ("\u{1b}[31mred\u{1b}[0m",   "\u{fffd}[31mred\u{fffd}[0m"),
            ("c1 \u{9b}31m é ü",         "c1 \u{fffd}31m é ü"),
            ("del\u{7f}nul\0",           "del\u{fffd}nul\u{fffd}"),
        ];
        for (raw, clean) in cases {
            let once = RawOutput::new(json!(raw)).clean();
            assert_eq!(once.text(), clean, "{raw:?}");
            assert_eq!(RawOutput::new(json!(once.text())).clean(), once, "cleaning twice changes nothing");
        }
    }

    #[test]
    fn a_limit_is_counted_in_bytes_with_the_marker() {
        let long = "é".repeat(100);
        for bytes in 0..=200 {
            let output = RawOutput::new(json!(long)).clean().limited(bytes);
            assert!(output.text().len() <= bytes, "{bytes}: {}", output.text());
            assert_eq!(output.text() == long, bytes == 200);
        }
    }

    #[test]
    fn keys_that_look_alike_once_clean_stay_apart() {
        let output = RawOutput::new(json!({"a\u{1b}": 1, "a\u{7}": 2})).clean();
        assert_eq!(output.structured(), Some(&json!({"a\u{fffd}": 1, "a\u{fffd}\u{fffd}": 2})));
    }

    #[test]
    fn structures_are_cleaned_inside() {
        let output = RawOutput::new(json!({"a\u{1b}": ["x\0", {"b": "\u{8}"}], "n": 1})).clean();
        assert_eq!(
            output.structured(),
            Some(&json!({"a\u{fffd}": ["x\u{fffd}", {"b": "\u{fffd}"}], "n": 1}))
        );
        assert!(!output.text().contains('\u{1b}'));
    }
}
