//! Runs that are counted in a store: their constraints hold in every registry that continues them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{BoxFuture, FutureExt, join_all, ready};
use ringfence::{Call, MemoryStore, Registry, Run, Store, StoreError, ToolError, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code};

/// A registry as a process of its own would make it, with the store that all share.
fn process(store: &Arc<dyn Store>, ran: &Arc<AtomicUsize>) -> Stage {
    let ran = Arc::clone(ran);
    Stage::of(Registry::builder().runs(Arc::clone(store)))
        .with(
            tool("first")
                .input_schema(json!(true))
                .output_schema(json!(true))
                .run(|fails: Value, _| async move {
                    if fails == json!(true) {
                        Err(ToolError::new("failed").permanent())
                    } else {
                        Ok(json!("done"))
                    }
                })
                .unwrap(),
        )
        .with(
            tool("second")
                .only_after(["first"])
                .max_invocations(2)
                .input_schema(json!({"type": "object"}))
                .output_schema(json!(true))
                .run(move |_: Value, _| {
                    ran.fetch_add(1, Ordering::SeqCst);
                    async { Ok(json!("done")) }
                })
                .unwrap(),
        )
}

async fn call(stage: &Stage, run: &str, tool: &str, arguments: Value) -> &'static str {
    code(&stage.registry.call(&Run::new(run, "session"), Call::new(tool, arguments)).await)
}

#[tokio::test]
async fn constraints_hold_from_one_process_to_the_next() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let ran = Arc::default();
    let fresh = || process(&store, &ran);
    assert_eq!(call(&fresh(), "r", "second", json!({})).await, "CONSTRAINT_VIOLATED");
    assert_eq!(call(&fresh(), "r", "first", json!(true)).await, "EXECUTION_FAILED");
    assert_eq!(call(&fresh(), "r", "second", json!({})).await, "CONSTRAINT_VIOLATED", "it has not completed");
    assert_eq!(call(&fresh(), "r", "first", json!({})).await, "");
    assert_eq!(
        call(&fresh(), "r", "second", json!(7)).await,
        "INPUT_INVALID",
        "a refused call costs nothing"
    );
    assert_eq!(call(&fresh(), "r", "second", json!({})).await, "");
    assert_eq!(call(&fresh(), "r", "second", json!({})).await, "");
    assert_eq!(call(&fresh(), "r", "second", json!({})).await, "CONSTRAINT_VIOLATED");
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    assert_eq!(call(&fresh(), "other", "second", json!({})).await, "CONSTRAINT_VIOLATED", "a run of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_maximum_holds_when_processes_race() {
    for _ in 0..20 {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let ran = Arc::default();
        call(&process(&store, &ran), "r", "first", json!({})).await;
        let calls = (0..16).map(|_| {
            let stage = process(&store, &ran);
            tokio::spawn(async move { call(&stage, "r", "second", json!({})).await })
        });
        let done = join_all(calls).await.into_iter().filter(|code| code.as_ref().unwrap().is_empty()).count();
        assert!(done <= 2 && done == ran.load(Ordering::SeqCst), "{done}");
    }
}

/// A store that cannot be reached.
struct Gone;

impl Store for Gone {
    fn get<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        ready(Err(StoreError::Unreachable("gone".into()))).boxed()
    }

    fn set<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: &'a str,
        _: Option<std::time::Duration>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Err(StoreError::Unreachable("gone".into()))).boxed()
    }

    fn delete<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Err(StoreError::Unreachable("gone".into()))).boxed()
    }

    fn list<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        ready(Err(StoreError::Unreachable("gone".into()))).boxed()
    }

    fn clear<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Err(StoreError::Unreachable("gone".into()))).boxed()
    }
}

#[tokio::test]
async fn a_run_that_cannot_be_counted_does_not_run() {
    let ran = Arc::default();
    let stage = process(&(Arc::new(Gone) as Arc<dyn Store>), &ran);
    assert_eq!(call(&stage, "r", "first", json!({})).await, "NOT_AVAILABLE");
    assert_eq!(call(&stage, "r", "second", json!({})).await, "NOT_AVAILABLE");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_run_that_was_ended_begins_anew() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let ran = Arc::default();
    let stage = process(&store, &ran);
    for (tool, expected) in [("first", ""), ("second", ""), ("second", ""), ("second", "CONSTRAINT_VIOLATED")]
    {
        assert_eq!(call(&stage, "r", tool, json!({})).await, expected);
    }
    assert!(!store.list("run:r", "").await.unwrap().is_empty());
    stage.registry.end_run(&Run::new("r", "session")).await.unwrap();
    assert_eq!(store.list("run:r", "").await.unwrap(), [""; 0]);
    assert_eq!(call(&process(&store, &ran), "r", "second", json!({})).await, "CONSTRAINT_VIOLATED");
}

#[tokio::test]
async fn where_no_tool_is_constrained_nothing_is_written() {
    let stage = Stage::of(Registry::builder().runs(Arc::new(Gone))).with(crate::it::stage::echo());
    assert_eq!(call(&stage, "r", "echo", json!("a")).await, "");
    stage.registry.end_run(&Run::new("r", "session")).await.unwrap();
}
