//! A record of the audit, as far as it is explained. Old records lack fields, which are then empty.
//!
//! INVARIANT: arguments are shown cleaned, so that no credential in them is told again.

use ringfence::policy::SafetyClass;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::shown::json_line;

/// How much of the arguments is shown, in characters.
const MOST_SHOWN: usize = 1_000;

/// What was recorded of a call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Recorded {
    /// The number of the entry, where the log numbers them.
    pub(super) index: Option<u64>,
    /// The number of the call in its registry.
    pub(super) call: u64,
    pub(super) at_ms: u64,
    pub(super) run: String,
    pub(super) session: String,
    pub(super) tool: String,
    pub(super) tool_digest: Option<String>,
    pub(super) class: Option<SafetyClass>,
    pub(super) asker: String,
    pub(super) proposer: String,
    pub(super) personality: Option<String>,
    pub(super) policy_digest: Option<String>,
    pub(super) idempotency_key: Option<String>,
    /// `done`, `failed` or `refused`.
    pub(super) outcome: String,
    pub(super) arguments: Value,
    pub(super) result: Envelope,
    pub(super) hint: Option<String>,
    pub(super) touched: Vec<Touch>,
    pub(super) connections: Vec<Connection>,
}

/// What the caller was answered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Envelope {
    pub(super) error: String,
    pub(super) refusal: Option<String>,
}

/// One thing that it touched or was refused.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Touch {
    pub(super) surface: String,
    pub(super) what: String,
    pub(super) refused: Option<String>,
}

/// One connection that it made or was refused.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Connection {
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) verdict: String,
    pub(super) code: Option<String>,
    pub(super) message: Option<String>,
}

impl Recorded {
    /// Returns the code of what was not done.
    pub(super) fn code(&self) -> Option<&str> {
        match (self.outcome.as_str(), &self.result.refusal) {
            ("done", _) => None,
            (_, Some(code)) => Some(code),
            (_, None) => Some("EXECUTION_FAILED"),
        }
    }

    /// Returns the code of the rule that decided. A program that failed by itself may have failed for what its fence refused it.
    pub(super) fn deciding_code(&self) -> Option<&str> {
        let code = self.code()?;
        let refused = || self.touched.iter().find_map(|touch| touch.refused.as_deref());
        if code == "EXECUTION_FAILED" { refused().or(Some(code)) } else { Some(code) }
    }

    /// Returns the arguments on one line, cleaned and cut.
    pub(super) fn shown_arguments(&self) -> String {
        let (cleaned, _) = ringfence::text::clean_json(&self.arguments);
        let line = json_line(cleaned.as_ref().unwrap_or(&self.arguments));
        match line.char_indices().nth(MOST_SHOWN) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        }
    }

    /// Returns what was refused with the code of the call, the first thing first.
    pub(super) fn refused(&self) -> Option<&Touch> {
        let code = self.deciding_code();
        self.touched.iter().find(|touch| touch.refused.is_some() && touch.refused.as_deref() == code)
    }

    /// Returns the refused connection to a host.
    pub(super) fn connection(&self, host: &str) -> Option<&Connection> {
        let is_refused = |one: &&Connection| one.host == host && one.verdict == "refused";
        // One with a port says more than a name that did not resolve.
        let mut found: Vec<&Connection> = self.connections.iter().filter(is_refused).collect();
        found.sort_by_key(|one| one.port.is_none());
        found.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_told_without_credentials_and_not_too_long() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let record =
            Recorded { arguments: json!({ "token": token, "path": "a\u{202e}b" }), ..Recorded::default() };
        let shown = record.shown_arguments();
        assert!(!shown.contains("ghp_a1B2"), "{shown}");
        assert!(!shown.contains('\u{202e}'), "{shown}");
        let long = Recorded { arguments: json!("x".repeat(5_000)), ..Recorded::default() };
        assert_eq!(long.shown_arguments().chars().count(), MOST_SHOWN + 1);
    }

    #[test]
    fn an_old_record_is_read_all_the_same() {
        let old: Recorded = serde_json::from_value(json!({
            "call": 3, "tool": "pay", "outcome": "refused", "result": {"ok": false, "code": "refused",
            "error": "FORBIDDEN: no", "refusal": "FORBIDDEN"},
        }))
        .unwrap();
        assert_eq!(old.code(), Some("FORBIDDEN"));
        assert!(old.refused().is_none());
    }
}
