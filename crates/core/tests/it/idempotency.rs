//! A call that comes again is recognised, replayed, refused or left in doubt, and never run twice by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringfence::policy::IdempotencyMode;
use ringfence::{Call, Run, Tool, ToolError, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, envelope};

/// Pays; what goes wrong is asked for by the argument `do`.
fn pay(mode: IdempotencyMode, ran: &Arc<AtomicUsize>) -> impl Tool + use<> {
    let ran = Arc::clone(ran);
    tool("pay")
        .idempotency(mode)
        .business_key(["invoice"])
        .input_schema(json!({"type": "object"}))
        .output_schema(json!({"type": "object"}))
        .run(move |arguments: Value, context| {
            let times = ran.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                match arguments["do"].as_str() {
                    Some("fail") => Err(ToolError::new("declined")),
                    Some("never") => Err(ToolError::new("offline").not_executed()),
                    Some("lie") => Ok(json!("no object")),
                    Some("panic") => panic!("oops"),
                    Some("hang") => {
                        context.cancellation().cancelled().await;
                        std::future::pending().await
                    }
                    _ => Ok(json!({"paid": times})),
                }
            }
        })
        .unwrap()
}

fn stage(mode: IdempotencyMode) -> (Stage, Arc<AtomicUsize>) {
    let ran = Arc::new(AtomicUsize::new(0));
    (Stage::bare().with(pay(mode, &ran)), ran)
}

fn keyed(key: &str, arguments: Value) -> Call {
    Call::new("pay", arguments).idempotency_key(key)
}

#[tokio::test]
async fn a_required_key_must_be_there_and_sane() {
    let (stage, ran) = stage(IdempotencyMode::Required);
    let report = stage.call("pay", json!({"n": 1})).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some("IDEMPOTENCY_KEY_REQUIRED: tool `pay` needs an idempotency key")
    );
    for key in [String::new(), "k".repeat(256)] {
        assert_eq!(code(&stage.make(keyed(&key, json!({}))).await), "INPUT_INVALID");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert!(stage.make(keyed(&"é".repeat(255), json!({}))).await.outcome.is_done());
    let huge = json!({"n": 9_007_199_254_740_993_u64});
    assert_eq!(code(&stage.make(keyed("huge", huge)).await), "INPUT_INVALID", "no digest, no key");
}

#[tokio::test]
async fn the_same_call_is_replayed_and_another_under_its_key_is_a_conflict() {
    let (stage, ran) = stage(IdempotencyMode::Required);
    let first = stage.make(keyed("k", json!({"a": 1, "b": 2}))).await;
    let again = stage.make(keyed("k", json!({"b": 2, "a": 1}))).await;
    assert_eq!(envelope(&first), envelope(&again), "the order of fields makes no other call");
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    let other = stage.make(keyed("k", json!({"a": 2}))).await;
    assert_eq!(
        other.outcome.error().as_deref(),
        Some("IDEMPOTENCY_CONFLICT: idempotency key `k` was used with other arguments")
    );
    let run = Run::new("run-2", "session-2");
    let elsewhere = stage.registry.call(&run, keyed("k", json!({"a": 1, "b": 2}))).await;
    assert_eq!(envelope(&elsewhere), envelope(&first), "a retry from another run is a retry");
    assert!(stage.make(keyed("other", json!({"a": 1, "b": 2}))).await.outcome.is_done());
    assert_eq!(ran.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_business_key_stands_in_where_the_caller_sends_none() {
    let (stage, ran) = stage(IdempotencyMode::Required);
    let first = stage.call("pay", json!({"invoice": 7, "sum": 1})).await;
    assert!(first.outcome.is_done());
    assert_eq!(envelope(&stage.call("pay", json!({"invoice": 7, "sum": 1})).await), envelope(&first));
    assert_eq!(code(&stage.call("pay", json!({"invoice": 7, "sum": 2})).await), "IDEMPOTENCY_CONFLICT");
    assert!(stage.call("pay", json!({"invoice": 8, "sum": 2})).await.outcome.is_done());
    assert_eq!(code(&stage.call("pay", json!({"sum": 2})).await), "IDEMPOTENCY_KEY_REQUIRED");
    assert_eq!(ran.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_nobody_knows_and_nothing_runs_again() {
    for what in ["fail", "lie", "panic", "hang"] {
        let (stage, ran) = stage(IdempotencyMode::Optional);
        let call = || keyed("k", json!({"do": what})).deadline(Duration::from_millis(20));
        let first = stage.make(call()).await;
        assert_eq!(first.outcome.envelope_code(), Some("execution_failed"), "{what}");
        let again = stage.make(call()).await;
        assert_eq!(
            again.outcome.error().as_deref(),
            Some(
                "OUTCOME_UNKNOWN: the call with idempotency key `k` may or may not have taken effect; it is not \
                 repeated"
            ),
            "{what}"
        );
        assert_eq!(ran.load(Ordering::SeqCst), 1, "{what}");
    }
}

#[tokio::test]
async fn what_certainly_did_not_happen_may_be_tried_again() {
    let (stage, ran) = stage(IdempotencyMode::Optional);
    for _ in 0..2 {
        let report = stage.make(keyed("k", json!({"do": "never"}))).await;
        assert_eq!(report.outcome.error().as_deref(), Some("offline"));
    }
    assert_eq!(ran.load(Ordering::SeqCst), 6, "each call tries three times");
    assert_eq!(stage.last().attempts(), 3);
    assert!(stage.make(keyed("k", json!({"do": "it"}))).await.outcome.is_done());
    assert_eq!(ran.load(Ordering::SeqCst), 7);
}

#[tokio::test]
async fn a_key_in_use_is_a_conflict_until_its_call_ends() {
    let (stage, _) = stage(IdempotencyMode::Optional);
    let call = || keyed("k", json!({"do": "hang"}));
    let slow = stage.registry.call(&stage.run, call());
    let meanwhile = async {
        let report = stage.registry.call(&Run::new("run-2", "s"), call()).await;
        stage.run.cancel();
        report
    };
    let (slow, meanwhile) = tokio::join!(slow, meanwhile);
    assert_eq!(
        meanwhile.outcome.error().as_deref(),
        Some("IDEMPOTENCY_CONFLICT: idempotency key `k` is in use by a call that has not ended")
    );
    assert_eq!(code(&slow), "CANCELLED");
    let after = stage.registry.call(&Run::new("run-3", "s"), call()).await;
    assert_eq!(code(&after), "OUTCOME_UNKNOWN");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_leaves_its_key_in_doubt() {
    let (stage, _) = stage(IdempotencyMode::Optional);
    let call = || keyed("k", json!({"do": "hang"}));
    let dropped = stage.registry.call(&stage.run, call());
    assert!(tokio::time::timeout(Duration::from_millis(10), dropped).await.is_err());
    let after = stage.registry.call(&Run::new("run-2", "s"), call()).await;
    assert_eq!(code(&after), "OUTCOME_UNKNOWN", "{:?}", after.outcome);
}

#[tokio::test]
async fn keys_are_ignored_where_the_tool_does_not_ask_for_them() {
    let stage = Stage::bare().with(crate::it::stage::echo());
    for text in ["a", "b"] {
        let report = stage.make(Call::new("echo", json!(text)).idempotency_key("k")).await;
        assert_eq!(report.outcome.value(), Some(text));
    }
}

#[tokio::test]
async fn another_key_of_the_caller_does_not_get_around_the_business_key() {
    let (stage, ran) = stage(IdempotencyMode::Required);
    let pay = |key: &str, sum: u64| keyed(key, json!({"invoice": 7, "sum": sum}));
    let first = stage.make(pay("a", 1)).await;
    for key in ["b", "c", "a", "b"] {
        assert_eq!(envelope(&stage.make(pay(key, 1)).await), envelope(&first), "{key}");
    }
    assert_eq!(code(&stage.make(pay("d", 2)).await), "IDEMPOTENCY_CONFLICT", "the same invoice, another sum");
    assert_eq!(
        code(&stage.make(keyed("a", json!({"invoice": 8}))).await),
        "IDEMPOTENCY_CONFLICT",
        "the caller's key"
    );
    assert!(
        stage.make(keyed("d", json!({"invoice": 8}))).await.outcome.is_done(),
        "a refused call keeps no key"
    );
    assert_eq!(ran.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn both_keys_are_in_doubt_together() {
    let (stage, ran) = stage(IdempotencyMode::Required);
    let pay = |key: &str| keyed(key, json!({"invoice": 7, "do": "fail"}));
    assert_eq!(code(&stage.make(pay("a")).await), "EXECUTION_FAILED");
    for key in ["a", "b"] {
        assert_eq!(code(&stage.make(pay(key)).await), "OUTCOME_UNKNOWN", "{key}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}
