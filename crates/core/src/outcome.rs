//! How a call ended, and the envelope it travels in.
//!
//! A refusal is not a failure: [`Outcome`] keeps them apart, and each call has exactly one.

use std::sync::Arc;

use ringfence_policy::{Code, Refusal};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::pipeline::CleanOutput;

/// How one call ended.
///
/// Serialises as the envelope of the source documents: `{"ok": true, "value", "structured"?}` or
/// `{"ok": false, "code", "error", "refusal"?}`.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The tool ran and its output is clean and fits its schema.
    Done(Arc<CleanOutput>),
    /// The tool ran and failed, or what it returned could not be used.
    Failed(Failure),
    /// It was decided before dispatch that the tool does not run.
    Refused(Refusal),
}

/// Why a tool that ran did not succeed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// The code; of a handle's refusal where one caused the failure.
    pub code: Code,
    /// What the model sees.
    pub message: String,
    /// Whether the tool may have had an effect.
    pub executed: bool,
    /// Whether trying again could help: the reason is the tool's own, and it did not say otherwise.
    pub again: bool,
}

impl Failure {
    pub(crate) fn coded(code: Code, message: impl std::fmt::Display) -> Self {
        Self { code, message: format!("{code}: {message}"), executed: true, again: false }
    }
}

impl Outcome {
    /// Says whether the tool did what was asked.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// Returns the text for the model, where the call was done.
    pub fn value(&self) -> Option<&str> {
        match self {
            Self::Done(output) => Some(output.text()),
            Self::Failed(_) | Self::Refused(_) => None,
        }
    }

    /// Returns the structured output, where the call was done and the output is more than a text.
    pub fn structured(&self) -> Option<&Value> {
        match self {
            Self::Done(output) => output.structured(),
            Self::Failed(_) | Self::Refused(_) => None,
        }
    }

    /// Returns the stable code, where the call was not done.
    pub const fn code(&self) -> Option<Code> {
        match self {
            Self::Done(_) => None,
            Self::Failed(failure) => Some(failure.code),
            Self::Refused(refusal) => Some(refusal.code),
        }
    }

    /// Returns the error text, where the call was not done.
    pub fn error(&self) -> Option<String> {
        match self {
            Self::Done(_) => None,
            Self::Failed(failure) => Some(failure.message.clone()),
            // The seeds' sentence for a missing backend stands without its code, and a code never stands alone.
            Self::Refused(refusal) if refusal.code == Code::NotAvailable || refusal.message.is_empty() => {
                Some(refusal.message.to_string())
            }
            Self::Refused(refusal) => Some(refusal.to_string()),
        }
    }

    /// Returns the envelope's word for a call that was not done.
    pub const fn envelope_code(&self) -> Option<&'static str> {
        match self {
            Self::Done(_) => None,
            Self::Failed(_) => Some("execution_failed"),
            Self::Refused(refusal) => Some(match refusal.code {
                Code::InputInvalid => "input_invalid",
                Code::NotAvailable => "not_available",
                _ => "refused",
            }),
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("ok", &self.is_done())?;
        match self {
            Self::Done(output) => {
                map.serialize_entry("value", output.text())?;
                if let Some(structured) = output.structured() {
                    map.serialize_entry("structured", structured)?;
                }
            }
            Self::Failed(_) | Self::Refused(_) => {
                map.serialize_entry("code", &self.envelope_code())?;
                map.serialize_entry("error", &self.error())?;
                if let Some(code) = self.code().filter(|code| *code != Code::ExecutionFailed) {
                    map.serialize_entry("refusal", code.as_str())?;
                }
            }
        }
        map.end()
    }
}
