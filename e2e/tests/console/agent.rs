//! An agent that calls tools through the gateway.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::console::wire::{Answer, send};

/// The next number of a request.
static NEXT: AtomicU64 = AtomicU64::new(10);

/// A session of an agent.
#[derive(Clone)]
pub(crate) struct Agent {
    address: String,
    token: String,
    session: String,
}

impl Agent {
    /// Connects and greets.
    pub(crate) fn connect(address: &str, token: &str) -> Self {
        let mut agent = Self::new(address, token);
        agent.session = agent.post(&greeting()).1;
        agent.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    /// Greets, and returns the status of the answer.
    pub(crate) fn greet(address: &str, token: &str) -> u16 {
        Self::new(address, token).send(&greeting()).status
    }

    fn new(address: &str, token: &str) -> Self {
        Self { address: address.to_owned(), token: token.to_owned(), session: String::new() }
    }

    fn send(&self, message: &Value) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        if !self.session.is_empty() {
            headers.push(("Mcp-Session-Id", self.session.as_str()));
            headers.push(("MCP-Protocol-Version", "2025-06-18"));
        }
        send(&self.address, "POST", "/mcp", &headers, &message.to_string())
    }

    fn post(&self, message: &Value) -> (Value, String) {
        let answer = self.send(message);
        let session = answer.header("mcp-session-id").unwrap_or_default().to_owned();
        let is_stream = answer.header("content-type").is_some_and(|kind| kind.contains("event-stream"));
        let messages: Vec<Value> = if is_stream {
            let lines = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
            lines.filter_map(|line| serde_json::from_str(line.trim()).ok()).collect()
        } else {
            serde_json::from_str(&answer.body).into_iter().collect()
        };
        let own = messages.into_iter().find(|own| own.get("id").is_some() && own.get("method").is_none());
        (own.unwrap_or_default(), session)
    }

    /// The names of the tools that are offered.
    pub(crate) fn tools(&self) -> Vec<String> {
        let (answer, _) = self.post(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Calls a tool and waits for its answer.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.post(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).0
    }

    /// Calls a tool, and goes on meanwhile.
    pub(crate) fn begin(&self, tool: &str, arguments: &Value) -> JoinHandle<Value> {
        let (agent, tool, arguments) = (self.clone(), tool.to_owned(), arguments.clone());
        std::thread::spawn(move || agent.call(&tool, &arguments))
    }
}

fn greeting() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "e2e", "version": "1" },
    }})
}

/// The text of an answer.
pub(crate) fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}
