//! Asking people: about a call before it runs, and about a host while it does.
//!
//! INVARIANT: the core counts for itself. Whoever answers, an agreement needs enough different people, none of them the
//! proposer, and each of them to this very digest; and every step is in the audit before anything follows from it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ringfence_policy::{Code, Decision, Refusal};
use serde_json::Value;

use crate::audit::{ApprovalStep, AuditEntry};
use crate::event::Event;
use crate::port::{Approval, ApprovalRequest, Approver, Verdict};
use crate::registry::Parts;

/// How often an approver that does not wait itself is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// How large the arguments may be that people are asked about.
const MOST_BYTES: usize = 256 << 10;

/// Whether an answer is waited for beyond what the approver does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Patience {
    /// What the approver says now is the answer.
    Once,
    /// Until somebody has answered; whoever asks gives up when there is no more use for it.
    UntilAnswered,
}

/// A question to people.
pub(crate) struct Question<'a> {
    pub(crate) parts: &'a Parts,
    /// The number of the call.
    pub(crate) call: u64,
    pub(crate) request: ApprovalRequest,
    /// What it is about, for a sentence.
    pub(crate) subject: &'a str,
    pub(crate) patience: Patience,
}

/// What people said, where it is not a refusal.
#[derive(Debug)]
pub(crate) enum Answer {
    /// They agreed.
    Agreed,
    /// Somebody agreed to other arguments, which are to be judged anew.
    Changed(Value),
}

impl Question<'_> {
    /// Asks, and keeps what was asked and answered.
    pub(crate) async fn ask(&self) -> Result<Answer, Refusal> {
        let size = self.request.arguments.to_string().len();
        if size > MOST_BYTES {
            let message =
                format!("arguments of {size} bytes are more than a person can agree to: {MOST_BYTES}");
            return Err(Refusal::new(Code::LimitExceeded, message));
        }
        let Some(approver) = &self.parts.approver else { return Err(self.required()) };
        self.parts.tell(Event::Asked { tool: &self.request.tool, digest: &self.request.digest });
        self.keep("asked", Vec::new(), None).await?;
        let verdict = self.verdict(&**approver).await;
        let by = |by: &String, reason: &String| (vec![by.clone()], Some(reason.clone()));
        let (step, (people, reason)) = match &verdict {
            Verdict::Approved(people) => {
                ("approved", (people.iter().map(|one| one.by.clone()).collect(), None))
            }
            Verdict::Changed { by: who, reason, .. } => ("changed", by(who, reason)),
            Verdict::Denied { by: who, reason } => ("denied", by(who, reason)),
            Verdict::Expired => ("expired", (Vec::new(), None)),
            Verdict::Pending => ("pending", (Vec::new(), None)),
            Verdict::Unreachable(why) => ("unreachable", (Vec::new(), Some(why.clone()))),
        };
        self.keep(step, people, reason).await?;
        match verdict {
            Verdict::Approved(people) if self.are_enough(&people) => Ok(Answer::Agreed),
            Verdict::Changed { arguments, .. } => Ok(Answer::Changed(arguments)),
            Verdict::Denied { by, reason } => {
                let message = format!("{by} refused {}: {reason}", self.subject);
                Err(Refusal::new(Code::ApprovalDenied, message))
            }
            Verdict::Expired => {
                let message = format!("nobody agreed to {} in time", self.subject);
                Err(Refusal::new(Code::ApprovalRequired, message))
            }
            Verdict::Unreachable(why) => {
                let message = format!("people cannot be asked about {}: {why}", self.subject);
                Err(Refusal::new(Code::NotAvailable, message))
            }
            Verdict::Approved(_) | Verdict::Pending => Err(self.required()),
        }
    }

    async fn verdict(&self, approver: &dyn Approver) -> Verdict {
        loop {
            let verdict = AssertUnwindSafe(async { approver.decide(&self.request).await });
            match verdict.catch_unwind().await.unwrap_or(Verdict::Pending) {
                Verdict::Pending if self.patience == Patience::UntilAnswered => {
                    tokio::time::sleep(PAUSE).await;
                }
                verdict => return verdict,
            }
        }
    }

    fn are_enough(&self, approvals: &[Approval]) -> bool {
        let counts =
            |one: &&Approval| one.digest == self.request.digest && !self.request.is_proposed_by(&one.by);
        let mut people: Vec<&str> = approvals.iter().filter(counts).map(|one| one.by.as_str()).collect();
        people.sort_unstable();
        people.dedup();
        people.len() >= self.request.needed.approvals()
    }

    fn required(&self) -> Refusal {
        let people = if self.request.needed == Decision::AskTwo { "two people" } else { "a person" };
        let digest = &self.request.digest;
        let has_store = self.parts.approver.as_ref().is_some_and(|approver| approver.store().is_some());
        // The whole digest: of a part of it somebody could make a second request that has the same.
        let hint = if has_store {
            format!("`ringfence approvals approve {digest}`, and call again")
        } else {
            format!("approve digest {digest}")
        };
        Refusal::new(Code::ApprovalRequired, format!("{people} must agree to {}", self.subject)).hint(hint)
    }

    /// Keeps a step on the way to an approval. One that cannot be kept stops what was asked about.
    async fn keep(&self, step: &'static str, by: Vec<String>, reason: Option<String>) -> Result<(), Refusal> {
        let step = ApprovalStep {
            at: self.parts.clock.now(),
            call: Some(self.call),
            run: Arc::clone(&self.request.run),
            manifest: self.parts.in_force.hash.clone(),
            tool: self.request.tool.to_string(),
            digest: self.request.digest.clone(),
            step,
            by,
            reason,
        };
        let kept = self.parts.append(std::iter::once(AuditEntry::Approval(&step))).await;
        kept.map_err(|error| {
            Refusal::new(Code::AuditFailed, format!("the approval could not be recorded: {error}"))
        })
    }
}
