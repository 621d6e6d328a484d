//! A refusal: a decision, not a failure.
//!
//! It has a stable [`Code`], one sentence, and where it helps the line of policy that would change it.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::Code;

/// Why something was refused, and what would permit it.
///
/// Displays as the seeds' wire form, `CODE: sentence`. The hint is for people and shown at the edge only.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, thiserror::Error)]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// One sentence: lower case, no full stop, never a secret.
    pub message: Cow<'static, str>,
    /// What an operator or author would change to permit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Cow<'static, str>>,
}

impl Refusal {
    /// Makes a refusal without a hint.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// Adds what would permit it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}
