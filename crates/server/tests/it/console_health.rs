//! The page of health, and what Prometheus reads.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ringfence::{Call, Registry, Run};
use ringfence_server::Room as _;
use ringfence_server::console::{DeskError, Enforcement};
use serde_json::{Value, json};

use crate::it::console::{Browser, FOUL, Scene, assert_is_text, client, token};
use crate::it::session::fake::{Setup, legacy, tool};
use crate::it::wait::wait_for;

fn enforced(text: &str) -> Enforcement {
    let own = || text.to_owned();
    Enforcement { subject: own(), state: own(), detail: own(), fix: Some(own()) }
}

/// Has an unknown tool called, so that something was refused.
async fn refuse(scene: &Scene) {
    let registry = Registry::builder().observer(Arc::clone(&scene.live) as _).build();
    registry.call(&Run::new("run", "session"), Call::new("nobody-knows", json!({}))).await;
}

#[tokio::test]
async fn health_says_what_is_enforced_what_runs_and_how_long_calls_take() {
    let scene = Scene::new().await;
    *scene.desk.enforcement.lock().unwrap() = vec![enforced("works")];
    let child = scene.live.child("mail", "run-7", Arc::new(AtomicU64::new(3 << 20)));
    refuse(&scene).await;
    let vera = scene.login("vera").await;
    let text = vera.page("/health").await;
    assert!(text.contains("<span class=\"tag works\">works</span>"));
    assert!(text.contains(">mail</th>") && text.contains("3.0 MiB") && text.contains("run-7"));
    assert!(text.contains("TOOL_UNKNOWN") && text.contains("<rect class=\"done\""));
    assert!(text.contains("a log in memory"));
    let health = vera.json("/api/v1/health").await;
    assert_eq!(health["children"][0]["memory_bytes"], 3 << 20);
    assert_eq!(health["latencies"][0]["class"], "unknown");
    assert_eq!(health["refusals"][0]["code"], "TOOL_UNKNOWN");
    assert_eq!(health["queues"]["sessions"], 1);
    drop(child);
    assert_eq!(vera.json("/api/v1/health").await["children"], json!([]));
    *scene.desk.broken.lock().unwrap() =
        Some(DeskError::Files { message: "no probe".to_owned(), hint: None });
    assert!(vera.page("/health").await.contains("It is not known: no probe"), "the rest is still there");
}

#[tokio::test]
async fn the_database_is_looked_through_by_an_approver() {
    let scene = Scene::new().await;
    let (vera, ada) = (scene.login("vera").await, scene.login("ada").await);
    assert!(!vera.page("/health").await.contains("/health/check"));
    assert_eq!(vera.post_form("/health/check", &[]).await.status, 403);
    let reply = ada.post_form("/health/check", &[]).await;
    assert!(reply.status == 200 && reply.body.contains("Everything in the database fits together."));
    *scene.log.faults.lock().unwrap() = vec![FOUL.to_owned()];
    assert_is_text(&ada.post_form("/health/check", &[]).await.body);
    assert_eq!(ada.post_bare("/health/check", &[]).await.status, 403, "no form of ours");
}

#[tokio::test]
async fn metrics_are_for_whoever_shows_a_token() {
    let scene = Scene::new().await;
    refuse(&scene).await;
    assert_eq!(client(scene.address).send("GET", "/metrics", "").await.status, 401);
    let bearer = format!("Bearer {}", token("vera"));
    let reply = client(scene.address).header("authorization", &bearer).send("GET", "/metrics", "").await;
    assert_eq!(reply.status, 200);
    assert!(reply.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    for line in [
        "ringfence_calls_total{class=\"unknown\",outcome=\"refused\"} 1",
        "ringfence_refusals_total{code=\"TOOL_UNKNOWN\"} 1",
        "ringfence_call_duration_seconds_bucket{class=\"unknown\",le=\"+Inf\"} 1",
        "ringfence_call_duration_seconds_count{class=\"unknown\"} 1",
        "ringfence_approval_wait_seconds_count{class=\"unknown\"} 0",
        "ringfence_approvals_open 0",
        "ringfence_audit_entries 0",
    ] {
        assert!(reply.body.lines().any(|own| own == line), "{line} in {}", reply.body);
    }
    let alive = client(scene.address).send("GET", "/healthz", "").await;
    assert_eq!((alive.status, alive.body.as_str()), (200, "ok"), "without a token");
}

/// Waits until health says something.
async fn until(browser: &Browser, pointer: &str, expected: &Value) -> Value {
    wait_for(&format!("{pointer} is {expected}"), async || {
        let health = browser.json("/api/v1/health").await;
        (health.pointer(pointer) == Some(expected)).then_some(health)
    })
    .await
}

#[tokio::test]
async fn a_server_is_listed_while_it_runs_and_a_call_while_it_is_under_way() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    // It never answers a call.
    let server = legacy(json!([tool("one")]), |_, _| None);
    let mut setup = Setup::new(&server);
    setup.options.live = Arc::clone(&scene.live);
    let client = setup.legacy(json!({})).await;
    assert!(client.tools().await.contains(&"one".to_owned()));
    let health = until(&vera, "/children/0/server", &json!("fake")).await;
    assert_eq!(health["children"][0]["memory_bytes"], Value::Null, "nobody has said how much");
    assert!(health["children"][0]["run"].as_str().is_some_and(|run| run.starts_with("mcp-")), "{health}");
    assert_eq!(health["queues"]["calls_under_way"], 0);
    client.begin("tools/call", json!({ "name": "one", "arguments": {} }));
    until(&vera, "/queues/calls_under_way", &json!(1)).await;
    Arc::clone(&client.session).close().await;
    until(&vera, "/children", &json!([])).await;
    until(&vera, "/queues/calls_under_way", &json!(0)).await;
}

#[tokio::test]
async fn foreign_text_is_only_text() {
    let scene = Scene::new().await;
    *scene.desk.enforcement.lock().unwrap() = vec![enforced(FOUL)];
    let _child = scene.live.child(FOUL, FOUL, Arc::default());
    let ada = scene.login("ada").await;
    assert_is_text(&ada.page("/health").await);
    *scene.desk.broken.lock().unwrap() = Some(DeskError::Missing(FOUL.to_owned()));
    assert_is_text(&ada.page("/health").await);
}
