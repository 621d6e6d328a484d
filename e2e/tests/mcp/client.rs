//! A small MCP client over stdio: raw JSON lines, both eras, and nothing between the test and the wire.
//!
//! INVARIANT: every wait has an end. A peer that stays silent, floods or dies fails the test with what it said on stderr.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::answer::Answers;

/// Longer than any answer takes here, the start of an interpreter on a busy machine included.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Longer than any line that a well-behaved peer writes.
const LINE: u64 = 16 << 20;

/// Which kind of protocol the client speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    /// Sessions: `initialize` with this version.
    Legacy(&'static str),
    /// Stateless: 2026-07-28, every request describes itself.
    Modern,
}

/// The newest version with sessions.
pub(crate) const LEGACY: Era = Era::Legacy("2025-11-25");
pub(crate) const MODERN_VERSION: &str = "2026-07-28";

/// The result of a request, or its error.
pub(crate) type Reply = Result<Value, Value>;

/// One peer, started for one test.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    said: Arc<Mutex<Vec<u8>>>,
    next: i64,
    era: Era,
    answers: Answers,
    replies: VecDeque<Value>,
    /// Notifications, and requests of the peer, in their order.
    pub(crate) heard: Vec<Value>,
    /// Lines that are no JSON.
    pub(crate) junk: Vec<Vec<u8>>,
}

impl Client {
    /// Starts the peer; nothing is said yet.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = sync_channel(1024);
        thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                match reader.by_ref().take(LINE).read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        let said = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&said);
        thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut block) {
                let mut said = shared.lock().unwrap();
                if said.len() < 1 << 20 {
                    said.extend_from_slice(&block[..count]);
                }
            }
        });
        Self {
            child,
            stdin,
            lines,
            said,
            next: 0,
            era: LEGACY,
            answers: Answers::default(),
            replies: VecDeque::new(),
            heard: Vec::new(),
            junk: Vec::new(),
        }
    }

    /// Starts the peer and greets it.
    pub(crate) fn connect(command: Command, era: Era, answers: Answers) -> Self {
        let mut client = Self::start(command);
        client.answers = answers;
        client.greet(era);
        client
    }

    /// `initialize` and its notification, or `server/discover`; returns the result.
    pub(crate) fn greet(&mut self, era: Era) -> Value {
        self.era = era;
        match era {
            Era::Legacy(version) => {
                let params = json!({
                    "protocolVersion": version, "capabilities": self.answers.capabilities(),
                    "clientInfo": {"name": "ringfence-e2e", "version": "1"},
                });
                let result = self.ask("initialize", params).unwrap();
                assert_eq!(result["protocolVersion"], version, "{result}");
                self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
                result
            }
            Era::Modern => {
                let result = self.ask("server/discover", json!({})).unwrap();
                assert_eq!(result["resultType"], "complete", "{result}");
                assert!(result["supportedVersions"].to_string().contains(MODERN_VERSION), "{result}");
                result
            }
        }
    }

    /// The process that was started.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What the peer wrote to stderr so far.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned()
    }

    /// Sends a request and waits for its reply; in the modern era, answers what is required on the way.
    #[expect(clippy::needless_pass_by_value, reason = "parameters are written in place")]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Reply {
        let mut asked = params.clone();
        for _ in 0..10 {
            let id = self.begin(method, asked);
            let reply = self.wait(id)?;
            if self.era != Era::Modern || reply["resultType"] != "input_required" {
                return Ok(reply);
            }
            asked = params.clone();
            if let Some(state) = reply.get("requestState") {
                asked["requestState"] = state.clone();
            }
            let mut responses = serde_json::Map::new();
            for (key, request) in reply["inputRequests"].as_object().into_iter().flatten() {
                self.heard.push(request.clone());
                let method = request["method"].as_str().unwrap().to_owned();
                responses.insert(key.clone(), self.answers.answer(&method, &request["params"]).unwrap());
            }
            asked["inputResponses"] = Value::Object(responses);
        }
        panic!("`{method}` wants input for ever");
    }

    /// Calls a tool.
    #[expect(clippy::needless_pass_by_value, reason = "arguments are written in place")]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool that must work, and returns its first text.
    pub(crate) fn text(&mut self, tool: &str, arguments: Value) -> String {
        let reply =
            self.call(tool, arguments).unwrap_or_else(|error| panic!("{tool}: {error}\n{}", self.said()));
        assert_ne!(reply["isError"], true, "{tool}: {reply}");
        reply["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {reply}")).to_owned()
    }

    /// The definitions of every page of a list (`tools`, `prompts`, `resources`).
    pub(crate) fn list(&mut self, kind: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut params = json!({});
        for _ in 0..100 {
            let page = self.ask(&format!("{kind}/list"), params).unwrap();
            all.extend(page[kind].as_array().unwrap_or_else(|| panic!("{page}")).iter().cloned());
            match page.get("nextCursor") {
                Some(cursor) if !cursor.is_null() => params = json!({"cursor": cursor}),
                _ => return all,
            }
        }
        panic!("`{kind}/list` never ends");
    }

    /// The names of every tool that is offered, but not that of the gateway itself.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let names = self.list("tools").into_iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.filter(|name| name != "ringfence_policy").collect()
    }

    /// Sends a request and returns its id.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> i64 {
        self.next += 1;
        if self.era == Era::Modern {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = MODERN_VERSION.into();
            meta["io.modelcontextprotocol/clientCapabilities"] = self.answers.capabilities();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "ringfence-e2e", "version": "1"});
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// Waits for the reply to a request.
    pub(crate) fn wait(&mut self, id: i64) -> Reply {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.replies.iter().position(|reply| reply["id"] == id) {
                let mut reply = self.replies.remove(at).unwrap();
                return match reply.get_mut("error") {
                    Some(error) => Err(error.take()),
                    None => Ok(reply["result"].take()),
                };
            }
            let left = PATIENCE.checked_sub(begun.elapsed()).unwrap_or_default();
            if let Err(end) = self.read(left) {
                panic!("no reply to {id}: {end:?}, {}", self.state());
            }
        }
    }

    /// Waits until something was heard, and returns it.
    pub(crate) fn hear(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            if let Some(found) = self.heard.iter().find(|frame| wanted(frame)) {
                return found.clone();
            }
            let left = PATIENCE.checked_sub(begun.elapsed()).unwrap_or_default();
            if let Err(end) = self.read(left) {
                panic!("{what} was never heard: {end:?}, {}", self.state());
            }
        }
    }

    /// Reads for a while, whatever comes.
    pub(crate) fn idle(&mut self, span: Duration) {
        let begun = Instant::now();
        while let Some(left) = span.checked_sub(begun.elapsed()) {
            if self.read(left).is_err() {
                return;
            }
        }
    }

    /// Replies that nobody waits for: a reply to a request that was never sent, or a second one.
    pub(crate) fn strays(&self) -> &VecDeque<Value> {
        &self.replies
    }

    /// Sends one frame.
    pub(crate) fn send(&mut self, frame: &Value) {
        self.send_raw(format!("{frame}\n").as_bytes());
    }

    /// Sends bytes as they are; a peer that is gone is found out by whoever waits for its answer.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        if let Some(stdin) = self.stdin.as_mut() {
            let _gone = stdin.write_all(bytes).and_then(|()| stdin.flush());
        }
    }

    /// Closes the peer's stdin, as a client does that goes, and waits for the end of the process.
    pub(crate) fn close(mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.ended()
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, signal).unwrap();
    }

    /// Waits for the end of the process.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            // What it still writes is read, so that it does not wait for us.
            while self.lines.try_recv().is_ok() {}
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end: {}", self.state());
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn read(&mut self, left: Duration) -> Result<(), RecvTimeoutError> {
        let line = self.lines.recv_timeout(left)?;
        let Ok(frame) = serde_json::from_slice::<Value>(&line) else {
            self.junk.push(line);
            return Ok(());
        };
        if frame.get("method").is_none() {
            self.replies.push_back(frame);
            return Ok(());
        }
        if let Some(id) = frame.get("id") {
            let method = frame["method"].as_str().unwrap();
            let reply = match self.answers.answer(method, &frame["params"]) {
                Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                None => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not offered"}})
                }
            };
            self.send(&reply);
        }
        self.heard.push(frame);
        Ok(())
    }

    fn state(&mut self) -> String {
        let mut text = format!("exit {:?}", self.child.try_wait());
        let _infallible = write!(text, ", heard {:?}, replies {:?}", self.heard, self.replies);
        let shown: String = text.chars().take(2000).collect();
        format!("{shown}, junk {}, stderr: {}", self.junk.len(), self.said())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
