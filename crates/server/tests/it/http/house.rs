//! A door to rooms that echo, stream, hang and ask, and an edge in front of it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence_server::http::{AgentToken, Edge, EdgeConfig, EdgeError, EdgeLimits, token_hash};
use ringfence_server::message::{
    Id, Message, Request, Response, answer_line, notification_line, request_line, rpc_error,
};
use ringfence_server::raw::raw;
use ringfence_server::{Agent, Door, Outlet, Room};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use super::client::Client;
use crate::it::wait::{PATIENCE, wait_for, wait_until};

pub(super) const ALICE: &str = "rf_alice";
pub(super) const BOB: &str = "rf_bob";

/// What happened behind the door.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) opened: AtomicUsize,
    pub(super) closed: AtomicUsize,
    /// How many requests were begun that never end by themselves, and how many of them were given up.
    pub(super) hung: AtomicUsize,
    pub(super) dropped: AtomicUsize,
    /// How many large messages were taken.
    pub(super) taken: AtomicUsize,
    pub(super) notified: Mutex<Vec<String>>,
    /// Lets requests go on that wait for it.
    pub(super) gate: Notify,
}

impl Seen {
    /// Waits until a count is reached.
    pub(super) async fn until(&self, count: impl Fn(&Self) -> &AtomicUsize, least: usize) {
        wait_until(&format!("a count of {least}"), || count(self).load(Ordering::SeqCst) >= least).await;
    }

    /// Waits until nothing more is taken, and returns how much was.
    pub(super) async fn until_stuck(&self) -> usize {
        // One look could fall into a moment in which the machine ran something else, so several have to agree.
        let (mut last, mut agree) = (0, 0);
        wait_for("it gets stuck", async || {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = self.taken.load(Ordering::SeqCst);
            agree = if now > 0 && now == last { agree + 1 } else { 0 };
            last = now;
            (agree == 4).then_some(now)
        })
        .await
    }
}

struct TestDoor(Arc<Seen>);

struct TestRoom {
    agent: Agent,
    seen: Arc<Seen>,
    outlet: Mutex<Option<Outlet>>,
    asked: Mutex<Option<oneshot::Sender<Response>>>,
    over: Notify,
    ids: Mutex<Vec<Id>>,
}

impl Door for TestDoor {
    fn open(&self, agent: &Agent) -> Arc<dyn Room> {
        self.0.opened.fetch_add(1, Ordering::SeqCst);
        Arc::new(TestRoom {
            agent: agent.clone(),
            seen: Arc::clone(&self.0),
            outlet: Mutex::default(),
            asked: Mutex::default(),
            over: Notify::new(),
            ids: Mutex::default(),
        })
    }
}

impl Room for TestRoom {
    fn handle(self: Arc<Self>, message: Message, outlet: Outlet) -> BoxFuture<'static, ()> {
        async move {
            match message {
                Message::Request(request) => {
                    let id = request.id.clone();
                    assert!(!self.ids.lock().unwrap().contains(&id), "{id} is in use");
                    self.ids.lock().unwrap().push(id.clone());
                    let _done = Done(&self, id);
                    self.request(request, outlet).await;
                }
                Message::Notification(notification) => {
                    self.seen.notified.lock().unwrap().push(notification.method.clone());
                    let attached = self.outlet.lock().unwrap().clone();
                    if let Some(attached) = attached {
                        let _sent = attached.send(notification_line("notifications/heard", None)).await;
                    }
                }
                Message::Response(response) => {
                    let asked = self.asked.lock().unwrap().take();
                    if let Some(asked) = asked {
                        asked.send(response).unwrap();
                    }
                }
            }
        }
        .boxed()
    }

    fn attach(&self, outlet: Outlet) {
        *self.outlet.lock().unwrap() = Some(outlet);
    }

    fn input_schema(&self, tool: &str) -> Option<Value> {
        (tool == "regional").then(|| {
            json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } })
        })
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move {
            self.over.notify_waiters();
            self.seen.closed.fetch_add(1, Ordering::SeqCst);
        }
        .boxed()
    }
}

/// Takes an id out of use.
struct Done<'a>(&'a TestRoom, Id);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.ids.lock().unwrap().retain(|id| *id != self.1);
    }
}

/// Counts when it is dropped before the end.
struct Hanging(Arc<Seen>);

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl TestRoom {
    async fn request(&self, request: Request, outlet: Outlet) {
        let Request { id, method, params } = request;
        let count = params.get("count").and_then(|raw| raw.get().parse::<i64>().ok()).unwrap_or(1);
        let progress = |number: i64| {
            let params = json!({ "progressToken": 1, "progress": number });
            notification_line("notifications/progress", Some(&raw(&params)))
        };
        let result = match method.as_str() {
            "initialize" if params.get("fail").is_some() => Err(rpc_error(-32602, "no")),
            "initialize" => {
                let asked = params.text("protocolVersion").filter(|asked| asked.starts_with("202"));
                let agreed = asked.filter(|asked| asked != "2026-07-28");
                Ok(
                    json!({ "protocolVersion": agreed.as_deref().unwrap_or("2025-11-25"), "capabilities": {} }),
                )
            }
            // Sends several things, and then answers.
            "stream" => {
                for number in 0..count {
                    outlet.send(progress(number)).await.unwrap();
                }
                Ok(json!({}))
            }
            // Sends one thing, and the rest when the test says so.
            "stream/gated" => {
                let opened = self.seen.gate.notified();
                outlet.send(progress(0)).await.unwrap();
                opened.await;
                for number in 1..=count {
                    let _sent = outlet.send(progress(number)).await;
                }
                Ok(json!({}))
            }
            "hang" => {
                let hanging = Hanging(Arc::clone(&self.seen));
                let over = self.over.notified();
                self.seen.hung.fetch_add(1, Ordering::SeqCst);
                over.await;
                drop(hanging);
                return;
            }
            "hang/loud" => {
                outlet.send(progress(0)).await.unwrap();
                let _hanging = Hanging(Arc::clone(&self.seen));
                self.seen.hung.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
            // Answers when the test says so, and notes that it went on.
            "gated" => {
                let opened = self.seen.gate.notified();
                self.seen.hung.fetch_add(1, Ordering::SeqCst);
                opened.await;
                self.seen.notified.lock().unwrap().push("gated".to_owned());
                Ok(json!({}))
            }
            // Asks the client something, and answers with its answer.
            "ask" => {
                let (tell, told) = oneshot::channel();
                *self.asked.lock().unwrap() = Some(tell);
                outlet.send(request_line(&Id::Text("q1".into()), "roots/list", None)).await.unwrap();
                Ok(serde_json::from_str(told.await.unwrap().answer.unwrap().get()).unwrap())
            }
            "nothing" => return,
            "panic" => panic!("as the test wants it"),
            // Sends more than a connection can hold, and then answers.
            "stream/large" => {
                for number in 0..count {
                    let params = json!({ "progress": number, "message": "a".repeat(64 << 10) });
                    let _sent =
                        outlet.send(notification_line("notifications/progress", Some(&raw(&params)))).await;
                    self.seen.taken.fetch_add(1, Ordering::SeqCst);
                }
                Ok(json!({}))
            }
            "subscriptions/listen" => {
                let params = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": id } });
                let line = notification_line("notifications/subscriptions/acknowledged", Some(&raw(&params)));
                let over = self.over.notified();
                outlet.send(line).await.unwrap();
                let _hanging = Hanging(Arc::clone(&self.seen));
                over.await;
                Ok(json!({ "resultType": "complete" }))
            }
            "lines" => {
                let line = format!("{{\"jsonrpc\":\"2.0\",\n\"id\":{id},\r\"result\":{{}}}}");
                outlet.send(notification_line("notifications/first", None)).await.unwrap();
                outlet.send(line).await.unwrap();
                return;
            }
            "unknown" => Err(rpc_error(-32601, "no such method")),
            "error" => Err(rpc_error(params.get("code").unwrap().get().parse().unwrap(), "an error")),
            _ => Ok(json!({ "method": method, "agent": self.agent.name })),
        };
        let answer = result.map(|result| raw(&result));
        let _sent = outlet.send(answer_line(Some(&id), &answer)).await;
    }
}

/// An edge that runs.
pub(super) struct House {
    pub(super) address: SocketAddr,
    pub(super) seen: Arc<Seen>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), EdgeError>>,
}

impl House {
    /// Two agents, and the limits of the test.
    pub(super) async fn with(limits: EdgeLimits) -> Self {
        let agents = [("alice", ALICE), ("bob", BOB)].map(|(name, token)| AgentToken {
            agent: Agent { name: name.to_owned(), ..Agent::default() },
            hash: token_hash(token),
        });
        Self::of(EdgeConfig { agents: agents.into(), limits, ..EdgeConfig::default() }).await
    }

    pub(super) async fn new() -> Self {
        Self::with(EdgeLimits::default()).await
    }

    pub(super) async fn of(config: EdgeConfig) -> Self {
        let seen = Arc::new(Seen::default());
        let door = Arc::new(TestDoor(Arc::clone(&seen)));
        let edge = Edge::bind("127.0.0.1:0".parse().unwrap(), config, door).await.unwrap();
        let address = edge.address();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(edge.run(async move {
            let _told = stopped.await;
        }));
        Self { address, seen, stop, running }
    }

    /// Stops the edge, and says how long that took.
    pub(super) async fn stop(self) -> Duration {
        let start = tokio::time::Instant::now();
        self.stop.send(()).unwrap();
        tokio::time::timeout(PATIENCE, self.running).await.unwrap().unwrap().unwrap();
        start.elapsed()
    }

    /// Connects as somebody.
    pub(super) fn client(&self, token: &str) -> Client {
        Client::new(self.address, token)
    }

    /// Opens a session of a version, and returns a client that names it.
    pub(super) async fn session(&self, token: &str, version: &str) -> Client {
        let client = self.client(token);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}"}}}}"#
        );
        let reply = client.post(&body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        client.header("mcp-session-id", reply.header("mcp-session-id").unwrap())
    }
}

/// Returns a door of which nothing is expected.
pub(super) fn door() -> Arc<dyn Door> {
    Arc::new(TestDoor(Arc::default()))
}
