//! What cleaning found in an output, as its record says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that cleaning found in an output.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct FindingSeen {
    /// Where the string is: a JSON pointer into what the tool returned.
    pub(crate) pointer: String,
    /// Where it begins in that string, in bytes.
    pub(crate) start: usize,
    /// Where it ends in that string, in bytes.
    pub(crate) end: usize,
    /// `credential`, `encoding`, `escape`, `hidden` or `markdown`.
    pub(crate) kind: String,
    /// What it is, such as `github-token`.
    pub(crate) label: String,
    /// What stands in its place; absent where it was removed.
    pub(crate) replaced_by: Option<String>,
}

impl FindingSeen {
    /// Reads a finding of a record.
    pub(crate) fn of(written: &Value) -> Self {
        let text = |name: &str| written.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let place = |name: &str| {
            let place = written.get("span").and_then(|span| span.get(name)?.as_u64());
            place.and_then(|place| usize::try_from(place).ok()).unwrap_or(usize::MAX)
        };
        let replaced_by = written.get("action").and_then(|action| action.get("replaced")?.as_str());
        Self {
            pointer: text("pointer"),
            start: place("start"),
            end: place("end"),
            kind: text("kind"),
            label: text("label"),
            replaced_by: replaced_by.map(str::to_owned),
        }
    }

    /// Says what was done about it.
    pub(crate) fn done(&self) -> String {
        match &self.replaced_by {
            Some(text) => format!("replaced by {text}"),
            None => "removed".to_owned(),
        }
    }
}
