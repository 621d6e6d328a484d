//! The stable codes that refusals, failures and results carry on the wire.
//!
//! INVARIANT: a code once released keeps its spelling and its meaning; new situations get new codes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a call did not do what was asked, as a stable word a program may match on.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// A person refused the call.
    ApprovalDenied,
    /// A person must agree first, and nobody has yet.
    ApprovalRequired,
    /// The outcome could not be written to the audit, so it is withheld.
    AuditFailed,
    /// The binary is not in the granted set.
    BinaryNotAllowed,
    /// The binary is granted and not on this machine.
    BinaryNotFound,
    /// The call that a handle belongs to has ended.
    CallEnded,
    /// The run was cancelled before the call ended.
    Cancelled,
    /// The declared safety class is lower than the capabilities imply.
    ClassUnderstated,
    /// A constraint of the run (count, order, quarantine) forbids the call.
    ConstraintViolated,
    /// The call did not end within its deadline.
    DeadlineExceeded,
    /// The environment variable is not in the granted set.
    EnvironmentNotDeclared,
    /// The tool ran and failed for a reason of its own.
    ExecutionFailed,
    /// The operator's policy forbids the call outright.
    Forbidden,
    /// The host is not in the granted set, or its address may not be reached.
    HostNotAllowed,
    /// The host is granted and its name does not resolve.
    HostNotFound,
    /// The same idempotency key was used with other arguments, or is in use right now.
    IdempotencyConflict,
    /// The tool demands an idempotency key and the call has none.
    IdempotencyKeyRequired,
    /// The arguments, the file or the message are not what was agreed.
    InputInvalid,
    /// An interceptor refused the call, or failed.
    Intercepted,
    /// A size, count or rate went over its limit.
    LimitExceeded,
    /// A backend that the call needs is missing.
    NotAvailable,
    /// The call may or may not have taken effect; it is not run again by itself.
    OutcomeUnknown,
    /// What the tool returned does not fit its output schema.
    OutputInvalid,
    /// The path is not in the granted set.
    PathNotReachable,
    /// The secret is not in the granted set.
    SecretNotDeclared,
    /// The tool is not in the personality's toolset, or its declaration no longer fits the personality.
    ToolNotPermitted,
    /// The tool's definition was not accepted, has changed, or looks hostile.
    ToolQuarantined,
    /// No tool of that name is registered.
    ToolUnknown,
}

impl Code {
    /// Every code, in alphabetical order.
    pub const ALL: [Self; 28] = [
        Self::ApprovalDenied,
        Self::ApprovalRequired,
        Self::AuditFailed,
        Self::BinaryNotAllowed,
        Self::BinaryNotFound,
        Self::CallEnded,
        Self::Cancelled,
        Self::ClassUnderstated,
        Self::ConstraintViolated,
        Self::DeadlineExceeded,
        Self::EnvironmentNotDeclared,
        Self::ExecutionFailed,
        Self::Forbidden,
        Self::HostNotAllowed,
        Self::HostNotFound,
        Self::IdempotencyConflict,
        Self::IdempotencyKeyRequired,
        Self::InputInvalid,
        Self::Intercepted,
        Self::LimitExceeded,
        Self::NotAvailable,
        Self::OutcomeUnknown,
        Self::OutputInvalid,
        Self::PathNotReachable,
        Self::SecretNotDeclared,
        Self::ToolNotPermitted,
        Self::ToolQuarantined,
        Self::ToolUnknown,
    ];

    /// Returns the code as it is written on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApprovalDenied => "APPROVAL_DENIED",
            Self::ApprovalRequired => "APPROVAL_REQUIRED",
            Self::AuditFailed => "AUDIT_FAILED",
            Self::BinaryNotAllowed => "BINARY_NOT_ALLOWED",
            Self::BinaryNotFound => "BINARY_NOT_FOUND",
            Self::CallEnded => "CALL_ENDED",
            Self::Cancelled => "CANCELLED",
            Self::ClassUnderstated => "CLASS_UNDERSTATED",
            Self::ConstraintViolated => "CONSTRAINT_VIOLATED",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::EnvironmentNotDeclared => "ENVIRONMENT_NOT_DECLARED",
            Self::ExecutionFailed => "EXECUTION_FAILED",
            Self::Forbidden => "FORBIDDEN",
            Self::HostNotAllowed => "HOST_NOT_ALLOWED",
            Self::HostNotFound => "HOST_NOT_FOUND",
            Self::IdempotencyConflict => "IDEMPOTENCY_CONFLICT",
            Self::IdempotencyKeyRequired => "IDEMPOTENCY_KEY_REQUIRED",
            Self::InputInvalid => "INPUT_INVALID",
            Self::Intercepted => "INTERCEPTED",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
            Self::NotAvailable => "NOT_AVAILABLE",
            Self::OutcomeUnknown => "OUTCOME_UNKNOWN",
            Self::OutputInvalid => "OUTPUT_INVALID",
            Self::PathNotReachable => "PATH_NOT_REACHABLE",
            Self::SecretNotDeclared => "SECRET_NOT_DECLARED",
            Self::ToolNotPermitted => "TOOL_NOT_PERMITTED",
            Self::ToolQuarantined => "TOOL_QUARANTINED",
            Self::ToolUnknown => "TOOL_UNKNOWN",
        }
    }

    /// Tells whether the code says that a tool reached for something outside its grant: a host, a path, a program, a secret or a
    /// variable. Such a call counts as refused, even where the tool was running when it was.
    pub const fn is_reach_refusal(self) -> bool {
        matches!(
            self,
            Self::BinaryNotAllowed
                | Self::EnvironmentNotDeclared
                | Self::HostNotAllowed
                | Self::PathNotReachable
                | Self::SecretNotDeclared
        )
    }

    /// Returns what the code means, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::ApprovalDenied => "a person refused the call",
            Self::ApprovalRequired => "a person must agree first, and nobody has yet",
            Self::AuditFailed => "the outcome could not be written to the audit, so it is withheld",
            Self::BinaryNotAllowed => "the binary is not in the granted set",
            Self::BinaryNotFound => "the binary is granted and not on this machine",
            Self::CallEnded => "the call that the handle belongs to has ended",
            Self::Cancelled => "the run was cancelled before the call ended",
            Self::ClassUnderstated => "the declared safety class is lower than the capabilities imply",
            Self::ConstraintViolated => "a constraint of the run (count, order, quarantine) forbids the call",
            Self::DeadlineExceeded => "the call did not end within its deadline",
            Self::EnvironmentNotDeclared => "the environment variable is not in the granted set",
            Self::ExecutionFailed => "the tool ran and failed for a reason of its own",
            Self::Forbidden => "the operator's policy forbids the call outright",
            Self::HostNotAllowed => "the host is not in the granted set, or its address may not be reached",
            Self::HostNotFound => "the host is granted and its name does not resolve",
            Self::IdempotencyConflict => {
                "the same idempotency key was used with other arguments, or is in use right now"
            }
            Self::IdempotencyKeyRequired => "the tool demands an idempotency key and the call has none",
            Self::InputInvalid => "the arguments, the file or the message are not what was agreed",
            Self::Intercepted => "an interceptor refused the call, or failed",
            Self::LimitExceeded => "a size, count or rate went over its limit",
            Self::NotAvailable => "a backend that the call needs is missing",
            Self::OutcomeUnknown => {
                "the call may or may not have taken effect; it is not run again by itself"
            }
            Self::OutputInvalid => "what the tool returned does not fit its output schema",
            Self::PathNotReachable => "the path is not in the granted set",
            Self::SecretNotDeclared => "the secret is not in the granted set",
            Self::ToolNotPermitted => {
                "the tool is not in the personality's toolset, or its declaration no longer fits the personality"
            }
            Self::ToolQuarantined => "the tool's definition was not accepted, has changed, or looks hostile",
            Self::ToolUnknown => "no tool of that name is registered",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
