//! Why a call was not done: the rules that decided, and what could be tried.

mod approval;
mod constraint;
mod limit;
mod other;
mod path;
mod reach;

use ringfence::Code;

use super::case::{Policy, Rule};
use super::draft::Edit;
use super::record::Recorded;

/// What stands behind an outcome.
#[derive(Default)]
pub(super) struct Cause {
    /// The lines that decided.
    pub(super) rules: Vec<Rule>,
    /// Which side lacks it: `declaration`, `personality` or `both`.
    pub(super) lacking: Option<&'static str>,
    /// Changes that may let the call through, smallest first. Each is tried before it is told.
    pub(super) attempts: Vec<Attempt>,
    /// What a person does instead, or before.
    pub(super) instead: Vec<String>,
    /// What else there is to know.
    pub(super) notes: Vec<String>,
}

/// A change that may let the call through.
pub(super) struct Attempt {
    pub(super) edits: Vec<Edit>,
    /// Says whether a policy lets the call through, as far as this cause is concerned.
    pub(super) proof: Proof,
    /// What the change admits, in words.
    pub(super) also: Vec<String>,
}

/// Says whether a policy lets the call through.
pub(super) type Proof = Box<dyn Fn(&Policy<'_>) -> bool>;

impl Cause {
    /// Only says what a person does.
    pub(super) fn instead(text: impl Into<String>) -> Self {
        Self { instead: vec![text.into()], ..Self::default() }
    }
}

/// Finds out why a call was not done.
pub(super) fn cause(record: &Recorded, code: Code, policy: &Policy<'_>) -> Cause {
    match code {
        Code::ApprovalRequired | Code::Forbidden => approval::cause(record, code, policy),
        Code::BinaryNotAllowed
        | Code::EnvironmentNotDeclared
        | Code::HostNotAllowed
        | Code::PathNotReachable
        | Code::SecretNotDeclared => reach::cause(record, policy),
        Code::ConstraintViolated => constraint::cause(record, policy),
        Code::DeadlineExceeded | Code::LimitExceeded => limit::cause(record, code, policy),
        Code::ToolNotPermitted => other::not_permitted(record, policy),
        Code::InputInvalid => other::schema(record, policy, "input"),
        Code::OutputInvalid => other::schema(record, policy, "output"),
        Code::ToolUnknown => other::unknown_tool(record, policy),
        Code::NotAvailable => other::not_available(record, policy),
        Code::ToolQuarantined => other::quarantined(record),
        Code::OutcomeUnknown => other::outcome_unknown(record),
        // What is said of the code is all there is: no line of the policy decided.
        _ => Cause::instead(ringfence::policy::explain::of_call(code).change),
    }
}
