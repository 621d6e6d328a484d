//! The idempotency key of a call, from its claim to what became of it.
//!
//! INVARIANT: a claimed key is settled exactly once. A call that is given up while it runs leaves its key in doubt,
//! because nobody knows how far the tool came.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use ringfence_policy::{Code, Idempotency, IdempotencyMode, Refusal};
use serde_json::Value;

use super::output::CleanOutput;
use crate::call::Call;
use crate::digest::digest;
use crate::outcome::{Failure, Outcome};
use crate::port::{Claim, IdempotencyStore};

/// What a call is to do about its key.
pub(super) enum Claimed {
    /// Run, and settle this key.
    Key(HeldKey),
    /// Run; there is no key.
    None,
    /// Do not run: the output is already there.
    Replay(Arc<CleanOutput>),
}

/// Claims the key of a call, the caller's own or the business key.
pub(super) async fn claim(
    store: &Arc<dyn IdempotencyStore>,
    call: &Call,
    personality: Option<&str>,
    idempotency: &Idempotency,
    arguments: &Value,
) -> Result<Claimed, Refusal> {
    let Some(mode) = idempotency.mode else { return Ok(Claimed::None) };
    let key = match call.key() {
        Some(key) => Some(key.to_owned()),
        None => business_key(&idempotency.key, arguments)?,
    };
    let Some(key) = key else {
        return match mode {
            IdempotencyMode::Optional => Ok(Claimed::None),
            IdempotencyMode::Required => Err(Refusal::new(
                Code::IdempotencyKeyRequired,
                format!("tool `{}` needs an idempotency key", call.tool()),
            )),
        };
    };
    if key.is_empty() || key.chars().count() > 255 {
        return Err(Refusal::new(Code::InputInvalid, "an idempotency key has 1 to 255 characters"));
    }
    let digest = digest(arguments).map_err(|error| {
        Refusal::new(Code::InputInvalid, format!("the arguments have no digest: {error}"))
    })?;
    // One role's key never replays what a tool told another role.
    let scope = format!("{}/{}", personality.unwrap_or_default(), call.tool());
    match store.claim(&scope, &key, &digest).await {
        Claim::Granted => Ok(Claimed::Key(HeldKey(Some(Held { store: Arc::clone(store), scope, key })))),
        Claim::Replay(output) => Ok(Claimed::Replay(output)),
        Claim::Conflict(why) => {
            Err(Refusal::new(Code::IdempotencyConflict, format!("idempotency key `{key}` {why}")))
        }
        Claim::Unknown => Err(Refusal::new(
            Code::OutcomeUnknown,
            format!(
                "the call with idempotency key `{key}` may or may not have taken effect; it is not repeated"
            ),
        )),
    }
}

/// Builds the business key of a call from the fields the tool named.
fn business_key(fields: &[String], arguments: &Value) -> Result<Option<String>, Refusal> {
    if fields.is_empty() {
        return Ok(None);
    }
    let mut values = Vec::with_capacity(fields.len());
    for field in fields {
        match arguments.get(field) {
            Some(value) => values.push(value),
            None => return Ok(None),
        }
    }
    digest(&values).map(Some).map_err(|error| Refusal::new(Code::InputInvalid, error))
}

/// A key that belongs to a call which has not ended.
pub(crate) struct HeldKey(Option<Held>);

struct Held {
    store: Arc<dyn IdempotencyStore>,
    scope: String,
    key: String,
}

impl HeldKey {
    /// Records what became of the call.
    pub(super) async fn settle(mut self, outcome: &Outcome) {
        let Some(Held { store, scope, key }) = &self.0 else { return };
        match outcome {
            Outcome::Done(output) => store.commit(scope, key, Arc::clone(output)).await,
            Outcome::Failed(Failure { executed: false, .. }) => store.release(scope, key).await,
            // The tool ran, so nobody knows how far it came.
            Outcome::Failed(_) | Outcome::Refused(_) => store.doubt(scope, key).await,
        }
        // Given up before the store has answered, the key is left in doubt by the drop.
        self.0 = None;
    }
}

impl Drop for HeldKey {
    fn drop(&mut self) {
        let Some(Held { store, scope, key }) = self.0.take() else { return };
        let doubt = AssertUnwindSafe(async move { store.doubt(&scope, &key).await }).catch_unwind();
        let mut doubt = Box::pin(doubt);
        // A store in memory is done at once; another goes on in the background, where there is a runtime for it.
        if doubt.as_mut().now_or_never().is_none()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(doubt);
        }
    }
}
