//! What is tried again, and what is found out about a call in doubt.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringfence::policy::{IdempotencyMode, SafetyClass};
use ringfence::{
    Call, IdempotencyStore as _, KeyFilter, KeyState, MemoryIdempotency, Reconciled, Registry, Run, Tool,
    ToolError, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code};

/// Fails the first `failures` times in the way that is asked for.
fn flaky(class: SafetyClass, failures: usize, ran: &Arc<AtomicUsize>) -> impl Tool + use<> {
    let ran = Arc::clone(ran);
    let flaky = tool("flaky").class(class);
    let flaky = if class == SafetyClass::Read { flaky } else { flaky.idempotency(IdempotencyMode::Optional) };
    flaky
        .input::<String>()
        .output::<usize>()
        .run(move |how, _| {
            let times = ran.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                let error = ToolError::new("not now");
                match how.as_str() {
                    _ if times > failures => Ok(times),
                    "own" => Err(error),
                    "permanent" => Err(error.permanent()),
                    "not executed" => Err(error.not_executed()),
                    "refused" => Err(ringfence::Refusal::new(ringfence::Code::HostNotAllowed, "no").into()),
                    other => panic!("{other}"),
                }
            }
        })
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn only_what_does_no_harm_is_tried_again() {
    #[rustfmt::skip]
    let cases = [
        // class                  key    how             failures  ran  done
        (SafetyClass::Read,       false, "own",          2,        3,   true),
        (SafetyClass::Read,       false, "own",          3,        3,   false),
        (SafetyClass::Read,       false, "permanent",    1,        1,   false),
        (SafetyClass::Read,       false, "refused",      1,        1,   false),
        (SafetyClass::Read,       false, "panic",        1,        1,   false),
        (SafetyClass::Write,      false, "own",          1,        1,   false),
        (SafetyClass::Write,      false, "not executed", 1,        1,   false),
        (SafetyClass::Write,      true,  "own",          1,        1,   false),
        (SafetyClass::Write,      true,  "not executed", 2,        3,   true),
        (SafetyClass::Network,    true,  "not executed", 1,        2,   true),
    ];
    for (class, has_key, how, failures, times, done) in cases {
        let ran = Arc::new(AtomicUsize::new(0));
        let stage = Stage::bare().with(flaky(class, failures, &ran));
        let call = Call::new("flaky", json!(how));
        let call = if has_key { call.idempotency_key("k") } else { call };
        let report = stage.make(call).await;
        assert_eq!((ran.load(Ordering::SeqCst), report.outcome.is_done()), (times, done), "{class:?} {how}");
        assert_eq!(stage.last().attempts(), u32::try_from(times).unwrap(), "{class:?} {how}");
    }
}

#[tokio::test(start_paused = true)]
async fn trying_again_ends_with_the_deadline() {
    let ran = Arc::new(AtomicUsize::new(0));
    let stage = Stage::bare().with(flaky(SafetyClass::Read, 9, &ran));
    let report = stage.make(Call::new("flaky", json!("own")).deadline(Duration::from_millis(40))).await;
    assert_eq!(report.outcome.error().as_deref(), Some("not now"));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

/// Fails in the middle; what reconciling finds is the argument.
fn payment(ran: &Arc<AtomicUsize>) -> impl Tool + use<> {
    let ran = Arc::clone(ran);
    tool("pay")
        .idempotency(IdempotencyMode::Required)
        .input::<String>()
        .output::<String>()
        .reconcile(|found, context| async move {
            assert_eq!(context.idempotency_key().unwrap().0, "k");
            match found.as_str() {
                "done" => Ok(Reconciled::Done("receipt\u{200b}".to_owned())),
                "not done" => Ok(Reconciled::NotDone),
                "unknown" => Ok(Reconciled::Unknown),
                "hang" => std::future::pending().await,
                _ => Err(ToolError::new("the bank does not answer")),
            }
        })
        .run(move |_, context| {
            let first = ran.fetch_add(1, Ordering::SeqCst) == 0;
            assert!(context.idempotency_key().is_some());
            async move { if first { Err(ToolError::new("cut off")) } else { Ok("paid".to_owned()) } }
        })
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_can_find_out_settles_its_call_in_doubt() {
    #[rustfmt::skip]
    let cases = [
        // found      value            code               ran  after
        ("done",      Some("receipt"), "",                1,   KeyState::Committed),
        ("not done",  Some("paid"),    "",                2,   KeyState::Committed),
        ("unknown",   None,            "OUTCOME_UNKNOWN", 1,   KeyState::Unknown),
        ("error",     None,            "OUTCOME_UNKNOWN", 1,   KeyState::Unknown),
        ("hang",      None,            "OUTCOME_UNKNOWN", 1,   KeyState::Unknown),
    ];
    for (found, value, expected, times, after) in cases {
        let (ran, keys) = (Arc::new(AtomicUsize::new(0)), Arc::new(MemoryIdempotency::default()));
        let stage =
            Stage::of(Registry::builder().idempotency(Arc::clone(&keys) as Arc<_>)).with(payment(&ran));
        let call = || Call::new("pay", json!(found)).idempotency_key("k");
        assert_eq!(code(&stage.make(call()).await), "EXECUTION_FAILED");
        for _ in 0..2 {
            let report = stage.make(call()).await;
            assert_eq!((report.outcome.value(), code(&report)), (value, expected), "{found}");
        }
        assert_eq!(ran.load(Ordering::SeqCst), times, "{found}");
        assert_eq!(stage.last().is_replayed(), value.is_some());
        let listed = keys.keys(&KeyFilter::default()).await.unwrap();
        assert_eq!((listed.len(), listed[0].state), (1, after), "{found}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_wait_for_the_one_that_has_its_key() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let slow = tool("slow")
        .idempotency(IdempotencyMode::Required)
        .input_schema(json!(true))
        .output::<usize>()
        .run(move |_: Value, _| {
            let times = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                tokio::time::sleep(Duration::from_millis(60)).await;
                Ok(times)
            }
        })
        .unwrap();
    let stage = Stage::bare().with(slow);
    let call = || Call::new("slow", json!({})).idempotency_key("k").wait_in_flight(Duration::from_secs(5));
    let (one, other) = (Run::new("1", "s"), Run::new("2", "s"));
    let (first, second) =
        tokio::join!(stage.registry.call(&one, call()), stage.registry.call(&other, call()));
    assert_eq!((first.outcome.value(), second.outcome.value()), (Some("1"), Some("1")));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_was_done_is_remembered_as_long_as_its_class_demands() {
    #[rustfmt::skip]
    let cases = [
        // class                  kept            passed           replayed
        (SafetyClass::Write,      60,             59,              true),
        (SafetyClass::Write,      60,             60,              false),
        (SafetyClass::Financial,  60,             86_399,          true),
        (SafetyClass::Financial,  60,             86_400,          false),
        (SafetyClass::Financial,  100_000,        99_999,          true),
    ];
    for (class, keep, passed, replayed) in cases {
        let clock = Arc::new(ringfence::ManualClock::default());
        let keys = Arc::new(MemoryIdempotency::new(Arc::clone(&clock) as Arc<_>));
        let ran = Arc::new(AtomicUsize::new(0));
        let builder = Registry::builder()
            .personality(crate::it::stage::personality(json!({"approvals": {"financial": "auto"}})))
            .idempotency(keys)
            .keep_keys(Duration::from_secs(keep));
        let stage = Stage::of(builder).with(flaky(class, 0, &ran));
        let call = || Call::new("flaky", json!("x")).idempotency_key("k");
        assert!(stage.make(call()).await.outcome.is_done());
        clock.advance(Duration::from_secs(passed));
        assert!(stage.make(call()).await.outcome.is_done());
        assert_eq!(stage.last().is_replayed(), replayed, "{class:?} {keep} {passed}");
    }
}
