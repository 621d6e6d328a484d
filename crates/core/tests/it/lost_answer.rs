//! A store that does what it is told and does not say so: no key stays in use by a call that has ended, and none runs twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, pending, ready};
use ringfence::policy::IdempotencyMode;
use ringfence::{
    Call, Claim, Fence, IdempotencyStore, KeyClaim, KeyEntry, KeyFilter, KeyFinding, KeyName, KeyState,
    MemoryIdempotency, Registry, Run, Settled, Settlement, StoreError, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code};

/// Keeps everything, and loses its first answers.
#[derive(Default)]
struct Mumbling {
    inner: MemoryIdempotency,
    /// How many claims are answered before the others are not.
    answered_claims: AtomicUsize,
    /// How many claims are not answered at all.
    silent_claims: AtomicUsize,
    /// How many answers to claims and to settlements are errors.
    lost_claims: AtomicUsize,
    lost_settlements: AtomicUsize,
}

fn takes_one(count: &AtomicUsize) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn lost<T: Send + 'static>() -> BoxFuture<'static, Result<T, StoreError>> {
    ready(Err(StoreError::Unreachable("the line was cut".into()))).boxed()
}

impl IdempotencyStore for Mumbling {
    fn claim<'a>(&'a self, claim: &'a KeyClaim) -> BoxFuture<'a, Result<Claim, StoreError>> {
        let answer = self.inner.claim(claim);
        if takes_one(&self.answered_claims) {
            return answer;
        }
        if takes_one(&self.silent_claims) {
            return pending().boxed();
        }
        if takes_one(&self.lost_claims) { lost() } else { answer }
    }

    fn find<'a>(
        &'a self,
        name: &'a KeyName,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        self.inner.find(name, digest)
    }

    fn settle<'a>(
        &'a self,
        name: &'a KeyName,
        fence: Fence,
        settlement: Settlement,
    ) -> BoxFuture<'a, Result<Settled, StoreError>> {
        if takes_one(&self.lost_settlements) {
            return lost();
        }
        self.inner.settle(name, fence, settlement)
    }

    fn find_out<'a>(&'a self, finding: &'a KeyFinding) -> BoxFuture<'a, Result<Settled, StoreError>> {
        self.inner.find_out(finding)
    }

    fn keys<'a>(&'a self, filter: &'a KeyFilter) -> BoxFuture<'a, Result<Vec<KeyEntry>, StoreError>> {
        self.inner.keys(filter)
    }
}

fn stage(store: &Arc<Mumbling>) -> (Stage, Arc<AtomicUsize>) {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let pay = tool("pay")
        .idempotency(IdempotencyMode::Required)
        .business_key(["invoice"])
        .input_schema(json!(true))
        .output::<usize>()
        .run(move |_: Value, _| {
            let times = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move { Ok(times) }
        })
        .unwrap();
    (Stage::of(Registry::builder().idempotency(Arc::clone(store) as Arc<_>)).with(pay), ran)
}

fn call() -> Call {
    Call::new("pay", json!({})).idempotency_key("k")
}

async fn state(store: &Mumbling) -> Option<KeyState> {
    store.keys(&KeyFilter::default()).await.unwrap().first().map(|entry| entry.state)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_while_it_claims_gives_the_key_back() {
    let store = Arc::new(Mumbling { silent_claims: 1.into(), ..Mumbling::default() });
    let (stage, ran) = stage(&store);
    let dropped = stage.registry.call(&stage.run, call());
    assert!(tokio::time::timeout(Duration::from_millis(10), dropped).await.is_err());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(state(&store).await, Some(KeyState::Failed));
    assert!(stage.registry.call(&Run::new("2", "s"), call()).await.outcome.is_done());
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_between_its_two_keys_gives_back_both() {
    let store = Arc::new(Mumbling::default());
    let (stage, ran) = stage(&store);
    let call = || Call::new("pay", json!({"invoice": 7})).idempotency_key("k");
    // The first key is answered, and the second is not.
    store.answered_claims.store(1, Ordering::SeqCst);
    store.silent_claims.store(1, Ordering::SeqCst);
    let dropped = stage.registry.call(&stage.run, call());
    assert!(tokio::time::timeout(Duration::from_millis(10), dropped).await.is_err());
    tokio::time::sleep(Duration::from_millis(1)).await;
    let states: Vec<_> = store.keys(&KeyFilter::default()).await.unwrap();
    let states: Vec<_> = states.iter().map(|entry| entry.state).collect();
    assert_eq!(states, [KeyState::Failed, KeyState::Failed], "nothing has run");
    assert!(stage.registry.call(&Run::new("2", "s"), call()).await.outcome.is_done());
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_lost_is_asked_for_again() {
    let store = Arc::new(Mumbling { lost_claims: 2.into(), ..Mumbling::default() });
    let (stage, ran) = stage(&store);
    assert_eq!(stage.make(call()).await.outcome.value(), Some("1"));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_reached_refuses_and_the_key_is_free_later() {
    let store = Arc::new(Mumbling { lost_claims: 9.into(), ..Mumbling::default() });
    let (stage, ran) = stage(&store);
    let report = stage.make(call()).await;
    assert_eq!(code(&report), "NOT_AVAILABLE");
    assert_eq!(ran.load(Ordering::SeqCst), 0, "what is not known to be granted does not run");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(state(&store).await, Some(KeyState::Failed));
    assert!(stage.make(call()).await.outcome.is_done());
}

#[tokio::test(start_paused = true)]
async fn what_was_done_and_could_not_be_kept_is_in_doubt_until_it_can() {
    let store = Arc::new(Mumbling { lost_settlements: 9.into(), ..Mumbling::default() });
    let (stage, ran) = stage(&store);
    let report = stage.make(call()).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some(
            "OUTCOME_UNKNOWN: the call with idempotency key `k` was done, but that could not be kept: the store cannot be \
             reached: the line was cut"
        )
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(stage.make(call()).await.outcome.value(), Some("1"), "the store was told in the background");
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}
