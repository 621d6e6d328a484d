//! What people are asked about, and the digest that an approval is bound to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringfence_policy::{Decision, SafetyClass, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::Asker;
use crate::digest::digest;

/// A call that people must agree to before it runs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ApprovalRequest {
    /// SHA-256 over the tool's definition, the arguments, the run, the proposer and how many must agree, and over the key, the
    /// personality and the directory of the call. An approval is worth something only for this digest.
    pub digest: String,
    /// The tool.
    pub tool: ToolName,
    /// The digest of the tool's definition.
    pub tool_digest: Arc<str>,
    /// Its class.
    pub class: SafetyClass,
    /// The arguments.
    pub arguments: Arc<Value>,
    /// The run.
    pub run: Arc<str>,
    /// The session.
    pub session: Arc<str>,
    /// Who asks; may not approve.
    pub proposer: Arc<str>,
    /// How many must agree.
    pub needed: Decision,
    /// How the call would go on after a restart; absent for what only makes sense to the process that asks.
    pub call: Option<WaitingCall>,
}

/// What it takes to go on with a call that waits for people.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct WaitingCall {
    /// The personality that the call was asked under.
    pub personality: Option<Arc<str>>,
    /// Who asks.
    pub asker: Asker,
    /// The caller's idempotency key.
    pub key: Option<String>,
    /// The time the caller gave it, in milliseconds.
    pub deadline_ms: Option<u64>,
    /// The directory that relative paths start from.
    pub directory: Option<PathBuf>,
    /// How often each tool has run, for the constraints of the run.
    pub counts: BTreeMap<ToolName, RunCount>,
}

/// How often a tool has run in a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct RunCount {
    /// Started.
    pub started: u32,
    /// Completed.
    pub completed: u32,
}

impl WaitingCall {
    /// Returns the time the caller gave it.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline_ms.map(Duration::from_millis)
    }
}

impl ApprovalRequest {
    /// Computes the digest.
    ///
    /// # Errors
    ///
    /// The arguments have no canonical form.
    pub(crate) fn digested(mut self) -> Result<Self, String> {
        let call = self.call.as_ref();
        let mut bound = json!({
            "tool": &*self.tool_digest,
            "arguments": &*self.arguments,
            "run": &*self.run,
            "proposer": &*self.proposer,
            "needed": self.needed,
            "key": call.and_then(|call| call.key.as_deref()),
            "personality": call.and_then(|call| call.personality.as_deref()),
            "directory": call.and_then(|call| call.directory.as_deref()),
        });
        // Canonical JSON writes 1.0 as 1, but a tool gets what was sent: whoever agreed to 1 did not agree to 1.0.
        let mut doubles = Vec::new();
        list_integral_doubles(&self.arguments, &mut String::new(), &mut doubles);
        if let (false, Some(bound)) = (doubles.is_empty(), bound.as_object_mut()) {
            bound.insert("doubles".to_owned(), doubles.into());
        }
        self.digest = digest(&bound)?;
        Ok(self)
    }

    /// Returns the same request with other arguments, and the digest of those.
    ///
    /// # Errors
    ///
    /// The arguments have no canonical form.
    pub fn with_arguments(&self, arguments: Value) -> Result<Self, String> {
        Self { arguments: Arc::new(arguments), ..self.clone() }.digested()
    }

    /// Says whether `other` asks the same with other arguments, and its digest is what it says.
    pub fn is_changed_by(&self, other: &Self) -> bool {
        let expected = self.with_arguments((*other.arguments).clone());
        expected.is_ok_and(|expected| expected == *other) && other.digest != self.digest
    }

    /// Says whether `name` is the proposer, who may not decide, or passes for it.
    pub fn is_proposed_by(&self, name: &str) -> bool {
        ringfence_text::collide(&plain(&self.proposer), &plain(name))
    }
}

/// Lists the numbers that canonical JSON would write as the integers they equal: where each is, and how it is written.
fn list_integral_doubles(value: &Value, pointer: &mut String, doubles: &mut Vec<String>) {
    let length = pointer.len();
    match value {
        Value::Number(number) if number.is_f64() => {
            if number.as_f64().is_some_and(|double| double.fract() == 0.0) {
                // No number has a space in it, so the last one ends the place.
                doubles.push(format!("{pointer} {number}"));
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                pointer.push_str(&format!("/{place}"));
                list_integral_doubles(item, pointer, doubles);
                pointer.truncate(length);
            }
        }
        Value::Object(fields) => {
            // By name, as canonical JSON has them: the order of keys means nothing.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            for (key, item) in fields {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                list_integral_doubles(item, pointer, doubles);
                pointer.truncate(length);
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns a name without what cannot be seen in it, in small letters.
fn plain(name: &str) -> String {
    ringfence_text::clean(name).text.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(proposer: &str) -> ApprovalRequest {
        ApprovalRequest {
            digest: String::new(),
            tool: "pay".parse().unwrap(),
            tool_digest: "".into(),
            class: SafetyClass::Financial,
            arguments: Arc::new(Value::Null),
            run: "run".into(),
            session: "session".into(),
            proposer: proposer.into(),
            needed: Decision::Ask,
            call: None,
        }
    }

    #[test]
    fn an_approval_is_bound_to_the_numbers_as_they_are_sent() {
        let digest = |text: &str| {
            let limits = ringfence_policy::JsonLimits::ARGUMENTS;
            request("ada").with_arguments(ringfence_policy::parse_json(text, limits).unwrap()).unwrap().digest
        };
        #[rustfmt::skip]
        let cases = [
            // one                        other                          one digest
            (r#"{"amount": 1}"#,          r#"{"amount": 1.0}"#,          false),
            (r#"{"amount": 100}"#,        r#"{"amount": 1e2}"#,          false),
            (r#"{"amount": 0}"#,          r#"{"amount": -0}"#,           false),
            (r#"{"amount": 0.0}"#,        r#"{"amount": -0.0}"#,         false),
            (r#"{"a": [1, 1.0]}"#,        r#"{"a": [1.0, 1]}"#,          false),
            (r#"{"a": {"b": 1.0}}"#,      r#"{"a": {"b": 1}}"#,          false),
            (r#"{"a/b": 1.0, "a": {"b": 1}}"#, r#"{"a/b": 1, "a": {"b": 1.0}}"#, false),
            // Both are the same double, and are shown and sent alike.
            (r#"{"amount": 1e2}"#,        r#"{"amount": 100.0}"#,        true),
            (r#"{"amount": 0.5}"#,        r#"{"amount": 5e-1}"#,         true),
            (r#"{"a": 1.0, "b": 2.0}"#,   r#"{"b": 2.0, "a": 1.0}"#,     true),
        ];
        for (one, other, same) in cases {
            assert_eq!(digest(one) == digest(other), same, "{one} {other}");
        }
    }

    #[test]
    fn whoever_passes_for_the_proposer_is_the_proposer() {
        for proposer in ["ada", "Ada", " ada ", "a\u{200b}da", "аda", "ADA\u{202e}"] {
            assert!(request(proposer).is_proposed_by("ada"), "{proposer:?}");
        }
        for proposer in ["agent", "adam", ""] {
            assert!(!request(proposer).is_proposed_by("ada"), "{proposer:?}");
        }
    }
}
