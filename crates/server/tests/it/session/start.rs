//! Servers that are slow to start, or end while they do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence_server::Agent;
use serde_json::{Value, json};

use super::fake::{Client, Fake, Setup, text, tool};
use super::limit::pass;
use crate::it::wait::wait_until;

/// What a server heard, and whether it may go on.
#[derive(Clone, Default)]
struct Gate {
    heard: Arc<Mutex<Vec<String>>>,
    open: Arc<AtomicBool>,
}

impl Gate {
    fn hear(&self, message: &Value) {
        self.heard.lock().unwrap().push(message["method"].as_str().unwrap_or_default().to_owned());
        while !self.open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Calls a tool of a server that does not answer before the first question is given up.
    async fn call_late(&self, server: &Arc<Fake>) -> Value {
        let client = Setup::new(server).modern(json!({}));
        let id = client.begin("tools/call", json!({ "name": "one", "arguments": {} }));
        wait_until("the server is asked", || !self.heard.lock().unwrap().is_empty()).await;
        pass(Duration::from_secs(11)).await;
        // The second question is on its way before the server has heard the first.
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.open.store(true, Ordering::SeqCst);
        client.answer(id).await
    }
}

fn answer(message: &Value) -> Option<Value> {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "fake", "version": "1" },
        }),
        Some("server/discover") => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "fake", "version": "1" } },
        }),
        Some("tools/list") => json!({ "resultType": "complete", "tools": [tool("one")] }),
        Some("tools/call") => {
            let mut said = text(message, "ran")?;
            said["result"]["resultType"] = json!("complete");
            return Some(said);
        }
        _ => return None,
    };
    Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}

#[tokio::test]
async fn a_slow_server_that_ends_of_a_question_is_asked_the_other_one_alone() {
    let gate = Gate::default();
    let own = gate.clone();
    let server = Fake::new(move |message, _| {
        own.hear(message);
        if message["method"] == json!("server/discover") { Some(json!("die")) } else { answer(message) }
    });
    let called = gate.call_late(&server).await;
    assert_eq!(called["result"]["content"][0]["text"], json!("ran"), "{called}");
    assert_eq!(server.started.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_slow_server_that_knows_one_question_is_asked_it_again() {
    let gate = Gate::default();
    let own = gate.clone();
    let server = Fake::new(move |message, _| {
        own.hear(message);
        if message["method"] == json!("initialize") {
            let error = json!({ "code": -32601, "message": "Method not found" });
            return Some(json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
        }
        answer(message)
    });
    let called = gate.call_late(&server).await;
    assert_eq!(called["result"]["content"][0]["text"], json!("ran"), "{called}");
    assert_eq!(server.started.load(Ordering::SeqCst), 1);
    let heard = gate.heard.lock().unwrap();
    let asked: Vec<&String> = heard.iter().filter(|method| !method.starts_with("notifications/")).collect();
    assert_eq!(asked[..3], ["server/discover", "initialize", "server/discover"]);
}

#[tokio::test]
async fn how_a_server_ended_is_said_rather_than_that_it_closed_its_output() {
    let server = Fake::new(|_, _| Some(json!("die")));
    let client = Client::new(Setup::new(&server).house().session(&Agent::default()));
    let refused = client.hello(json!({})).await["error"]["message"].to_string();
    assert!(refused.contains("it exited with code 0"), "{refused}");
}
