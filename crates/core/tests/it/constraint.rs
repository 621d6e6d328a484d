//! Constraints count within one run: how often, after what, and who may ask at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringfence::{Asker, Batch, Call, Run, ToolError, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, echo};

fn limited(times: u32, ran: &Arc<AtomicUsize>) -> impl ringfence::Tool + use<> {
    let ran = Arc::clone(ran);
    tool("commit")
        .max_invocations(times)
        .input_schema(json!({"type": "string"}))
        .output_schema(json!({"type": "string"}))
        .run(move |text: Value, _| {
            let ran = Arc::clone(&ran);
            async move {
                tokio::task::yield_now().await;
                ran.fetch_add(1, Ordering::SeqCst);
                if text == "fail" { Err(ToolError::new("failed")) } else { Ok(text) }
            }
        })
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_maximum_holds_when_calls_race() {
    for _ in 0..20 {
        let ran = Arc::new(AtomicUsize::new(0));
        let stage = Stage::bare().with(limited(3, &ran));
        let calls = (0..40).map(|n| Call::new("commit", json!(n.to_string()))).collect();
        let batch = Batch { concurrency: 40.try_into().unwrap(), output_characters: None };
        let reports = stage.registry.execute_parallel(&stage.run, calls, batch).await;
        assert_eq!(reports.iter().filter(|report| report.outcome.is_done()).count(), 3);
        assert_eq!(reports.iter().filter(|report| code(report) == "CONSTRAINT_VIOLATED").count(), 37);
        assert_eq!(ran.load(Ordering::SeqCst), 3);
    }
}

#[tokio::test]
async fn a_refused_call_gives_its_count_back_and_a_failed_one_does_not() {
    let ran = Arc::new(AtomicUsize::new(0));
    let stage = Stage::bare().with(limited(2, &ran));
    for _ in 0..5 {
        assert_eq!(code(&stage.call("commit", json!(7)).await), "INPUT_INVALID");
    }
    assert_eq!(code(&stage.call("commit", json!("fail")).await), "EXECUTION_FAILED");
    assert!(stage.call("commit", json!("a")).await.outcome.is_done());
    let report = stage.call("commit", json!("b")).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some("CONSTRAINT_VIOLATED: tool `commit` may run at most 2 times in one run")
    );
    assert_eq!(report.outcome.envelope_code(), Some("refused"));

    let fresh = Run::new("run-2", "session-1");
    assert!(stage.registry.call(&fresh, Call::new("commit", json!("a"))).await.outcome.is_done());
    let shared = stage.run.clone();
    let report = stage.registry.call(&shared, Call::new("commit", json!("c"))).await;
    assert_eq!(code(&report), "CONSTRAINT_VIOLATED", "a clone is the same run");
}

#[tokio::test]
async fn a_prerequisite_must_have_completed_not_merely_been_tried() {
    let stage = Stage::bare()
        .with(
            tool("push")
                .only_after(["echo", "check"])
                .input_schema(json!(true))
                .output_schema(json!(true))
                .run(|arguments: Value, _| async { Ok(arguments) })
                .unwrap(),
        )
        .with(echo())
        .with(
            tool("check")
                .input_schema(json!(true))
                .output_schema(json!(true))
                .run(|good: Value, _| async move {
                    if good == true { Ok(good) } else { Err(ToolError::new("red")) }
                })
                .unwrap(),
        );
    let push = || stage.call("push", json!({}));
    assert_eq!(
        push().await.outcome.error().as_deref(),
        Some("CONSTRAINT_VIOLATED: tool `push` may run only after `echo` has completed in this run")
    );
    stage.call("echo", json!(7)).await;
    assert_eq!(code(&push().await), "CONSTRAINT_VIOLATED", "a refused prerequisite is none");
    stage.call("echo", json!("x")).await;
    stage.call("check", json!(false)).await;
    let report = push().await;
    assert!(report.outcome.error().unwrap().contains("only after `check`"), "a failed prerequisite is none");
    stage.call("check", json!(true)).await;
    assert!(push().await.outcome.is_done());
    let other = Run::new("run-2", "session-1");
    let report = stage.registry.call(&other, Call::new("push", json!({}))).await;
    assert_eq!(code(&report), "CONSTRAINT_VIOLATED", "another run starts afresh");
}

#[tokio::test]
async fn a_quarantined_tool_is_called_by_code_and_never_by_a_model() {
    let stage = Stage::bare().with(
        tool("reset")
            .forbidden_to_models()
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|arguments: Value, _| async { Ok(arguments) })
            .unwrap(),
    );
    let report = stage.call("reset", json!({})).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some("CONSTRAINT_VIOLATED: tool `reset` may be called by code, never by a model")
    );
    let call = || Call::new("reset", json!({}));
    assert!(stage.make(call().asked_by(Asker::Code)).await.outcome.is_done());
    assert_eq!(code(&stage.make(call().asked_by(Asker::Model)).await), "CONSTRAINT_VIOLATED");
    let record = serde_json::to_value(stage.last()).unwrap();
    assert_eq!(record["asker"], "model");
}
