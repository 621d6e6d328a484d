//! Key-value storage: three scopes, times to live, and walls between namespaces.

use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::StorageScope;
use ringfence::{Call, ManualClock, Registry, Run, Tool, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, backends, personality};

/// Takes `[verb, key, value?, seconds?]`.
fn keeper(name: &str, scope: StorageScope, ttl: Option<u64>) -> impl Tool + use<> {
    let builder = tool(name);
    let builder = match ttl {
        Some(seconds) => builder.storage_for(scope, seconds),
        None => builder.storage(scope),
    };
    builder
        .input_schema(json!({"type": "array"}))
        .output_schema(json!(true))
        .run(|order: Value, context| async move {
            let store = context.store()?;
            let text = |index: usize| order[index].as_str().unwrap_or_default();
            Ok(match (text(0), order[3].as_u64()) {
                ("set", None) => json!(store.set(text(1), text(2)).await?),
                ("set", Some(seconds)) => {
                    json!(store.set_for(text(1), text(2), Duration::from_secs(seconds)).await?)
                }
                ("get", _) => json!(store.get(text(1)).await?),
                ("delete", _) => json!(store.delete(text(1)).await?),
                _ => json!(store.list(text(1)).await?),
            })
        })
        .unwrap()
}

fn stage(clock: &Arc<ManualClock>) -> Stage {
    Stage::of(Registry::builder().personality(personality(json!({"id": "ada"}))).backends(backends(clock)))
        .with(keeper("own", StorageScope::ToolPrivate, Some(60)))
        .with(keeper("other", StorageScope::ToolPrivate, None))
        .with(keeper("session", StorageScope::Session, None))
        .with(keeper("session2", StorageScope::Session, None))
        .with(keeper("role", StorageScope::Personality, None))
}

async fn ask(stage: &Stage, run: &Run, tool: &str, order: Value) -> Value {
    let report = stage.registry.call(run, Call::new(tool, order)).await;
    serde_json::to_value(&report.outcome).unwrap().get("structured").cloned().unwrap_or_else(|| {
        let said = report.outcome.value().map(str::to_owned);
        json!(said.unwrap_or_else(|| report.outcome.error().unwrap()))
    })
}

#[tokio::test]
async fn each_scope_is_shared_by_whom_it_says() {
    let stage = stage(&Arc::default());
    let (one, two) = (Run::new("run-1", "s1"), Run::new("run-2", "s2"));
    for tool in ["own", "session", "role"] {
        ask(&stage, &one, tool, json!(["set", "k", tool])).await;
    }
    #[rustfmt::skip]
    let cases = [
        // run     tool        finds
        (&one,     "own",      json!("own")),
        (&two,     "own",      json!("own")),
        (&one,     "other",    json!(null)),
        (&one,     "session",  json!("session")),
        (&one,     "session2", json!("session")),
        (&two,     "session",  json!(null)),
        (&one,     "role",     json!("role")),
        (&two,     "role",     json!("role")),
    ];
    for (run, tool, found) in cases {
        assert_eq!(ask(&stage, run, tool, json!(["get", "k"])).await, found, "{tool} in {}", run.session());
    }
    stage.registry.set_personality(&personality(json!({"id": "grace"})));
    assert_eq!(ask(&stage, &one, "role", json!(["get", "k"])).await, json!(null), "another personality");
    stage.registry.set_personality(&personality(json!({})));
    assert_eq!(ask(&stage, &one, "role", json!(["get", "k"])).await, json!("session"), "none: the session");
    ask(&stage, &one, "role", json!(["set", "shared", "yes"])).await;
    assert_eq!(ask(&stage, &one, "session", json!(["get", "shared"])).await, json!("yes"));
    assert_eq!(ask(&stage, &two, "role", json!(["get", "shared"])).await, json!(null));
}

#[tokio::test]
async fn a_key_cannot_climb_out_of_its_namespace() {
    let stage = stage(&Arc::default());
    let run = Run::new("run-1", "s1");
    ask(&stage, &run, "own", json!(["set", "k", "mine"])).await;
    for key in ["tool:own/k", "../own/k", "tool:own", ":k", "own:k"] {
        assert_eq!(ask(&stage, &run, "other", json!(["get", key])).await, json!(null), "{key}");
    }
    assert_eq!(ask(&stage, &run, "other", json!(["list", ""])).await, json!([]));
    for key in ["".to_owned(), "a\nb".to_owned(), "a\0".to_owned(), "k".repeat(1025)] {
        let said = ask(&stage, &run, "own", json!(["set", key, "x"])).await;
        assert_eq!(said, json!("a key must be 1 to 1024 bytes without control characters"));
    }
}

#[tokio::test]
async fn entries_expire_by_the_clock() {
    let clock = Arc::new(ManualClock::default());
    let stage = stage(&clock);
    let run = Run::new("run-1", "s1");
    ask(&stage, &run, "own", json!(["set", "default", "x"])).await;
    ask(&stage, &run, "own", json!(["set", "short", "x", 10])).await;
    ask(&stage, &run, "own", json!(["set", "long", "x", 600])).await;
    ask(&stage, &run, "other", json!(["set", "ever", "x"])).await;
    let keys = || ask(&stage, &run, "own", json!(["list", ""]));
    assert_eq!(keys().await, json!(["default", "long", "short"]));
    clock.advance(Duration::from_millis(9_999));
    assert_eq!(keys().await, json!(["default", "long", "short"]));
    clock.advance(Duration::from_millis(1));
    assert_eq!(keys().await, json!(["default", "long"]));
    ask(&stage, &run, "own", json!(["set", "default", "again"])).await;
    clock.advance(Duration::from_secs(59));
    assert_eq!(
        ask(&stage, &run, "own", json!(["get", "default"])).await,
        json!("again"),
        "a new set, a new life"
    );
    clock.advance(Duration::from_secs(1));
    assert_eq!(ask(&stage, &run, "own", json!(["get", "default"])).await, json!(null));
    clock.advance(Duration::from_secs(1_000_000));
    assert_eq!(keys().await, json!([]));
    assert_eq!(ask(&stage, &run, "other", json!(["get", "ever"])).await, json!("x"));
}

#[tokio::test]
async fn keys_are_listed_by_prefix_and_deleted_without_complaint() {
    let stage = stage(&Arc::default());
    let run = Run::new("run-1", "s1");
    for key in ["b/2", "a", "b/1", "b", "c", "bé"] {
        ask(&stage, &run, "session", json!(["set", key, "x"])).await;
    }
    let list = |prefix| ask(&stage, &run, "session", json!(["list", prefix]));
    assert_eq!(list("b/").await, json!(["b/1", "b/2"]));
    assert_eq!(list("b").await, json!(["b", "b/1", "b/2", "bé"]));
    assert_eq!(list("zz").await, json!([]));
    assert_eq!(list("").await, json!(["a", "b", "b/1", "b/2", "bé", "c"]));
    for _ in 0..2 {
        assert_eq!(ask(&stage, &run, "session", json!(["delete", "b"])).await, json!(null));
    }
    assert_eq!(list("b").await, json!(["b/1", "b/2", "bé"]));
}

#[tokio::test]
async fn what_belongs_to_a_session_ends_with_it() {
    let stage = stage(&Arc::default());
    let (one, two) = (Run::new("run-1", "s1"), Run::new("run-2", "s2"));
    for run in [&one, &two] {
        for tool in ["own", "session", "role"] {
            ask(&stage, run, tool, json!(["set", "k", "kept"])).await;
        }
    }
    stage.registry.end_session("s1").await.unwrap();
    assert_eq!(ask(&stage, &one, "session", json!(["get", "k"])).await, json!(null));
    assert_eq!(ask(&stage, &two, "session", json!(["get", "k"])).await, json!("kept"));
    for tool in ["own", "role"] {
        assert_eq!(ask(&stage, &one, tool, json!(["get", "k"])).await, json!("kept"), "{tool}");
    }
}
