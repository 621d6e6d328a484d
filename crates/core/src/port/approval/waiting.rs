//! Waiting for people behind a store.
//!
//! INVARIANT: a call that is given up while it waits says so, so that nobody goes on with it after a restart.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::Instant;

use super::{ApprovalError, ApprovalRequest, ApprovalStore, Standing};
use crate::port::approver::{Approver, Verdict};

/// How often a request is looked at, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Asks people through a store: files a request, and waits for what they say.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use ringfence::{MemoryApprovals, Registry, StoreApprover};
///
/// let approvals = Arc::new(MemoryApprovals::default());
/// let registry = Registry::builder()
///     .approver(Arc::new(StoreApprover::new(approvals).wait(Duration::from_secs(300))))
///     .build();
/// ```
pub struct StoreApprover {
    store: Arc<dyn ApprovalStore>,
    wait: Duration,
    expires: Duration,
}

impl StoreApprover {
    /// Asks and does not wait: a call is refused `APPROVAL_REQUIRED`, and runs when it comes again after people agreed.
    /// Requests expire after an hour.
    pub fn new(store: Arc<dyn ApprovalStore>) -> Self {
        Self { store, wait: Duration::ZERO, expires: Duration::from_hours(1) }
    }

    /// Lets a call wait this long for people.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Lets requests expire after this time.
    #[must_use]
    pub const fn expires(mut self, expires: Duration) -> Self {
        self.expires = expires;
        self
    }

    async fn ask(&self, request: &ApprovalRequest) -> Result<Verdict, ApprovalError> {
        let id = self.store.file(request, self.expires).await?;
        let end = Instant::now() + self.wait;
        let mut waiting = Waiting { store: &self.store, id: Some(id.clone()) };
        let mut pause = PAUSES.0;
        let verdict = loop {
            match self.store.take(&id).await? {
                Standing::Approved(people) => break Verdict::Approved(people),
                Standing::Changed { arguments, by, reason } => {
                    break Verdict::Changed { arguments, by, reason };
                }
                Standing::Denied { by, reason } => break Verdict::Denied { by, reason },
                Standing::Expired => break Verdict::Expired,
                Standing::Taken => break Verdict::Pending,
                Standing::Open if Instant::now() >= end => break Verdict::Pending,
                Standing::Open => {
                    tokio::time::sleep_until(end.min(Instant::now() + pause)).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        };
        if !matches!(verdict, Verdict::Approved(_)) {
            self.store.leave(&id).await?;
        }
        waiting.id = None;
        Ok(verdict)
    }
}

impl Approver for StoreApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        let asked = self.ask(request);
        async move { asked.await.unwrap_or_else(|error| Verdict::Unreachable(error.to_string())) }.boxed()
    }

    fn store(&self) -> Option<&Arc<dyn ApprovalStore>> {
        Some(&self.store)
    }
}

/// A call that waits.
struct Waiting<'a> {
    store: &'a Arc<dyn ApprovalStore>,
    id: Option<String>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let store = Arc::clone(self.store);
            runtime.spawn(async move {
                // What cannot be told now looks like a process that has died, and the request expires.
                let _left = store.leave(&id).await;
            });
        }
    }
}

impl std::fmt::Debug for StoreApprover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreApprover")
            .field("wait", &self.wait)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
