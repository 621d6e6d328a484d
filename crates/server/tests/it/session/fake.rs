//! Servers that run in the test itself, behind the same pipes as real ones.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::policy::{Personality, Span};
use ringfence::{Approver, Backends, MemoryAudit, Pins, Registry, Running, ServiceEnd, ToolError};
use ringfence_server::message::MAX_MESSAGE;
use ringfence_server::{
    Accept, Agent, ErrorSink, House, HouseOptions, Outlet, PinBook, Room, Seen, ServerSpec, Session, Starter,
    ToolRule,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::it::wait::PATIENCE;

/// What a fake server answers with. It may write whatever it likes first.
pub(crate) type Behaviour = dyn Fn(&Value, &mut dyn Write) -> Option<Value> + Send + Sync;

/// A server that runs in a thread of the test.
pub(crate) struct Fake {
    pub(crate) behaviour: Arc<Behaviour>,
    pub(crate) started: AtomicUsize,
    pub(crate) secrets: Mutex<Vec<String>>,
}

impl Fake {
    pub(crate) fn new(
        behaviour: impl Fn(&Value, &mut dyn Write) -> Option<Value> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            behaviour: Arc::new(behaviour),
            started: AtomicUsize::new(0),
            secrets: Mutex::default(),
        })
    }
}

impl Starter for Fake {
    fn secrets(&self) -> Vec<String> {
        self.secrets.lock().unwrap().clone()
    }

    fn start(
        &self,
        _: ErrorSink,
        _: Arc<dyn ringfence::egress::Witness>,
    ) -> BoxFuture<'_, Result<Running, ToolError>> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let (their_input, input) = std::io::pipe().unwrap();
        let (output, mut their_output) = std::io::pipe().unwrap();
        let (leash, _held) = std::io::pipe().unwrap();
        let (tell, ended) = tokio::sync::oneshot::channel();
        let behaviour = Arc::clone(&self.behaviour);
        std::thread::spawn(move || {
            for line in BufReader::new(their_input).lines() {
                let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
                let Some(answer) = behaviour(&message, &mut their_output) else { continue };
                if answer == json!("die") {
                    break;
                }
                if writeln!(their_output, "{answer}").is_err() {
                    break;
                }
            }
            drop(their_output);
            // That a process has ended is known a moment later.
            std::thread::sleep(Duration::from_millis(20));
            let _told = tell.send(ServiceEnd::Ended("exited with code 0".into()));
        });
        let running = Running {
            memory: std::sync::Arc::default(),
            input: OwnedFd::from(input),
            output: OwnedFd::from(output),
            ended,
            leash: OwnedFd::from(leash),
        };
        std::future::ready(Ok(running)).boxed()
    }
}

/// Answers what every legacy server answers; the rest is the test's.
pub(crate) fn legacy(
    tools: Value,
    more: impl Fn(&Value, &mut dyn Write) -> Option<Value> + Send + Sync + 'static,
) -> Arc<Fake> {
    Fake::new(move |message, out| {
        let result = |result: Value| Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        if let Some(answer) = more(message, out) {
            return Some(answer);
        }
        match message["method"].as_str() {
            Some("initialize") => result(json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": { "listChanged": true }, "prompts": {}, "resources": {}, "logging": {} },
                "serverInfo": { "name": "fake", "version": "1", "x-vendor": 7 },
            })),
            Some("tools/list") => result(json!({ "tools": tools })),
            Some("prompts/list") => result(json!({ "prompts": [{ "name": "p", "description": "Greets" }] })),
            Some("server/discover") => Some(json!({
                "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32601, "message": "Method not found" },
            })),
            _ => None,
        }
    })
}

/// A definition with one argument.
pub(crate) fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name}"),
        "inputSchema": { "type": "object", "properties": { "n": { "type": "number" } } },
        "execution": { "taskSupport": "optional" },
        "x-vendor": { "kept": [1.0, 12345678901_i64] },
    })
}

/// Answers with text.
pub(crate) fn text(message: &Value, text: &str) -> Option<Value> {
    let result = json!({ "content": [{ "type": "text", "text": text }] });
    Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}

/// Pins in memory.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) pins: Mutex<Pins>,
    pub(crate) seen: Mutex<Vec<Seen>>,
    pub(crate) broken: Mutex<bool>,
}

impl PinBook for Book {
    fn stamp(&self) -> u64 {
        self.pins.lock().unwrap().to_json().len() as u64 + u64::from(*self.broken.lock().unwrap())
    }

    fn pins(&self) -> Result<Pins, String> {
        if *self.broken.lock().unwrap() {
            return Err("the pin file cannot be read".into());
        }
        Ok(self.pins.lock().unwrap().clone())
    }

    fn keep(
        &self,
        server: &str,
        kind: &str,
        accepted: &[(String, Value)],
        seen: &[Seen],
    ) -> Result<(), String> {
        let mut pins = self.pins.lock().unwrap();
        for (key, definition) in accepted {
            pins.accept_definition(server, key, definition).map_err(|error| error.to_string())?;
        }
        let mut all = self.seen.lock().unwrap();
        all.retain(|one| one.key.split(':').next() != Some(kind));
        all.extend(seen.iter().cloned());
        Ok(())
    }
}

/// A house with one server.
pub(crate) struct Setup {
    pub(crate) server: Arc<Fake>,
    pub(crate) book: Arc<Book>,
    pub(crate) audit: Arc<MemoryAudit>,
    pub(crate) personality: Personality,
    pub(crate) accept: Accept,
    pub(crate) rules: BTreeMap<String, ToolRule>,
    pub(crate) people: Option<Arc<dyn Approver>>,
    pub(crate) wall: Option<Span>,
    pub(crate) max_message: usize,
    /// Whether the server may use the client's model, and ask its person.
    pub(crate) asks: bool,
    /// Further servers; with some, all are offered under their names.
    pub(crate) more: Vec<(&'static str, Arc<Fake>)>,
    pub(crate) options: HouseOptions,
}

impl Setup {
    pub(crate) fn new(server: &Arc<Fake>) -> Self {
        Self {
            server: Arc::clone(server),
            book: Arc::default(),
            audit: Arc::default(),
            personality: Personality::default(),
            accept: Accept::Clean,
            rules: BTreeMap::new(),
            people: None,
            wall: None,
            max_message: MAX_MESSAGE,
            asks: true,
            more: Vec::new(),
            options: HouseOptions::default(),
        }
    }

    pub(crate) fn house(&self) -> Arc<House> {
        let spec = |name: &str, server: &Arc<Fake>| ServerSpec {
            name: name.into(),
            prefixed: !self.more.is_empty(),
            capabilities: serde_json::from_value(json!({})).unwrap(),
            accept: self.accept,
            tools: self.rules.clone(),
            idle: Duration::ZERO,
            wall: self.wall,
            max_message: self.max_message,
            sampling: self.asks,
            elicitation: self.asks,
            starter: Arc::clone(server) as Arc<dyn Starter>,
        };
        let mut specs = vec![spec("fake", &self.server)];
        specs.extend(self.more.iter().map(|(name, server)| spec(name, server)));
        let (personality, audit) = (self.personality.clone(), Arc::clone(&self.audit));
        let make = move |approver: Arc<dyn Approver>| {
            let builder = Registry::builder().personality(personality.clone()).backends(Backends::none());
            let builder = builder.deadline(ringfence_server::NO_DEADLINE);
            Ok(builder.audit(Arc::clone(&audit) as _).approver(approver).build())
        };
        let book = Arc::clone(&self.book) as Arc<dyn PinBook>;
        House::new(specs, book, Arc::new(make), self.people.clone(), self.options.clone()).unwrap()
    }

    /// Opens a session and says hello in the legacy way.
    pub(crate) async fn legacy(&self, capabilities: Value) -> Client {
        let client = Client::new(self.house().session(&Agent {
            name: "tester".into(),
            approves: true,
            ..Agent::default()
        }));
        client.hello(capabilities).await;
        client
    }

    /// Opens a session of a modern client.
    #[expect(clippy::needless_pass_by_value, reason = "tests write the value where it is used")]
    pub(crate) fn modern(&self, capabilities: Value) -> Client {
        let mut client = Client::new(self.house().session(&Agent {
            name: "tester".into(),
            approves: true,
            ..Agent::default()
        }));
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        client
    }
}

/// A client of a session.
pub(crate) struct Client {
    pub(crate) session: Arc<Session>,
    pub(crate) meta: Option<Value>,
    next: AtomicUsize,
    outlet: Outlet,
    lines: tokio::sync::Mutex<mpsc::Receiver<String>>,
}

impl Client {
    pub(crate) fn new(session: Arc<Session>) -> Self {
        let (outlet, lines) = Outlet::new(1024);
        session.attach(outlet.clone());
        Self { session, meta: None, next: AtomicUsize::new(1), outlet, lines: tokio::sync::Mutex::new(lines) }
    }

    pub(crate) async fn hello(&self, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.ask("initialize", params).await;
        self.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        answer
    }

    /// Sends a message and waits until it was taken.
    pub(crate) async fn tell(&self, message: &Value) {
        self.send(message).await;
    }

    fn send(&self, message: &Value) -> BoxFuture<'static, ()> {
        let mut messages = ringfence_server::message::Message::parse(&message.to_string()).unwrap();
        Arc::clone(&self.session).handle(messages.remove(0), self.outlet.clone())
    }

    /// Asks something in the background and returns its id.
    pub(crate) fn begin(&self, method: &str, params: Value) -> usize {
        let mut params = params;
        let id = self.next.fetch_add(1, Ordering::SeqCst);
        if let Some(meta) = &self.meta {
            let own = params["_meta"].as_object().cloned().unwrap_or_default();
            params["_meta"] = meta.clone();
            for (name, value) in own {
                params["_meta"][name] = value;
            }
        }
        tokio::spawn(self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })));
        id
    }

    /// Waits for the next message.
    pub(crate) async fn hear(&self) -> Value {
        let mut lines = self.lines.lock().await;
        let line = tokio::time::timeout(PATIENCE, lines.recv()).await;
        serde_json::from_str(&line.expect("nothing was heard in time").expect("nothing more is heard"))
            .unwrap()
    }

    /// Waits for the answer to a request; what is heard before it is left out.
    pub(crate) async fn answer(&self, id: usize) -> Value {
        for _ in 0..2000 {
            let message = self.hear().await;
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message;
            }
        }
        panic!("there was no answer");
    }

    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    pub(crate) async fn tools(&self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Returns the code of a refused call.
pub(crate) fn code(answer: &Value) -> &str {
    answer["result"]["_meta"]["ringfence/refusal"]["code"].as_str().unwrap_or_default()
}
