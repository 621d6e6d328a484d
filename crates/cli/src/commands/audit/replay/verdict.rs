//! What a call was, and what it would be now.

use std::fmt;

use ringfence::policy::Decision;
use ringfence::{Code, Refusal, Review};
use serde_json::{Value, json};

/// What was recorded of a call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Was {
    /// It ran and did what was asked, after so many people had agreed.
    Done { people: usize },
    /// It ran and failed, after so many people had agreed.
    Failed { people: usize },
    /// It was refused with this code.
    Refused(String),
    /// It was answered with what an earlier call of its key had returned.
    Replayed,
}

/// What would be decided now.
#[derive(Clone, Debug)]
pub(super) enum Now {
    /// It runs, after so many people have agreed.
    Runs(Decision),
    /// It is refused.
    Refused(Refusal),
}

/// Refusals that are not the policy's: people, other calls, or the machine decided.
const ELSEWHERE: [Code; 6] = [
    Code::AuditFailed,
    Code::Cancelled,
    Code::DeadlineExceeded,
    Code::IdempotencyConflict,
    Code::Intercepted,
    Code::OutcomeUnknown,
];

impl Was {
    /// Reads a record. `people` is how many agreed to the call.
    pub(super) fn of(record: &Value, people: usize) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_replayed = record.get("replayed") == Some(&Value::Bool(true));
        match record.get("outcome").and_then(Value::as_str) {
            Some("done") if is_replayed => Self::Replayed,
            Some("done") => Self::Done { people },
            Some("failed") => Self::Failed { people },
            _ => Self::Refused(text(record.pointer("/result/refusal"))),
        }
    }

    /// Says whether the tool ran.
    pub(super) const fn ran(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Failed { .. })
    }

    /// Says whether another decision would be made now.
    pub(super) fn differs_from(&self, now: &Now) -> bool {
        let is = |code: Code, written: &str| code.as_str() == written;
        match (self, now) {
            (Self::Done { people } | Self::Failed { people }, Now::Runs(decision)) => {
                *people != decision.approvals()
            }
            // Who has a key that is known is answered without asking.
            (Self::Replayed, Now::Runs(_)) => false,
            (Self::Done { .. } | Self::Failed { .. } | Self::Replayed, Now::Refused(_)) => true,
            (Self::Refused(code), Now::Refused(refusal)) => !is(refusal.code, code),
            (Self::Refused(code), Now::Runs(decision)) => {
                let people = [Code::ApprovalRequired, Code::ApprovalDenied].iter().any(|own| is(*own, code));
                let asks = decision.approvals() > 0;
                !(people && asks || ELSEWHERE.iter().any(|own| is(*own, code)))
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Done { people } => json!({"outcome": "done", "approvals": people}),
            Self::Failed { people } => json!({"outcome": "failed", "approvals": people}),
            Self::Refused(code) => json!({"outcome": "refused", "code": code}),
            Self::Replayed => json!({"outcome": "replayed"}),
        }
    }
}

impl Now {
    /// Takes what a review says.
    pub(super) fn of(review: &Review) -> Self {
        match &review.decision {
            Ok(decision) => Self::Runs(*decision),
            Err(refusal) => Self::Refused(refusal.clone()),
        }
    }

    /// Says whether it would be refused.
    pub(super) const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Runs(decision) => json!({"outcome": "runs", "approvals": decision.approvals()}),
            Self::Refused(refusal) => {
                json!({"outcome": "refused", "code": refusal.code, "message": refusal.message})
            }
        }
    }
}

impl fmt::Display for Was {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, people) = match self {
            Self::Done { people } => ("done", people),
            Self::Failed { people } => ("failed", people),
            Self::Refused(code) => return write!(f, "was refused {}", crate::shown::one_line(code)),
            Self::Replayed => return f.write_str("was answered with an earlier result"),
        };
        match people {
            0 => write!(f, "was {word}"),
            1 => write!(f, "was {word} after a person agreed"),
            people => write!(f, "was {word} after {people} people agreed"),
        }
    }
}

impl fmt::Display for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "refused {refusal}"),
            Self::Runs(decision) => match decision.approvals() {
                0 => f.write_str("runs"),
                1 => f.write_str("runs after a person agrees"),
                people => write!(f, "runs after {people} people agree"),
            },
        }
    }
}
