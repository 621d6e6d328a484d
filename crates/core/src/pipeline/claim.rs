//! The idempotency key of a call, from its claim to what became of it.
//!
//! INVARIANT: a claimed key is settled exactly once. A call that is given up while it runs leaves its key in doubt,
//! because nobody knows how far the tool came. One that is given up while it claims gives the key back, and what a
//! store could not be told is told it in the background: no key stays in use by a call that has ended.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ringfence_policy::{Code, Idempotency, IdempotencyMode, Refusal, SafetyClass};
use serde_json::Value;

use super::retry::Backoff;
use crate::call::Call;
use crate::digest::digest;
use crate::outcome::{Failure, Outcome};
use crate::port::{
    Claim, Fence, IdempotencyStore, KeyClaim, KeyName, MAX_IDEMPOTENCY_KEY, Settled, Settlement, StoreError,
};
use crate::random;

/// The shortest time that what moved money is remembered.
const FINANCIAL: Duration = Duration::from_hours(24);
/// How often a store that does not answer is asked while somebody waits for it.
const ATTEMPTS: u32 = 4;
/// How often it is asked in the background, with pauses of up to two seconds.
const BACKGROUND_ATTEMPTS: u32 = 1_800;

/// What is known of a key.
pub(super) enum Known {
    /// The call is done: this is what it returned, as JSON.
    Done(String),
    /// The call may or may not have taken effect.
    InDoubt(Fence),
    /// Nothing: the call may run.
    Nothing,
}

/// What a claim got.
pub(super) enum Claimed {
    /// Run, and settle this key.
    Key(HeldKey),
    /// Do not run, or not yet.
    Known(Known),
}

/// The key of a call, before it is claimed.
pub(super) struct CallKey<'a> {
    store: &'a Arc<dyn IdempotencyStore>,
    claim: KeyClaim,
    /// How long to wait for another call that has the key.
    wait: Duration,
}

impl<'a> CallKey<'a> {
    /// Finds the keys of a call: the caller's own, the business key, or both. A caller who sends another key does not get
    /// around the tool's business key; none where the tool does without.
    ///
    /// `arguments` are those that the tool would run with. What makes a call the same call are the ones the caller sent, which
    /// people and interceptors do not change.
    pub(super) fn all(
        store: &'a Arc<dyn IdempotencyStore>,
        call: &Call,
        run: &str,
        personality: Option<&str>,
        idempotency: &Idempotency,
        arguments: &Value,
    ) -> Result<Vec<Self>, Refusal> {
        let Some(mode) = idempotency.mode else { return Ok(Vec::new()) };
        let own = call.key().map(str::to_owned);
        let business = business_key(&idempotency.key, arguments)?.filter(|key| own.as_ref() != Some(key));
        if own.is_none() && business.is_none() {
            return match mode {
                IdempotencyMode::Optional => Ok(Vec::new()),
                IdempotencyMode::Required => Err(Refusal::new(
                    Code::IdempotencyKeyRequired,
                    format!("tool `{}` needs an idempotency key", call.tool()),
                )),
            };
        }
        let digest = digest(&*call.arguments()).map_err(|error| {
            Refusal::new(Code::InputInvalid, format!("the arguments have no digest: {error}"))
        })?;
        // One role's key never replays what a tool told another role.
        let scope = format!("{}/{}", personality.unwrap_or_default(), call.tool());
        let keyed = |key: String| {
            if key.is_empty() || key.chars().count() > MAX_IDEMPOTENCY_KEY {
                let message = format!("an idempotency key has 1 to {MAX_IDEMPOTENCY_KEY} characters");
                return Err(Refusal::new(Code::InputInvalid, message));
            }
            let claim = KeyClaim {
                name: KeyName { scope: scope.clone(), key },
                digest: digest.clone(),
                arguments: arguments.to_string(),
                run: run.to_owned(),
                owner: random::name().map_err(|error| Refusal::new(Code::NotAvailable, error))?,
            };
            Ok(Self { store, claim, wait: call.in_flight_wait() })
        };
        own.into_iter().chain(business).map(keyed).collect()
    }

    /// Returns the key as it was given.
    pub(super) fn key(&self) -> &str {
        &self.claim.name.key
    }

    /// Says what is known of the key, without claiming it.
    pub(super) async fn known(&self) -> Result<Known, Refusal> {
        let end = tokio::time::Instant::now() + self.wait;
        let mut backoff = Backoff::new(Duration::from_millis(20));
        loop {
            match self.asking(|| self.store.find(&self.claim.name, &self.claim.digest)).await? {
                None | Some(Claim::Granted(_)) => return Ok(Known::Nothing),
                // Nobody is asked about a call that another one is making.
                Some(Claim::InFlight) if tokio::time::Instant::now() < end => {
                    tokio::time::sleep(backoff.next()).await;
                }
                Some(found) => return self.answered(found),
            }
        }
    }

    /// Claims the key. When it is granted, the store has kept that the call starts.
    pub(super) async fn claim(&self) -> Result<Claimed, Refusal> {
        let end = tokio::time::Instant::now() + self.wait;
        let mut backoff = Backoff::new(Duration::from_millis(20));
        loop {
            // While the answer is awaited, or when there was none, the store may have granted the key all the same.
            let mut claiming = Claiming(Some((Arc::clone(self.store), self.claim.clone())));
            let answer = self.asking(|| self.store.claim(&self.claim)).await?;
            claiming.0 = None;
            match answer {
                Claim::Granted(fence) => {
                    let (store, name) = (Arc::clone(self.store), self.claim.name.clone());
                    let held = Held { store, name, fence, started: false };
                    return Ok(Claimed::Key(HeldKey(Some(held))));
                }
                Claim::InFlight if tokio::time::Instant::now() < end => {
                    tokio::time::sleep(backoff.next()).await;
                }
                found => return self.answered(found).map(Claimed::Known),
            }
        }
    }

    /// Keeps what was found out about an earlier call with this key.
    pub(super) async fn found_out(&self, fence: Fence, settlement: Settlement) -> Result<Settled, Refusal> {
        self.asking(|| self.store.settle(&self.claim.name, fence, settlement.clone())).await
    }

    pub(super) fn in_doubt(&self) -> Refusal {
        let key = self.key();
        Refusal::new(
            Code::OutcomeUnknown,
            format!(
                "the call with idempotency key `{key}` may or may not have taken effect; it is not repeated"
            ),
        )
        .hint(format!("find out what became of it, then `ringfence idempotency settle {key}`"))
    }

    fn answered(&self, found: Claim) -> Result<Known, Refusal> {
        let conflict = |why: &str| {
            let message = format!("idempotency key `{}` {why}", self.key());
            Err(Refusal::new(Code::IdempotencyConflict, message))
        };
        match found {
            Claim::Conflict => conflict("was used with other arguments"),
            Claim::InFlight => conflict("is in use by a call that has not ended"),
            Claim::Replay(output) => Ok(Known::Done(output)),
            Claim::Unknown(fence) => Ok(Known::InDoubt(fence)),
            Claim::Granted(_) => Ok(Known::Nothing),
        }
    }

    /// Asks the store, and again where it does not answer: nothing has started, so that asking twice is safe.
    async fn asking<T, F>(&self, ask: impl Fn() -> F) -> Result<T, Refusal>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        persistently(ATTEMPTS, ask).await.map_err(|error| {
            let message = format!("the idempotency key `{}` cannot be claimed: {error}", self.key());
            Refusal::new(Code::NotAvailable, message)
        })
    }
}

/// Asks a store again while it cannot be reached.
async fn persistently<T, F>(most: u32, ask: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut backoff = Backoff::new(Duration::from_millis(50));
    let mut attempts = 1;
    loop {
        match ask().await {
            Err(StoreError::Unreachable(_)) if attempts < most => {
                attempts += 1;
                tokio::time::sleep(backoff.next()).await;
            }
            answer => return answer,
        }
    }
}

/// Goes on without anybody who waits for it, where there is a runtime for that. A store in memory is done at once.
fn in_background(work: impl Future<Output = ()> + Send + 'static) {
    let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind());
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        if work.as_mut().now_or_never().is_none() {
            runtime.spawn(work);
        }
    } else {
        // Without a runtime there are no timers either, and a store that needs one is not reached any more.
        let _done = std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().now_or_never()));
    }
}

/// A claim whose answer is not known. Given up, it gives back what it may have got: nothing has run.
struct Claiming(Option<(Arc<dyn IdempotencyStore>, KeyClaim)>);

impl Drop for Claiming {
    fn drop(&mut self) {
        let Some((store, claim)) = self.0.take() else { return };
        in_background(async move {
            // Claimed again under the same owner, the answer is the one that was lost.
            let answer = persistently(BACKGROUND_ATTEMPTS, || store.claim(&claim)).await;
            if let Ok(Claim::Granted(fence)) = answer {
                let settle = || store.settle(&claim.name, fence, Settlement::Failed);
                let _settled = persistently(BACKGROUND_ATTEMPTS, settle).await;
            }
        });
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

/// Returns how long what a call of this class returned is kept for those who ask again.
pub(super) fn kept_for(class: SafetyClass, keep: Duration) -> Duration {
    if class >= SafetyClass::Financial { keep.max(FINANCIAL) } else { keep }
}

/// The keys that belong to a call which has not ended: the first, and a second where the caller and the tool each have one.
pub(crate) struct HeldKeys {
    first: HeldKey,
    second: Option<HeldKey>,
}

impl HeldKeys {
    /// Puts keys together, in the order they were claimed. The call runs now: from here on its keys are in doubt when it is given up.
    pub(super) fn new(keys: Vec<HeldKey>) -> Option<Self> {
        let mut keys = keys.into_iter().map(HeldKey::started);
        Some(Self { first: keys.next()?, second: keys.next() })
    }

    /// Returns the first key and its fence.
    pub(super) fn name(&self) -> Option<(&str, Fence)> {
        self.first.name()
    }

    /// Resolves when others may take this process for dead.
    pub(super) async fn lost(&self) {
        self.first.lost().await;
    }

    /// Records what became of the call, and returns the outcome that can be stood by.
    pub(super) async fn settle(self, mut outcome: Outcome, keep: Duration) -> Outcome {
        if let Some(second) = self.second {
            outcome = second.settle(outcome, keep).await;
        }
        self.first.settle(outcome, keep).await
    }
}

/// A key that belongs to a call which has not ended.
pub(crate) struct HeldKey(Option<Held>);

struct Held {
    store: Arc<dyn IdempotencyStore>,
    name: KeyName,
    fence: Fence,
    /// Whether the call runs.
    started: bool,
}

impl HeldKey {
    fn started(mut self) -> Self {
        if let Some(held) = &mut self.0 {
            held.started = true;
        }
        self
    }

    /// Returns the key and its fence.
    fn name(&self) -> Option<(&str, Fence)> {
        self.0.as_ref().map(|held| (held.name.key.as_str(), held.fence))
    }

    /// Resolves when others may take this process for dead.
    async fn lost(&self) {
        match &self.0 {
            Some(held) => held.store.lost().await,
            None => std::future::pending().await,
        }
    }

    /// Keeps what became of another call in the place of this one, which did not run.
    pub(super) async fn settle_unrun(mut self, settlement: Settlement) {
        let Some(Held { store, name, fence, .. }) = self.0.take() else { return };
        let settle = || store.settle(&name, fence, settlement.clone());
        if persistently(ATTEMPTS, settle).await.is_err() {
            in_background(async move {
                let settle = || store.settle(&name, fence, settlement.clone());
                let _settled = persistently(BACKGROUND_ATTEMPTS, settle).await;
            });
        }
    }

    /// Records what became of the call, and returns the outcome that can be stood by: one that could not be kept is in
    /// doubt, because a retry will be told so.
    async fn settle(mut self, outcome: Outcome, keep: Duration) -> Outcome {
        let Some(Held { store, name, fence, .. }) = &self.0 else { return outcome };
        let settlement = match &outcome {
            Outcome::Done(output) => Settlement::Committed { output: output.value().to_string(), keep },
            Outcome::Failed(Failure { executed: false, .. }) => Settlement::Failed,
            // The tool ran, so nobody knows how far it came.
            Outcome::Failed(_) | Outcome::Refused(_) => Settlement::Unknown,
        };
        let settled = persistently(ATTEMPTS, || store.settle(name, *fence, settlement.clone())).await;
        // Given up before the store has answered, the key is left in doubt by the drop.
        let Some(Held { store, name, fence, .. }) = self.0.take() else { return outcome };
        let key = name.key.clone();
        if settled.is_err() {
            // It is in doubt for now, and as soon as the store can be told, it is not.
            in_background(async move {
                let settle = || store.settle(&name, fence, settlement.clone());
                let _settled = persistently(BACKGROUND_ATTEMPTS, settle).await;
            });
        }
        match (settled, &outcome) {
            (Ok(Settled::Kept), _) | (_, Outcome::Failed(_) | Outcome::Refused(_)) => outcome,
            (Ok(Settled::Stale), Outcome::Done(_)) => in_doubt(&key, "its key was settled by somebody else"),
            (Err(error), Outcome::Done(_)) => in_doubt(&key, &format!("that could not be kept: {error}")),
        }
    }
}

fn in_doubt(key: &str, why: &str) -> Outcome {
    let message = format!("the call with idempotency key `{key}` was done, but {why}");
    Outcome::Failed(Failure::coded(Code::OutcomeUnknown, message))
}

impl Drop for HeldKey {
    fn drop(&mut self) {
        let Some(Held { store, name, fence, started }) = self.0.take() else { return };
        let settlement = if started { Settlement::Unknown } else { Settlement::Failed };
        in_background(async move {
            let settle = || store.settle(&name, fence, settlement.clone());
            let _settled = persistently(BACKGROUND_ATTEMPTS, settle).await;
        });
    }
}
