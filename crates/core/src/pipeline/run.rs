//! Stage three: the tool runs, and what it returns is checked.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::poll_immediate;
use ringfence_policy::Code;
use serde_json::Value;
use tokio::time::Instant;

use super::claim::HeldKeys;
use super::output::{CleanOutput, RawOutput};
use super::registered::{Fit, Registered};
use super::retry::{Backoff, Harm, again};
use super::stage::{Stage, Stages};
use crate::context::Context;
use crate::outcome::Failure;
use crate::registry::panic_text;

/// The first pause before a call is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A call that may run, with everything it needs. Only [`Desk::admit`] makes one.
pub(crate) struct Admitted {
    pub(super) registered: Arc<Registered>,
    pub(super) arguments: Arc<Value>,
    pub(super) context: Context,
    pub(super) deadline: Duration,
    pub(super) checks: Checks,
    /// How long what it returns is kept for those who ask again.
    pub(super) keep: Duration,
}

impl Admitted {
    /// Returns the context that the tool gets.
    pub(crate) fn context(&self) -> Context {
        self.context.clone()
    }

    /// Runs the tool, and again where that does no harm. Returns how often it ran.
    pub(crate) async fn run(
        &self,
        key: Option<&HeldKeys>,
        stages: &mut Stages,
    ) -> (Result<CleanOutput, Failure>, u32) {
        let now = Instant::now();
        stages.enter_at(Stage::Run, now.into_std());
        let end = now + self.deadline;
        let harm = Harm {
            class: self.registered.class,
            declares_idempotency: self.registered.declaration().idempotency.mode.is_some(),
            has_key: key.is_some(),
        };
        let mut backoff = Backoff::new(FIRST_PAUSE);
        let mut attempt = 1;
        loop {
            let ran = self.run_once(end, key).await;
            stages.enter(Stage::Clean);
            let passed = ran.and_then(|raw| self.checks.pass(raw));
            let pause = match &passed {
                Err(failure) if again(harm, failure, attempt) => backoff.next(),
                _ => return (passed, attempt),
            };
            let cancelled = self.context.run().as_run().cancellation();
            if Instant::now() + pause >= end || cancelled.is_cancelled() {
                return (passed, attempt);
            }
            stages.enter(Stage::Run);
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// Returns how long what it returned is kept for those who ask again.
    pub(crate) const fn keep(&self) -> Duration {
        self.keep
    }

    /// Runs the tool. A panic, a missed deadline or a cancelled run is a failure like any other.
    async fn run_once(&self, end: Instant, key: Option<&HeldKeys>) -> Result<RawOutput, Failure> {
        let (tool, run) = (&self.registered.tool, self.context.run().as_run().clone());
        let context = self.context.clone();
        // Inside a block, because a tool may panic before it returns its future.
        let work = AssertUnwindSafe(async { tool.call(&self.arguments, context).await }).catch_unwind();
        let mut work = std::pin::pin!(work);
        // Many tools are done at once and need neither a timer nor a place in the run's list of waiters.
        let ended = match poll_immediate(&mut work).await {
            Some(ended) => Ok(ended),
            None => tokio::select! {
                biased;
                ended = tokio::time::timeout_at(end, work) => ended,
                () = run.cancellation().cancelled() => {
                    return Err(Failure::coded(Code::Cancelled, "the run was cancelled"));
                }
                () = lost(key) => {
                    let message = "the store could not be told that the call goes on, so it was given up";
                    return Err(Failure::coded(Code::OutcomeUnknown, message));
                }
            },
        };
        match ended {
            Err(_) => {
                let seconds = self.deadline.as_secs_f64();
                Err(Failure::coded(
                    Code::DeadlineExceeded,
                    format!("the tool did not end within {seconds} seconds"),
                ))
            }
            Ok(Err(panic)) => Err(Failure {
                code: Code::ExecutionFailed,
                message: format!("the tool panicked: {}", panic_text(&*panic)),
                executed: true,
                again: false,
            }),
            Ok(Ok(Err(error))) => Err(Failure {
                code: error.code().unwrap_or(Code::ExecutionFailed),
                message: error.to_string(),
                executed: error.was_executed(),
                again: error.code().is_none() && !error.is_permanent(),
            }),
            Ok(Ok(Ok(value))) => Ok(RawOutput::new(value)),
        }
    }
}

/// Resolves when others may take this process for dead, where the call has a key.
async fn lost(key: Option<&HeldKeys>) {
    match key {
        Some(key) => key.lost().await,
        None => std::future::pending().await,
    }
}

/// What a clean output still has to pass.
pub(crate) struct Checks {
    registered: Arc<Registered>,
    limit: Option<usize>,
}

impl Checks {
    pub(super) fn of(registered: &Arc<Registered>, fit: &Fit) -> Self {
        let limit = fit.limits.output.map(|size| usize::try_from(size.bytes()).unwrap_or(usize::MAX));
        Self { registered: Arc::clone(registered), limit }
    }

    /// Measures the output, cleans it, checks it against its schema, and cuts it to its limit.
    pub(crate) fn pass(&self, raw: RawOutput) -> Result<CleanOutput, Failure> {
        raw.measure(self.limit)
            .map_err(|error| Failure::coded(Code::LimitExceeded, format!("the output is {error}")))?;
        let output = raw.clean();
        if let Some(described) = self.registered.tool.described(output.value()) {
            let checked = self.registered.output.check(described);
            checked.map_err(|violation| Failure::coded(Code::OutputInvalid, violation))?;
        }
        Ok(match self.limit {
            Some(limit) => output.limited(limit),
            None => output,
        })
    }
}
