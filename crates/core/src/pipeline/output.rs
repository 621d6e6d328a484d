//! What a tool returned, before and after cleaning.

use std::borrow::Cow;
use std::sync::OnceLock;

use ringfence_policy::{JsonError, JsonLimits};
use ringfence_text::JsonFinding;
use serde_json::Value;

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
/// let clean = ringfence::CleanOutput { value: serde_json::json!("unclean"), text: Default::default(), raw: None, findings: vec![] };
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
    /// What the tool returned, where cleaning changed it. For the audit alone.
    raw: Option<Value>,
    findings: Vec<JsonFinding>,
}

impl RawOutput {
    pub(super) const fn new(value: Value) -> Self {
        Self(value)
    }

    /// Refuses an output that is too large or too deep to be gone through. A limit that the policy sets may be larger.
    pub(super) fn measure(&self, limit: Option<usize>) -> Result<(), JsonError> {
        let bytes = JsonLimits::DOCUMENT.bytes.max(limit.unwrap_or_default());
        JsonLimits { bytes, ..JsonLimits::DOCUMENT }.check(&self.0)
    }

    /// Makes the output fit to be seen: terminal escapes, hidden characters, markup that could re-prompt or leak, and
    /// credentials go, in the text and inside every string and key of a structure. What was there goes to the audit.
    pub fn clean(self) -> CleanOutput {
        let (clean, findings) = match &self.0 {
            Value::String(text) => {
                let cleaned = ringfence_text::clean(text);
                let pointed = |finding| JsonFinding { pointer: String::new(), finding };
                let clean = match cleaned.text {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(clean) => Some(Value::String(clean)),
                };
                (clean, cleaned.findings.into_iter().map(pointed).collect())
            }
            structured => ringfence_text::clean_json(structured),
        };
        let (value, raw) = match clean {
            Some(clean) => (clean, Some(self.0)),
            None => (self.0, None),
        };
        CleanOutput { value, text: OnceLock::new(), raw, findings }
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

    /// Returns what cleaning found, by its place in what the tool returned.
    pub fn findings(&self) -> &[JsonFinding] {
        &self.findings
    }

    /// Returns what the tool returned, where cleaning changed it.
    pub(crate) const fn raw(&self) -> Option<&Value> {
        self.raw.as_ref()
    }

    /// Returns the output as the JSON value that its schema describes.
    pub(super) const fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the same output with a shorter text; a structure is kept whole.
    pub(crate) fn with_text(&self, text: String) -> Self {
        match self.structured() {
            Some(structured) => Self { value: structured.clone(), text: text.into(), ..self.clone() },
            None => Self { value: Value::String(text), text: OnceLock::new(), ..self.clone() },
        }
    }

    /// Returns the output within a limit of bytes: the head of the text is kept, and no structure.
    pub(super) fn limited(self, bytes: usize) -> Self {
        if self.text().len() <= bytes {
            return self;
        }
        Self { value: Value::String(shortened(self.text(), bytes)), text: OnceLock::new(), ..self }
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

/// Cleans a text that is not an output: an error of a tool, a reason, a name.
pub(super) fn cleaned_text(text: String) -> String {
    match ringfence_text::clean(&text).text {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_drives_terminals_or_models_does_not_get_through() {
        #[rustfmt::skip]
        let cases = [
            ("plain\ttext\n",            "plain\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m",   "red"),
            ("zero\u{200b}width",        "zerowidth"),
        ];
        for (raw, clean) in cases {
            let once = RawOutput::new(json!(raw)).clean();
            assert_eq!(once.text(), clean, "{raw:?}");
            assert_eq!(once.raw().is_some(), raw != clean, "the audit gets what was changed");
            assert_eq!(once.findings().is_empty(), raw == clean);
            assert_eq!(
                RawOutput::new(json!(once.text())).clean().text(),
                clean,
                "cleaning twice changes nothing"
            );
        }
    }

    #[test]
    fn structures_are_cleaned_inside() {
        let output = RawOutput::new(json!({"a\u{200b}": ["x\u{1b}[1m", {"b": "\u{202e}"}], "n": 1})).clean();
        assert_eq!(output.structured(), Some(&json!({"a": ["x", {"b": ""}], "n": 1})));
        assert_eq!(output.findings().len(), 3);
        let plain = RawOutput::new(json!({"a": ["x"], "n": 1})).clean();
        assert!(plain.raw().is_none() && plain.findings().is_empty());
    }
}
