//! Claiming a key, and what to do about an earlier call that nobody knows the end of.
//!
//! INVARIANT: a call in doubt runs again only after its tool has said that it did not take effect and no longer can.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use ringfence_policy::{Code, Refusal};
use serde_json::Value;

use super::admit::Desk;
use super::claim::{CallKey, Claimed, HeldKey, HeldKeys, Known, kept_for};
use super::output::{CleanOutput, RawOutput};
use super::registered::{Fit, Registered};
use super::run::Checks;
use crate::call::Call;
use crate::port::{Fence, Settled, Settlement};
use crate::tool::Reconciled;

/// How often a key is claimed, where each time an earlier call is found and dealt with.
const MOST_CLAIMS: usize = 4;

/// What a call is to do about its key.
pub(super) enum Claim {
    /// Run, and settle this key.
    Held(HeldKeys),
    /// Run; there is no key.
    None,
    /// Do not run: the output is already there.
    Replay(Arc<CleanOutput>),
}

impl Desk<'_> {
    /// Returns the output of a call that is known to be done, before people are asked about it.
    pub(super) async fn known(
        &self,
        call: &Call,
        registered: &Arc<Registered>,
        fit: &Fit,
        arguments: &Arc<Value>,
    ) -> Result<Option<Arc<CleanOutput>>, Refusal> {
        for key in self.keys(call, registered, arguments)? {
            let found = match key.known().await? {
                Known::Done(output) => Some(replayed(&output)?),
                Known::InDoubt(fence) => {
                    self.reconcile(call, registered, fit, arguments, &key, fence).await?
                }
                Known::Nothing => None,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Claims the keys of a call that is about to run: all of them, or none.
    pub(super) async fn claim(
        &self,
        call: &Call,
        registered: &Arc<Registered>,
        fit: &Fit,
        arguments: &Arc<Value>,
    ) -> Result<Claim, Refusal> {
        let mut held: Vec<HeldKey> = Vec::new();
        for key in self.keys(call, registered, arguments)? {
            match self.claim_one(call, registered, fit, arguments, &key).await {
                Ok(Ok(one)) => held.push(one),
                Ok(Err(output)) => {
                    let keep = kept_for(registered.class, self.parts.keep_keys);
                    for one in held {
                        let output = output.value().to_string();
                        one.settle_unrun(Settlement::Committed { output, keep }).await;
                    }
                    return Ok(Claim::Replay(output));
                }
                Err(refusal) => {
                    for one in held {
                        one.settle_unrun(Settlement::Failed).await;
                    }
                    return Err(refusal);
                }
            }
        }
        Ok(HeldKeys::new(held).map_or(Claim::None, Claim::Held))
    }

    /// Claims one key, or returns the output of the call that had it.
    async fn claim_one(
        &self,
        call: &Call,
        registered: &Arc<Registered>,
        fit: &Fit,
        arguments: &Arc<Value>,
        key: &CallKey<'_>,
    ) -> Result<Result<HeldKey, Arc<CleanOutput>>, Refusal> {
        for _ in 0..MOST_CLAIMS {
            crate::fail_point::hit("claim");
            match self.unless_cancelled(key.claim()).await?? {
                Claimed::Key(held) => return Ok(Ok(held)),
                Claimed::Known(Known::Done(output)) => return replayed(&output).map(Err),
                Claimed::Known(Known::InDoubt(fence)) => {
                    let found = self.reconcile(call, registered, fit, arguments, key, fence).await?;
                    if let Some(output) = found {
                        return Ok(Err(output));
                    }
                }
                Claimed::Known(Known::Nothing) => {}
            }
        }
        Err(key.in_doubt())
    }

    pub(super) fn keys<'a>(
        &'a self,
        call: &Call,
        registered: &Registered,
        arguments: &Value,
    ) -> Result<Vec<CallKey<'a>>, Refusal> {
        let idempotency = &registered.declaration().idempotency;
        let personality = self.policy.personality_id.as_deref();
        CallKey::all(&self.parts.idempotency, call, self.run.id(), personality, idempotency, arguments)
    }

    /// Asks the tool what became of an earlier call. Returns its output, or nothing where the key is free again.
    async fn reconcile(
        &self,
        call: &Call,
        registered: &Arc<Registered>,
        fit: &Fit,
        arguments: &Arc<Value>,
        key: &CallKey<'_>,
        fence: Fence,
    ) -> Result<Option<Arc<CleanOutput>>, Refusal> {
        if !registered.tool.reconciles() {
            return Err(key.in_doubt());
        }
        let grant = self.granted(registered, fit)?;
        let context = self.context(call, registered, fit, grant, Some((key.key(), fence)));
        let kept = context.clone();
        let asked = AssertUnwindSafe(async { registered.tool.reconcile(arguments, context).await });
        let asked = tokio::time::timeout(self.deadline(call, fit), asked.catch_unwind());
        let asked = self.unless_cancelled(asked).await;
        // Its connections end here; its other handles end with the call.
        kept.take_connections();
        let Ok(Ok(Ok(found))) = asked? else { return Err(key.in_doubt()) };
        let (settlement, output) = match found {
            Reconciled::Done(value) => {
                let passed = Checks::of(registered, fit).pass(RawOutput::new(value));
                let output = passed.map_err(|_| key.in_doubt())?;
                let keep = kept_for(registered.class, self.parts.keep_keys);
                let settlement = Settlement::Committed { output: output.value().to_string(), keep };
                (settlement, Some(Arc::new(output)))
            }
            Reconciled::NotDone => (Settlement::Failed, None),
            Reconciled::Unknown => return Err(key.in_doubt()),
        };
        match key.found_out(fence, settlement).await? {
            Settled::Kept => Ok(output),
            // Somebody else was faster, and the next claim says what they found.
            Settled::Stale => Ok(None),
        }
    }
}

/// Makes an output of what a store has kept. It is cleaned again, since others may have written to the store.
fn replayed(output: &str) -> Result<Arc<CleanOutput>, Refusal> {
    let value = serde_json::from_str(output).map_err(|error| {
        Refusal::new(
            Code::NotAvailable,
            format!("what the call returned was kept and cannot be read: {error}"),
        )
    })?;
    Ok(Arc::new(RawOutput::new(value).clean()))
}
