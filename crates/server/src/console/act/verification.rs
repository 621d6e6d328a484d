//! Verifying the whole log while people do something else.
//!
//! INVARIANT: one verification goes on at a time, and the audit knows who began it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ringfence::Role;
use ringfence::audit::{Progress, Verified};
use serde_json::json;

use super::super::fault::Fault;
use super::super::front::{Caller, Front, now};

/// How many of the newest records may lack a signed checkpoint, as for the command.
const TAIL: u64 = 1_000;

/// The verification that goes on, or the last one.
#[derive(Debug, Default)]
pub(crate) struct Verifications(Mutex<Option<Verifying>>);

/// A verification.
#[derive(Clone, Debug)]
pub(crate) struct Verifying {
    /// Which one it is, so that only its own task ends it.
    number: u64,
    /// Who began it.
    pub(crate) by: String,
    /// When it began, since 1970.
    pub(crate) began: Duration,
    /// How far it has come.
    pub(crate) progress: Progress,
    /// What came of it, or why nothing did; absent while it goes on.
    pub(crate) ended: Option<(Duration, Result<Verified, String>)>,
}

impl Verifications {
    /// Returns the verification that goes on, or the last one.
    pub(crate) fn last(&self) -> Option<Verifying> {
        self.lock().clone()
    }

    /// Begins one, unless one goes on.
    fn begin(&self, by: &str) -> Result<(u64, Progress), Fault> {
        let mut last = self.lock();
        if last.as_ref().is_some_and(|last| last.ended.is_none()) {
            return Err(Fault::conflict("a verification goes on already").hint("wait for its result"));
        }
        let (number, progress) = (last.as_ref().map_or(0, |last| last.number + 1), Progress::default());
        let shared = progress.clone();
        *last = Some(Verifying { number, by: by.to_owned(), began: now(), progress: shared, ended: None });
        Ok((number, progress))
    }

    fn end(&self, number: u64, result: Result<Verified, String>) {
        if let Some(last) = self.lock().as_mut().filter(|last| last.number == number) {
            last.ended.get_or_insert((now(), result));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Verifying>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a verification whatever happens to its task.
struct Ending {
    front: Arc<Front>,
    number: u64,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.front.verifications.end(self.number, Err("it was given up".to_owned()));
    }
}

/// Begins to verify the whole log.
pub(crate) async fn verify(front: &Arc<Front>, caller: &Caller) -> Result<(), Fault> {
    caller.at_least(Role::Approver)?;
    let trust = front.trust.clone().ok_or_else(|| {
        Fault::conflict("nobody has said whose checkpoints are believed")
            .hint("give the public key of the log as `trust` in `[console]` of the policy file")
    })?;
    let (number, progress) = front.verifications.begin(caller.name())?;
    let ending = Ending { front: Arc::clone(front), number };
    // What the audit does not keep is not begun; `ending` then says so.
    front.keep(caller, "verified audit", json!({ "step": "began" })).await?;
    let caller = caller.clone();
    tokio::spawn(async move {
        let front = &ending.front;
        let result = front.store.log.verify(&trust, TAIL, &progress).await;
        if let Ok(verified) = &result {
            let about = json!({
                "step": "ended", "intact": verified.is_intact(), "records": verified.records,
                "proven": verified.proven, "root": verified.root,
            });
            if let Err(fault) = front.keep(&caller, "verified audit", about).await {
                tracing::warn!("the end of a verification could not be recorded: {}", fault.problem.error);
            }
        }
        front.verifications.end(number, result.map_err(|error| error.to_string()));
    });
    Ok(())
}
