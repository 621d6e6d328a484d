//! A call of a run that must be one tool: nothing else runs as that call, or after it until it has.

use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt, join_all};
use ringfence::{
    Batch, Call, Intercept, Interceptor, MemoryStore, PendingCall, RegistrationError, Registry, Run, Store,
    ToolError, tool,
};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, personality};

type Order = Arc<Mutex<Vec<&'static str>>>;

fn step(name: &'static str, at: Option<u32>, order: &Order) -> impl ringfence::Tool + use<> {
    let order = Arc::clone(order);
    let builder = match at {
        Some(at) => tool(name).force_at_step(at),
        None => tool(name),
    };
    builder
        .input_schema(json!({"type": "string"}))
        .output_schema(json!({"type": "string"}))
        .run(move |text: Value, _| {
            order.lock().unwrap().push(name);
            async move {
                tokio::task::yield_now().await;
                if text == "fail" { Err(ToolError::new("failed").permanent()) } else { Ok(text) }
            }
        })
        .unwrap()
}

/// `open` must be call 1, `check` call 3; `work` is free.
fn stage(builder: ringfence::RegistryBuilder, order: &Order) -> Stage {
    Stage::of(builder)
        .with(step("open", Some(1), order))
        .with(step("check", Some(3), order))
        .with(step("work", None, order))
}

#[tokio::test]
async fn the_forced_tool_comes_at_its_step() {
    let order = Order::default();
    let stage = stage(Registry::builder(), &order);
    let report = stage.call("work", json!("a")).await;
    assert_eq!(
        report.outcome.error().as_deref(),
        Some("CONSTRAINT_VIOLATED: call 1 of this run must be `open`: tool `work` may run after it")
    );
    assert_eq!(code(&stage.call("open", json!(7)).await), "INPUT_INVALID", "a refused call is no step");
    assert_eq!(code(&stage.call("work", json!("a")).await), "CONSTRAINT_VIOLATED");
    assert_eq!(code(&stage.call("open", json!("fail")).await), "EXECUTION_FAILED", "a failed one is");
    assert!(stage.call("work", json!("a")).await.outcome.is_done());
    assert_eq!(code(&stage.call("work", json!("b")).await), "CONSTRAINT_VIOLATED");
    assert_eq!(code(&stage.call("open", json!("b")).await), "CONSTRAINT_VIOLATED");
    assert!(stage.call("check", json!("c")).await.outcome.is_done());
    assert!(stage.call("work", json!("d")).await.outcome.is_done());
    assert!(stage.call("open", json!("e")).await.outcome.is_done(), "later it may be any call");
    assert_eq!(*order.lock().unwrap(), ["open", "work", "check", "work", "open"]);
    let other = Run::new("run-2", "session-1");
    let report = stage.registry.call(&other, Call::new("work", json!("a"))).await;
    assert_eq!(code(&report), "CONSTRAINT_VIOLATED", "another run starts afresh");
}

#[tokio::test]
async fn an_early_use_does_not_stand_for_the_step() {
    let order = Order::default();
    let stage = Stage::bare().with(step("check", Some(2), &order)).with(step("work", None, &order));
    assert!(stage.call("check", json!("a")).await.outcome.is_done());
    assert_eq!(code(&stage.call("work", json!("a")).await), "CONSTRAINT_VIOLATED");
    assert!(stage.call("check", json!("b")).await.outcome.is_done());
    assert!(stage.call("work", json!("a")).await.outcome.is_done());
}

/// Refuses a tool, after it has let others go first.
struct Never(&'static str);

impl Interceptor for Never {
    fn before<'a>(&'a self, call: &'a PendingCall) -> BoxFuture<'a, Result<Intercept, String>> {
        async move {
            if call.tool.as_str() != self.0 {
                return Ok(Intercept::Proceed);
            }
            tokio::task::yield_now().await;
            Ok(Intercept::Refuse("not now".into()))
        }
        .boxed()
    }
}

/// Calls that were dispatched one after the other run side by side, so the order in which they get to work says nothing. That
/// nothing runs while the forced tool never does says it all.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_order_holds_when_calls_race() {
    for opens in [false, true].repeat(25) {
        let order = Order::default();
        let builder = Registry::builder();
        let builder = if opens { builder } else { builder.interceptor(Arc::new(Never("open"))) };
        let stage = stage(builder, &order);
        let names = ["work", "open", "check"].into_iter().cycle().take(24);
        let calls = names.map(|name| Call::new(name, json!("a"))).collect();
        let batch = Batch { concurrency: 24.try_into().unwrap(), output_characters: None };
        stage.registry.execute_parallel(&stage.run, calls, batch).await;
        let order = order.lock().unwrap();
        assert_eq!(order.contains(&"open"), opens, "{order:?}");
        assert!(opens || order.is_empty(), "{order:?}");
    }
}

/// Holds every call back until it is released, and refuses it then.
#[derive(Default)]
struct Held(tokio::sync::Notify, tokio::sync::Notify);

impl Interceptor for Held {
    fn before<'a>(&'a self, call: &'a PendingCall) -> BoxFuture<'a, Result<Intercept, String>> {
        async move {
            if *call.arguments != json!("held") {
                return Ok(Intercept::Proceed);
            }
            self.0.notify_one();
            self.1.notified().await;
            Ok(Intercept::Refuse("not now".into()))
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_call_that_waits_holds_back_what_comes_after_it() {
    let (order, held) = (Order::default(), Arc::new(Held::default()));
    let stage = stage(Registry::builder().interceptor(Arc::clone(&held) as _), &order);
    let (registry, run) = (Arc::clone(&stage.registry), stage.run.clone());
    let waiting = tokio::spawn(async move { registry.call(&run, Call::new("open", json!("held"))).await });
    held.0.notified().await;
    assert_eq!(code(&stage.call("work", json!("a")).await), "CONSTRAINT_VIOLATED");
    let report = stage.call("open", json!("a")).await;
    assert!(
        report.outcome.error().unwrap().contains("wait until the calls before it have started"),
        "{report:?}"
    );
    held.1.notify_one();
    assert_eq!(code(&waiting.await.unwrap()), "INTERCEPTED");
    assert_eq!(code(&stage.call("work", json!("a")).await), "CONSTRAINT_VIOLATED", "it did not run");
    assert!(stage.call("open", json!("a")).await.outcome.is_done());
    assert!(stage.call("work", json!("a")).await.outcome.is_done());
}

#[tokio::test]
async fn a_tool_outside_the_toolset_forces_nothing() {
    let order = Order::default();
    let stage = stage(Registry::builder(), &order);
    stage.registry.set_personality(&personality(json!({"tools": ["work"]})));
    assert!(stage.call("work", json!("a")).await.outcome.is_done());
    let other = Run::new("run-2", "session-1");
    stage.registry.set_personality(&personality(json!({})));
    let report = stage.registry.call(&other, Call::new("work", json!("a"))).await;
    assert_eq!(code(&report), "CONSTRAINT_VIOLATED");
}

#[test]
fn a_step_that_cannot_be_reached_is_refused() {
    let order = Order::default();
    let stage = stage(Registry::builder(), &order);
    let error = stage.registry.register(step("again", Some(3), &order)).unwrap_err();
    let RegistrationError::Gaps(gaps) = error else { panic!("{error}") };
    assert!(gaps[0].message.contains("must be `check`"), "{gaps:?}");
    let registered = |builder: ringfence::ToolBuilder<ringfence::Missing, ringfence::Missing>| {
        let made = builder.input::<u8>().output::<u8>().run(|n, _| async move { Ok(n) }).unwrap();
        stage.registry.register(made).unwrap_err().to_string()
    };
    let error = registered(tool("a").force_at_step(2).only_after(["open", "work"]));
    assert!(error.contains("2 tools must have completed before"), "{error}");
    let error = registered(tool("b").force_at_step(9).forbidden_to_models());
    assert!(error.contains("no model may call it"), "{error}");
    let zero = tool("c").force_at_step(0).input::<u8>().output::<u8>().run(|n, _| async move { Ok(n) });
    assert!(zero.err().unwrap().to_string().contains("counts calls from 1"));
}

fn process(store: &Arc<dyn Store>, order: &Order) -> Stage {
    stage(Registry::builder().runs(Arc::clone(store)), order)
}

async fn call(stage: &Stage, tool: &str) -> &'static str {
    code(&stage.registry.call(&Run::new("r", "session"), Call::new(tool, json!("a"))).await)
}

#[tokio::test]
async fn steps_are_counted_from_one_process_to_the_next() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let order = Order::default();
    for (tool, expected) in [
        ("work", "CONSTRAINT_VIOLATED"),
        ("open", ""),
        ("work", ""),
        ("work", "CONSTRAINT_VIOLATED"),
        ("check", ""),
        ("work", ""),
    ] {
        assert_eq!(call(&process(&store, &order), tool).await, expected, "{tool} after {order:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_order_holds_when_processes_race() {
    for checks in [false, true].repeat(10) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let order = Order::default();
        assert_eq!(call(&process(&store, &order), "open").await, "");
        let calls = ["work", "work", "check", "work", "work", "check"].map(|tool| {
            let builder = Registry::builder().runs(Arc::clone(&store));
            let builder = if checks { builder } else { builder.interceptor(Arc::new(Never("check"))) };
            let stage = stage(builder, &order);
            tokio::spawn(async move { call(&stage, tool).await })
        });
        join_all(calls).await;
        let order = order.lock().unwrap();
        // Without a check, only the second call can be anything else.
        assert!(checks || order.len() <= 2, "{order:?}");
        assert!(order.len() <= 2 || order.contains(&"check"), "{order:?}");
    }
}
