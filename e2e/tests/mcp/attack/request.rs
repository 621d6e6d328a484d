//! Servers that ask on their own, and claims that lower nothing.

use std::time::Duration;

use serde_json::{Value, json};

use super::client;
use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::{Scene, attack};

/// What the server heard of the answers to its own questions.
fn heard(client: &mut Client) -> Vec<Value> {
    for _ in 0..50 {
        let text = client.text("report", json!({}));
        let all: Vec<Value> = serde_json::from_str(&text).unwrap();
        if all.iter().filter(|frame| frame.get("method").is_none()).count() == 4 {
            return all;
        }
        client.idle(Duration::from_millis(100));
    }
    panic!("the server was not answered: {}", client.text("report", json!({})));
}

#[test]
fn a_client_without_the_capability_is_not_asked() {
    let scene = Scene::attack(&["asks"]);
    let mut client = client(&scene);
    for answer in heard(&mut client).iter().filter(|frame| frame.get("method").is_none()) {
        assert!(answer.get("error").is_some(), "{answer}");
    }
    let asked: Vec<&Value> = client.heard.iter().filter(|frame| frame.get("id").is_some()).collect();
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn a_client_with_the_capability_is_asked_in_clean_words() {
    let scene = Scene::attack(&["asks"]);
    let mut client = Client::connect(scene.wrapped(), LEGACY, Answers::everything(&scene.workspace()));
    let answers = heard(&mut client);
    let of = |id: &str| answers.iter().find(|frame| frame["id"] == id).unwrap().clone();
    assert_eq!(of("s")["result"]["content"]["text"], "a completion", "{:?}", of("s"));
    assert_eq!(of("r")["result"]["roots"][0]["name"], "workspace", "{:?}", of("r"));
    assert_eq!(of("e")["result"]["action"], "accept", "{:?}", of("e"));
    // A server cannot call tools of the client.
    assert!(of("t").get("error").is_some(), "{:?}", of("t"));
    let asked = client.hear("the question", |frame| frame["method"] == "elicitation/create");
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(!message.contains('\u{1b}') && message.contains("password"), "{asked}");
}

#[test]
fn harmless_claims_lower_nothing() {
    let entry = "[server.tool.pay]\nclass = \"financial\"\nlimits = { wall = \"3s\" }";
    let scene = Scene::granted("attack", attack(&["hints"]), "approvals = { financial = \"human\" }", entry);
    let mut client = client(&scene);
    // This client has nobody to ask.
    let reply = client.call("pay", json!({"amount": 7}));
    assert!(super::says(&reply, "APPROVAL"), "{reply:?}");
    assert_eq!(client.text("report", json!({})), "[]", "nothing was paid");
}
