//! What servers, models and other clients tried, and may not.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence_server::message::MAX_MESSAGE;
use ringfence_server::{Agent, Room as _};
use serde_json::{Value, json};

use super::fake::{Client, Setup, code, legacy, text, tool};
use crate::it::wait::wait_until;

#[tokio::test]
async fn a_session_keeps_to_the_era_it_began_in() {
    let server = legacy(json!([tool("one")]), |message, _| {
        (message["method"] == json!("tools/call")).then(|| text(message, "ran")).flatten()
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let answer = client.ask("tools/call", json!({ "name": "one", "arguments": {}, "_meta": meta })).await;
    assert_eq!(answer["error"]["code"], json!(-32600), "what a model writes changes nothing: {answer}");
}

#[tokio::test]
async fn a_prompt_that_is_not_listed_is_not_asked_for() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let server = legacy(json!([]), move |message, _| {
        (message["method"] == json!("prompts/get")).then(|| {
            seen.lock().unwrap().push(message["params"]["name"].clone());
            json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "messages": [] } })
        })
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    assert!(client.ask("prompts/get", json!({ "name": "unlisted" })).await.get("error").is_some());
    assert!(client.ask("prompts/get", json!({ "name": "p" })).await.get("result").is_some());
    assert_eq!(*asked.lock().unwrap(), [json!("p")]);
}

#[tokio::test]
async fn secrets_do_not_come_back() {
    let server = legacy(json!([tool("one")]), |message, out| {
        if message["method"] != json!("tools/call") {
            return None;
        }
        if message["params"]["arguments"]["n"] == json!(1) {
            return text(message, "it is hunter2-hunter2");
        }
        // As it is, with escapes, and in base64.
        let id = &message["id"];
        writeln!(
            out,
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"it is hunter2-hunter2, \u0068unter2-hunter2, aHVudGVyMi1odW50ZXIy"}}]}}}}"#
        )
        .unwrap();
        None
    });
    *server.secrets.lock().unwrap() = vec!["hunter2-hunter2".to_owned()];
    let client = Setup::new(&server).legacy(json!({})).await;
    let plain = client.call("one", json!({ "n": 1 })).await;
    assert_eq!(plain["result"]["content"][0]["text"], json!("it is [secret]"));
    let answer = client.call("one", json!({})).await;
    let said = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(!said.contains("hunter2") && !said.contains("aHVudGVy"), "{said}");
    assert_eq!(said.matches("[secret]").count(), 3, "{said}");
}

#[tokio::test]
async fn a_call_that_is_called_off_at_once_is_not_answered() {
    let server = legacy(json!([tool("one")]), |message, _| {
        if message["method"] != json!("tools/call") {
            return None;
        }
        std::thread::sleep(Duration::from_millis(200));
        text(message, "late")
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    client.tools().await;
    for _ in 0..5 {
        let id = client.begin("tools/call", json!({ "name": "one", "arguments": {} }));
        let cancelled =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        client.tell(&cancelled).await;
        let next = client.ask("ping", json!({})).await;
        assert!(next["id"] != json!(id), "{next}");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_costs_its_call_no_time() {
    let server = legacy(json!([tool("one")]), |message, out| {
        if message["method"] == json!("tools/call") {
            let filler = "x".repeat(MAX_MESSAGE);
            let id = &message["id"];
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{filler}"}}]}}}}"#).unwrap();
        }
        None
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    let answer = client.call("one", json!({})).await;
    assert!(answer.to_string().contains("larger than 16M; raise `max_message`"), "{answer}");
}

#[tokio::test]
async fn what_a_person_rejects_is_refused_at_the_next_call() {
    let server = legacy(json!([tool("one")]), |message, _| {
        (message["method"] == json!("tools/call")).then(|| text(message, "ran")).flatten()
    });
    let setup = Setup::new(&server);
    let client = setup.legacy(json!({})).await;
    assert_eq!(client.call("one", json!({})).await["result"]["content"][0]["text"], json!("ran"));
    setup.book.pins.lock().unwrap().reject_definition("fake", "tool:one", &tool("one")).unwrap();
    assert_eq!(code(&client.call("one", json!({})).await), "TOOL_QUARANTINED");
    *setup.book.broken.lock().unwrap() = true;
    let answer = client.call("one", json!({})).await;
    assert!(answer.get("error").is_some(), "pins that cannot be read refuse everything: {answer}");
}

#[tokio::test]
async fn an_agents_scope_holds_for_everything() {
    let server = legacy(json!([tool("one"), tool("two")]), |message, _| match message["method"].as_str() {
        Some("tools/call") => text(message, "ran"),
        Some("resources/read") => {
            Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "contents": [] } }))
        }
        Some("prompts/get") => {
            Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "messages": [] } }))
        }
        _ => None,
    });
    let agent = Agent { name: "narrow".into(), tools: Some(vec!["one".into()]), ..Agent::default() };
    let client = Client::new(Setup::new(&server).house().session(&agent));
    client.hello(json!({})).await;
    assert_eq!(client.tools().await, ["one", "ringfence_policy"]);
    assert_eq!(client.call("one", json!({})).await["result"]["content"][0]["text"], json!("ran"));
    for (method, params) in [
        ("tools/call", json!({ "name": "two", "arguments": {} })),
        ("prompts/get", json!({ "name": "p" })),
        ("resources/read", json!({ "uri": "a:b" })),
        ("resources/subscribe", json!({ "uri": "a:b" })),
    ] {
        let answer = client.ask(method, params).await;
        assert!(answer.get("error").is_some(), "{method}: {answer}");
    }
    let told = client.call("ringfence_policy", json!({})).await.to_string();
    assert!(!told.contains("two"), "{told}");
    let other = Agent { servers: Some(vec!["another".into()]), ..Agent::default() };
    let stranger = Client::new(Setup::new(&server).house().session(&other));
    let before = server.started.load(Ordering::SeqCst);
    stranger.hello(json!({})).await;
    assert_eq!(stranger.tools().await, ["ringfence_policy"]);
    assert_eq!(server.started.load(Ordering::SeqCst), before, "nothing is started that nobody may use");
}

#[tokio::test]
async fn a_server_that_hangs_at_its_start_leaves_nothing_behind() {
    let server = super::fake::Fake::new(|_, _| None);
    let client = Client::new(Setup::new(&server).house().session(&Agent::default()));
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    for _ in 0..5 {
        let id = client.begin("initialize", params.clone());
        wait_until("the server is started", || server.started.load(Ordering::SeqCst) > 0).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        let cancelled: Value =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        client.tell(&cancelled).await;
    }
    assert_eq!(server.started.load(Ordering::SeqCst), 1, "one at a time");
    // The clock jumps to the next timer whenever nothing runs, so these seconds are those that the end waits for.
    tokio::time::pause();
    let ended = tokio::time::timeout(Duration::from_secs(5), Arc::clone(&client.session).close()).await;
    assert!(ended.is_ok(), "the end does not wait for a start that takes long");
}
