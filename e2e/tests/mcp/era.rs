//! Both eras on both sides: whichever a client speaks, and whichever the server does, they understand each other.

use serde_json::{Value, json};

use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, Era, LEGACY};
use crate::mcp::place::{Scene, file, npm, python};

const ERAS: [Era; 5] =
    [Era::Legacy("2024-11-05"), Era::Legacy("2025-03-26"), Era::Legacy("2025-06-18"), LEGACY, Era::Modern];

/// A server of the era of sessions.
fn legacy() -> Scene {
    Scene::example("everything", |_| npm("server-everything", &[]))
}

/// A server that knows both eras.
pub(crate) fn both() -> Scene {
    Scene::granted("fixture", python("py2", "python", &[&file("fixture.py")]), "", "")
}

/// A server that knows the stateless era only.
fn modern() -> Scene {
    Scene::granted("fixture", python("py2", "python", &[&file("fixture.py"), "modern"]), "", "")
}

#[test]
fn every_client_is_served_by_a_legacy_server() {
    let scene = legacy();
    for era in ERAS {
        let mut client = Client::connect(scene.wrapped(), era, Answers::everything(&scene.workspace()));
        assert_eq!(client.text("echo", json!({"message": "hi"})), "Echo: hi", "{era:?}");
        assert!(client.tools().contains(&"get-sum".to_owned()), "{era:?}");
        let read = client
            .ask("resources/read", json!({"uri": "demo://resource/static/document/features.md"}))
            .unwrap();
        assert!(read["contents"][0]["text"].as_str().is_some_and(|text| !text.is_empty()), "{era:?}: {read}");
        let prompt = client.ask("prompts/get", json!({"name": "simple-prompt"})).unwrap();
        assert!(prompt["messages"].is_array(), "{era:?}: {prompt}");
    }
}

#[test]
fn every_client_is_served_by_a_modern_server() {
    for (scene, era) in [both(), modern()].iter().flat_map(|scene| ERAS.map(|era| (scene, era))) {
        let mut client = Client::connect(scene.wrapped(), era, Answers::everything(&scene.workspace()));
        let said = client.text("test_simple_text", json!({}));
        assert_eq!(said, "This is a simple text response for testing.", "{era:?}");
        let read = client.ask("resources/read", json!({"uri": "test://static-text"})).unwrap();
        assert_eq!(read["contents"][0]["uri"], "test://static-text", "{era:?}: {read}");
    }
}

#[test]
fn what_a_legacy_server_asks_reaches_a_modern_client_as_required_input() {
    let scene = legacy();
    let mut client = Client::connect(scene.wrapped(), Era::Modern, Answers::everything(&scene.workspace()));
    let sampled =
        client.text("trigger-sampling-request", json!({"prompt": "Say something", "maxTokens": 10}));
    assert!(sampled.contains("a completion"), "{sampled}");
    let asked = client.call("trigger-elicitation-request", json!({})).unwrap();
    assert!(asked.to_string().contains("provided the requested information"), "{asked}");
    let methods: Vec<&Value> = client.heard.iter().map(|frame| &frame["method"]).collect();
    assert!(methods.iter().any(|method| *method == "sampling/createMessage"), "{methods:?}");
    assert!(methods.iter().any(|method| *method == "elicitation/create"), "{methods:?}");
    // No request of the server's ever stands on the wire by itself.
    assert!(client.heard.iter().all(|frame| frame.get("id").is_none()), "{:?}", client.heard);
}

#[test]
fn what_a_modern_server_requires_is_asked_of_every_client() {
    let scene = modern();
    for era in [Era::Legacy("2025-06-18"), LEGACY, Era::Modern] {
        let mut client = Client::connect(scene.wrapped(), era, Answers::everything(&scene.workspace()));
        assert_eq!(client.text("test_input_required_result_elicitation", json!({})), "Hello", "{era:?}");
        assert_eq!(client.text("test_input_required_result_multiple_inputs", json!({})), "done", "{era:?}");
        assert_eq!(
            client.text("test_input_required_result_multi_round", json!({})),
            "both steps done",
            "{era:?}"
        );
        assert!(client.heard.iter().any(|frame| frame["method"] == "elicitation/create"), "{era:?}");
    }
}

#[test]
fn modern_results_have_what_the_era_demands() {
    for scene in [legacy(), modern()] {
        let mut client = Client::connect(scene.wrapped(), Era::Modern, Answers::default());
        for method in
            ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"]
        {
            let result = client.ask(method, json!({})).unwrap();
            assert_eq!(result["resultType"], "complete", "{method}: {result}");
            assert!(result["ttlMs"].is_u64(), "{method}: {result}");
            assert!(
                matches!(result["cacheScope"].as_str(), Some("private" | "public")),
                "{method}: {result}"
            );
        }
        for method in ["ping", "logging/setLevel", "resources/subscribe", "no/such/method"] {
            let error = client.ask(method, json!({})).unwrap_err();
            assert_eq!(error["code"], -32601, "{method}: {error}");
        }
    }
}

#[test]
fn legacy_results_have_no_kind() {
    let scene = modern();
    let mut client = Client::connect(scene.wrapped(), LEGACY, Answers::default());
    for method in ["tools/list", "prompts/list", "resources/list"] {
        let result = client.ask(method, json!({})).unwrap();
        assert!(result.get("resultType").is_none(), "{method}: {result}");
    }
}

#[test]
fn a_subscription_is_acknowledged_and_told_of_changes() {
    let scene = modern();
    let mut client = Client::connect(scene.wrapped(), Era::Modern, Answers::default());
    let id = client.begin(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}}),
    );
    let key = "io.modelcontextprotocol/subscriptionId";
    let told = client
        .hear("the acknowledgement", |frame| frame["method"] == "notifications/subscriptions/acknowledged");
    assert_eq!(told["params"]["_meta"][key], id, "{told}");
    assert_eq!(client.text("test_trigger_prompt_change", json!({})), "told");
    let told = client.hear("the change", |frame| frame["method"] == "notifications/prompts/list_changed");
    assert_eq!(told["params"]["_meta"][key], id, "{told}");
}
