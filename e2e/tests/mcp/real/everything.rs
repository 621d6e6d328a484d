//! server-everything: every feature of the protocol, and nothing of the machine.

use serde_json::json;

use super::{as_task, compare, other, same};
use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::{CANARY, Scene, npm};

fn scene() -> Scene {
    Scene::example("everything", |_| npm("server-everything", &[]))
}

#[test]
fn every_tool_works_inside() {
    let calls = [
        same("echo", json!({"message": "hello"})),
        same("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        same("get-annotated-message", json!({"messageType": "success"})),
        // The environment, which is why it must differ.
        other("get-env", json!({})),
        same("get-resource-links", json!({"count": 4})),
        same("get-structured-content", json!({"location": "Chicago"})),
        same("get-sum", json!({"a": 2, "b": 40.5})),
        same("get-tiny-image", json!({})),
        same(
            "gzip-file-as-resource",
            json!({"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"}),
        ),
        same("trigger-long-running-operation", json!({"duration": 0.2, "steps": 2})),
        same("get-roots-list", json!({})),
        same("trigger-sampling-request", json!({"prompt": "Say something", "maxTokens": 10})),
        same("trigger-elicitation-request", json!({})),
        same("trigger-sampling-request-async", json!({"prompt": "Say something", "maxTokens": 10})),
        same("trigger-elicitation-request-async", json!({})),
        as_task("simulate-research-query", json!({"topic": "fences", "ambiguous": true})),
        super::shape("get-resource-reference", json!({"resourceType": "Text", "resourceId": 1})),
        super::shape("trigger-url-elicitation", json!({"url": "https://example.com/sign-in"})),
        same("toggle-simulated-logging", json!({})),
        same("toggle-subscriber-updates", json!({})),
    ];
    compare(&scene(), |_| {}, &calls);
}

#[test]
fn resources_prompts_completion_and_logging_pass_through() {
    let scene = scene();
    let asked = [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "demo://resource/static/document/architecture.md"})),
        ("resources/subscribe", json!({"uri": "demo://resource/static/document/architecture.md"})),
        ("resources/unsubscribe", json!({"uri": "demo://resource/static/document/architecture.md"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "simple-prompt"})),
        ("prompts/get", json!({"name": "args-prompt", "arguments": {"city": "Berlin", "state": "BE"}})),
        (
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "completable-prompt"},
                "argument": {"name": "department", "value": "E"},
            }),
        ),
        ("logging/setLevel", json!({"level": "debug"})),
        ("ping", json!({})),
    ];
    let both = [scene.direct(), scene.wrapped()].map(|command| {
        let mut client = Client::connect(command, LEGACY, Answers::default());
        asked.clone().map(|(method, params)| match client.ask(method, params) {
            Ok(result) => format!("{method} {result}"),
            Err(error) => panic!("{method}: {error}"),
        })
    });
    let [alone, fenced] = both;
    assert_eq!(alone, fenced);
}

#[test]
fn progress_is_told_under_the_token_of_the_client() {
    let scene = scene();
    let mut client = Client::connect(scene.wrapped(), LEGACY, Answers::default());
    let params = json!({
        "name": "trigger-long-running-operation", "arguments": {"duration": 0.3, "steps": 3},
        "_meta": {"progressToken": "mine-7"},
    });
    client.ask("tools/call", params).unwrap();
    let told: Vec<_> =
        client.heard.iter().filter(|frame| frame["method"] == "notifications/progress").collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().all(|frame| frame["params"]["progressToken"] == "mine-7"), "{told:?}");
}

#[test]
fn a_call_that_is_cancelled_is_not_answered_and_the_session_goes_on() {
    let scene = scene();
    let mut client = Client::connect(scene.wrapped(), LEGACY, Answers::default());
    let params = json!({"name": "trigger-long-running-operation", "arguments": {"duration": 3, "steps": 3}});
    let id = client.begin("tools/call", params);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert_eq!(client.text("echo", json!({"message": "still here"})), "Echo: still here");
    client.idle(std::time::Duration::from_secs(4));
    assert!(client.strays().is_empty(), "{:?}", client.strays());
}

#[test]
fn the_environment_is_empty_of_ours() {
    let scene = scene();
    let mut alone = Client::connect(scene.direct(), LEGACY, Answers::default());
    assert!(alone.text("get-env", json!({})).contains(CANARY.1), "the canary must be there without a fence");
    let mut fenced = Client::connect(scene.wrapped(), LEGACY, Answers::default());
    let seen = fenced.text("get-env", json!({}));
    assert!(!seen.contains(CANARY.1) && !seen.contains("XDG_STATE_HOME"), "{seen}");
}
