//! What a call leaves behind, and how much of it: keys of other roles, prerequisites that never ran, outputs without end.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence::policy::{IdempotencyMode, StorageScope};
use ringfence::{
    Backends, Call, Code, Intercept, Interceptor, MemoryStore, PendingCall, Registry, Run, StoreError, tool,
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_key_of_one_role_is_free_for_another() {
    let registry =
        Registry::builder().personality(serde_json::from_value(json!({"id": "one"})).unwrap()).build();
    let pay = tool("pay").idempotency(IdempotencyMode::Required).input_schema(json!({})).output::<String>();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let pay = pay.run(move |_: Value, _| {
        ready(Ok(format!("payment {}", count.fetch_add(1, std::sync::atomic::Ordering::SeqCst))))
    });
    registry.register(pay.unwrap()).unwrap();
    let run = Run::new("r", "s");
    let call = || Call::new("pay", json!({})).idempotency_key("k");
    assert_eq!(registry.call(&run, call()).await.outcome.value(), Some("payment 0"));
    assert_eq!(registry.call(&run, call()).await.outcome.value(), Some("payment 0"));
    registry.set_personality(&serde_json::from_value(json!({"id": "two"})).unwrap());
    assert_eq!(registry.call(&run, call()).await.outcome.value(), Some("payment 1"));
}

struct Instead;

impl Interceptor for Instead {
    fn before<'a>(&'a self, call: &'a PendingCall) -> BoxFuture<'a, Result<Intercept, String>> {
        let answer = match call.tool.as_str() {
            "first" => Intercept::Substitute(json!("never ran")),
            _ => Intercept::Proceed,
        };
        ready(Ok(answer)).boxed()
    }
}

#[tokio::test]
async fn a_substitute_is_no_completed_prerequisite() {
    let registry = Registry::builder().interceptor(Arc::new(Instead)).build();
    for (name, after) in [("first", None), ("second", Some("first"))] {
        let built =
            tool(name).max_invocations(1).only_after(after).input_schema(json!({})).output::<String>();
        registry.register(built.run(|_: Value, _| ready(Ok("ran".to_owned()))).unwrap()).unwrap();
    }
    let run = Run::new("r", "s");
    for _ in 0..2 {
        let report = registry.call(&run, Call::new("first", json!({}))).await;
        assert_eq!(report.outcome.value(), Some("never ran"), "nothing was counted");
    }
    let report = registry.call(&run, Call::new("second", json!({}))).await;
    assert_eq!(report.outcome.code(), Some(Code::ConstraintViolated));
}

#[tokio::test]
async fn an_output_without_end_is_a_failed_call() {
    let registry = Registry::builder().build();
    let deep = tool("deep")
        .input_schema(json!({}))
        .output_schema(json!(true))
        .run(|_: Value, _| ready(Ok((0..200).fold(json!(1), |inner, _| json!([inner])))));
    registry.register(deep.unwrap()).unwrap();
    let report = registry.call(&Run::new("r", "s"), Call::new("deep", json!({}))).await;
    assert_eq!(report.outcome.code(), Some(Code::LimitExceeded));
}

#[tokio::test]
async fn a_namespace_has_a_size() {
    let backends = Backends::none().store(Arc::new(MemoryStore::default()));
    let registry = Registry::builder().backends(backends).build();
    let fill = tool("fill").storage(StorageScope::ToolPrivate).input_schema(json!({})).output::<usize>();
    let fill = fill.run(|_: Value, context| async move {
        let (store, large) = (context.store()?, "x".repeat(1 << 20));
        for key in 0..100 {
            match store.set(&key.to_string(), &large).await {
                Ok(()) => {}
                Err(StoreError::Full) => return Ok(key),
                Err(other) => return Err(other.into()),
            }
        }
        Ok(100)
    });
    registry.register(fill.unwrap()).unwrap();
    let report = registry.call(&Run::new("r", "s"), Call::new("fill", json!({}))).await;
    assert_eq!(report.outcome.value(), Some("63"), "64 MiB hold 63 values of 1 MiB and their keys");
}
