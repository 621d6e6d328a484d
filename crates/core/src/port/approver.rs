//! The port behind which people agree to calls, and its version in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, ready};
use serde_json::Value;

use super::approval::{ApprovalRequest, ApprovalStore};

/// What the people said.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// These people agreed. The core checks that they are enough, different, and not the proposer.
    Approved(Vec<Approval>),
    /// Somebody agreed to other arguments, which are judged and asked about in their own right.
    Changed {
        /// The other arguments.
        arguments: Value,
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Somebody refused, with a reason.
    Denied {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Nobody has agreed in time.
    Expired,
    /// Nobody has answered yet.
    Pending,
    /// People cannot be asked, and why.
    Unreachable(String),
}

/// One person's agreement to one digest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Approval {
    /// Who agreed.
    pub by: String,
    /// To what.
    pub digest: String,
}

/// Asks people.
pub trait Approver: Send + Sync {
    /// Returns what was said about a request; may wait for it.
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict>;

    /// Returns the store behind it, if there is one. Calls that waited there when their process ended can be gone on with.
    fn store(&self) -> Option<&Arc<dyn ApprovalStore>> {
        None
    }
}

/// Approvals given beforehand, each good for one call.
#[derive(Debug, Default)]
pub struct MemoryApprover {
    state: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    approvals: HashMap<String, Vec<String>>,
    denials: HashMap<String, (String, String)>,
    waiting: Vec<ApprovalRequest>,
}

impl MemoryApprover {
    /// Records that `by` agrees to the call with this digest.
    pub fn approve(&self, digest: &str, by: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let agreed = state.approvals.entry(digest.to_owned()).or_default();
        if !agreed.iter().any(|other| other == by) {
            agreed.push(by.to_owned());
        }
    }

    /// Records that `by` refuses the call with this digest.
    pub fn deny(&self, digest: &str, by: &str, reason: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.denials.insert(digest.to_owned(), (by.to_owned(), reason.to_owned()));
    }

    /// Returns the requests nobody has answered, oldest first.
    pub fn waiting(&self) -> Vec<ApprovalRequest> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waiting.clone()
    }
}

impl Approver for MemoryApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let verdict = if let Some((by, reason)) = state.denials.remove(&request.digest) {
            Verdict::Denied { by, reason }
        } else {
            let agreed = state.approvals.get(&request.digest);
            let enough = agreed.is_some_and(|agreed| {
                agreed.iter().filter(|by| ***by != *request.proposer).count() >= request.needed.approvals()
            });
            if enough {
                let agreed = state.approvals.remove(&request.digest).unwrap_or_default();
                let digest = || request.digest.clone();
                Verdict::Approved(agreed.into_iter().map(|by| Approval { by, digest: digest() }).collect())
            } else {
                Verdict::Pending
            }
        };
        state.waiting.retain(|other| other.digest != request.digest);
        if verdict == Verdict::Pending {
            state.waiting.push(request.clone());
        }
        ready(verdict).boxed()
    }
}
