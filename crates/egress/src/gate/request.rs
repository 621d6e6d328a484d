//! The requests of one HTTP connection, each judged before any byte of it leaves.

use std::fmt;
use std::task::{Context, Poll, ready};

use ringfence_policy::{Code, Refusal, Target};

use super::lane::{Fault, Lane};
use crate::scope::Scope;
use crate::wire::http::{Answer, HttpFault, LONGEST_HEAD, Requests};

/// How many rounds of judging a poll makes before others get their turn.
const ROUNDS: usize = 16;

/// Judges what a client says, and holds back what is not judged yet.
pub(super) struct Judge {
    requests: Requests,
    pending: Vec<u8>,
    approved: Vec<u8>,
    /// Whether something came since the last verdict.
    fresh: bool,
    /// Reads the far side's answer to a request that would change the protocol; nothing passes before it.
    answer: Option<Answer>,
    /// How many requests were let through.
    count: u32,
    /// How many of them were counted against the limit; the connection itself was counted as the first.
    charged: u32,
}

impl Judge {
    pub(super) fn new(target: Target) -> Self {
        let requests = Requests::new(target);
        Self {
            requests,
            pending: Vec::new(),
            approved: Vec::new(),
            fresh: false,
            answer: None,
            count: 0,
            charged: 1,
        }
    }

    /// Adds what the client said.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        self.fresh |= !bytes.is_empty();
    }

    /// Judges what has come; true once the first request may be sent on.
    pub(super) fn first(&mut self) -> Result<bool, Refusal> {
        self.judge().map_err(|fault| refusal(&fault))?;
        Ok(self.count > 0)
    }

    /// Moves what may be sent on from `pending` to `approved`.
    fn judge(&mut self) -> Result<(), HttpFault> {
        let judged = self.requests.judge(&self.pending)?;
        self.fresh = judged.forward > 0 && judged.forward < self.pending.len();
        self.count = self.count.saturating_add(judged.requests);
        if judged.pause {
            self.answer = Some(Answer::default());
        }
        if judged.forward >= self.pending.len() && self.approved.is_empty() {
            self.approved = std::mem::take(&mut self.pending);
        } else {
            self.approved.extend(self.pending.drain(..judged.forward.min(self.pending.len())));
        }
        if self.pending.is_empty() {
            self.pending = Vec::new();
        }
        Ok(())
    }

    /// Hears what the far side says, as long as the client has to wait for it.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Result<(), HttpFault> {
        let Some(answer) = &mut self.answer else { return Ok(()) };
        match answer.take(bytes)? {
            None => return Ok(()),
            Some(101) => self.requests.upgraded(),
            Some(_) => self.requests.not_upgraded(),
        }
        self.answer = None;
        self.fresh = !self.pending.is_empty();
        Ok(())
    }

    /// Tells whether the client has to wait for what the far side says.
    pub(super) const fn is_waiting(&self) -> bool {
        self.answer.is_some()
    }

    /// Sends on what may be sent on, until the end of the client was passed on.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        lane: &mut Lane<'_>,
        scope: &Scope,
    ) -> Poll<Result<(), Fault>> {
        for _ in 0..ROUNDS {
            if lane.is_done() {
                return Poll::Ready(Ok(()));
            }
            ready!(lane.poll_flush(cx))?;
            if !self.approved.is_empty() {
                while self.charged < self.count {
                    scope.meter().request().map_err(Fault::Refused)?;
                    self.charged += 1;
                }
                lane.hold(std::mem::take(&mut self.approved));
                continue;
            }
            let waits = self.is_waiting();
            if waits && self.pending.len() >= LONGEST_HEAD {
                return Poll::Pending;
            }
            if self.fresh && !waits {
                self.judge().map_err(|fault| Fault::Refused(refusal(&fault)))?;
                continue;
            }
            // Also a client that has to wait is heard: it may hang up meanwhile.
            let more = ready!(lane.poll_read(cx, |_, _, bytes| {
                self.add(bytes);
                Poll::Ready(Ok(!bytes.is_empty()))
            }))?;
            if !more {
                lane.finish();
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Makes the refusal of what is no request for this connection.
pub(super) fn refusal(fault: &HttpFault) -> Refusal {
    Refusal::new(Code::HostNotAllowed, fault.to_string())
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("count", &self.count).finish_non_exhaustive()
    }
}
