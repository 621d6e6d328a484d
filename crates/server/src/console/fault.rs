//! Why the console did not do what was asked: one sentence, a stable code, and what to do.

use axum::http::StatusCode;
use ringfence::{ApprovalError, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::port::DeskError;

/// Why something was not done.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) problem: Problem,
}

/// Why something was not done, as it is sent.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Problem {
    /// A stable code, such as `INPUT_INVALID`.
    pub code: String,
    /// The reason, as one sentence.
    pub error: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Fault {
    pub(crate) fn new(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        Self { status, problem: Problem { code: code.to_owned(), error: error.into(), hint: None } }
    }

    /// What was sent cannot be understood.
    pub(crate) fn input(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INPUT_INVALID", error)
    }

    /// There is nothing of that name.
    pub(crate) fn missing(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", error)
    }

    /// Whoever asks may not.
    pub(crate) fn forbidden(error: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", error)
    }

    /// Nobody is logged in.
    pub(crate) fn nobody() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "LOGIN_REQUIRED", "nobody is logged in")
            .hint("log in, or send `Authorization: Bearer` with the token of an approver")
    }

    /// What was looked at is something else by now.
    pub(crate) fn conflict(error: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CONFLICT", error)
    }

    /// Something that is needed cannot be reached.
    pub(crate) fn unavailable(error: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "NOT_AVAILABLE", error)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.problem.hint = Some(hint.into());
        self
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::unavailable(error.to_string())
    }
}

impl From<ApprovalError> for Fault {
    fn from(error: ApprovalError) -> Self {
        let text = error.to_string();
        match error {
            ApprovalError::Store(error) => error.into(),
            ApprovalError::Request { .. } => Self::missing(text),
            ApprovalError::Proposer { .. } | ApprovalError::Token | ApprovalError::Role { .. } => {
                Self::forbidden(text)
            }
            ApprovalError::Changed => Self::input(text),
            _ => Self::conflict(text),
        }
    }
}

impl From<DeskError> for Fault {
    fn from(error: DeskError) -> Self {
        let text = error.to_string();
        let (fault, hint) = match error {
            DeskError::Input { hint, .. } => (Self::input(text), hint),
            DeskError::Changed(_) => (Self::conflict(text), Some("look at it again".to_owned())),
            DeskError::Missing(_) => (Self::missing(text), None),
            DeskError::Files { hint, .. } => (Self::unavailable(text), hint),
        };
        match hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        }
    }
}
