//! The gateway as a command: how much of its threads' stacks calls use, on both kinds of store.
//!
//! `RINGFENCE_BIN` names another build of the command, and `RINGFENCE_TEST_CALLS` another number of calls:
//!
//! ```sh
//! cargo build --release -p ringfence-cli
//! RINGFENCE_BIN=$PWD/target/release/ringfence RINGFENCE_TEST_CALLS=200000 \
//!     script/with postgres -- cargo test -p ringfence-e2e --test e2e durable::stack -- --nocapture
//! ```

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ringfence_e2e::Tier;

use crate::durable::keep_alive::KeepAlive;
use crate::durable::postgres;

const POLICY: &str = r#"
[personality]
id = "stack"
process = { allow = ["echo"] }

[[tool]]
name = "say"
description = "Say a word"
command = ["echo", "{word}"]
input = { type = "object", properties = { word = { type = "string" } }, required = ["word"] }
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["echo"] } }

[[tool]]
name = "pay"
description = "Pay somebody"
class = "financial"
idempotency = { mode = "optional" }
command = ["echo", "paid {word}"]
input = { type = "object", properties = { word = { type = "string" } }, required = ["word"] }
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["echo"] } }
"#;

/// How many agents call at once. Each may send a hundred messages in a second.
const AGENTS: usize = 8;
/// Of how many calls one runs a program; the others are refused before that.
const RUNS: u64 = 8;

const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"say","arguments":{"word":"hello"}}}"#;
/// Refused before it runs.
const WRONG: &str =
    r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"say","arguments":{"other":1}}}"#;

/// Waits for a person.
const PAY: &str =
    r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"pay","arguments":{"word":"five"}}}"#;
/// The pages, beside what the document of the API lists.
const PAGES: [&str; 11] = [
    "/approvals",
    "/approvals/part",
    "/activity",
    "/runs/none",
    "/tools",
    "/policy",
    "/idempotency",
    "/audit",
    "/health",
    "/metrics",
    "/healthz",
];

struct Gateway {
    child: Child,
    url: String,
    /// Where the console is, without a slash at the end.
    console: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Gateway {
    fn start(folder: &Path, store: &str) -> Self {
        let mut child = Command::new(ringfence_e2e::ringfence())
            .args(["serve", "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0", "--store", store])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, said) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _nobody = sender.send(line);
            }
        });
        let mut gateway = Self { child, url: String::new(), console: String::new() };
        while gateway.url.is_empty() || gateway.console.is_empty() {
            let line = said.recv_timeout(Duration::from_secs(120)).expect("it does not say where it listens");
            if let Some((_, url)) = line.split_once("listening on ") {
                gateway.url = url.trim().to_owned();
            }
            if let Some((_, link)) = line.split_once("console: ")
                && let Some((place, _)) = link.split_once("/login")
            {
                gateway.console = place.to_owned();
            }
        }
        gateway
    }

    /// Opens a session of an agent.
    fn join(&self, agent: usize) -> KeepAlive {
        let address = self.url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let mut connection = KeepAlive::connect(address, &token(agent));
        let begun = connection.post(BEGIN);
        let session = begun.session.unwrap_or_else(|| panic!("no session: {}", begun.body));
        connection.join(&session);
        assert!(connection.post(LIST).body.contains("\"say\""));
        connection
    }

    /// Has all agents make so many calls.
    fn call(&self, calls: u64) {
        let made = AtomicU64::new(0);
        thread::scope(|scope| {
            for agent in 0..AGENTS {
                let made = &made;
                scope.spawn(move || {
                    let mut connection = self.join(agent);
                    loop {
                        let number = made.fetch_add(1, Ordering::Relaxed);
                        if number >= calls {
                            return;
                        }
                        let (message, expected) = if number.is_multiple_of(RUNS) {
                            (CALL, "hello")
                        } else {
                            (WRONG, "INPUT_INVALID")
                        };
                        let mut answer = connection.post(message);
                        while answer.status == 429 {
                            thread::sleep(Duration::from_millis(20));
                            answer = connection.post(message);
                        }
                        assert!(answer.body.contains(expected), "{answer:?}");
                    }
                });
            }
        });
    }

    /// Asks the console with a token; returns the answer.
    fn ask(&self, token: &str, path: &str, body: Option<&str>) -> String {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-m", "60", "-H", &format!("authorization: Bearer {token}")]);
        if let Some(body) = body {
            curl.args(["-H", "content-type: application/json", "-d", body]);
        }
        let output = curl.arg(format!("{}{path}", self.console)).output().unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Has a payment made that a person approves, changes their mind about, and approves again.
    fn pay(&self, token: &str) {
        thread::scope(|scope| {
            let paid = scope.spawn(|| self.join(0).post(PAY).body);
            let id = loop {
                let open = self.ask(token, "/api/v1/approvals?state=open", None);
                let open: serde_json::Value = serde_json::from_str(&open).unwrap();
                if let Some(id) = open["requests"][0]["id"].as_str() {
                    break id.to_owned();
                }
                thread::sleep(Duration::from_millis(50));
            };
            self.ask(token, &format!("/api/v1/approvals/{id}"), None);
            let path = format!("/api/v1/approvals/{id}/decision");
            let decided = self.ask(token, &path, Some(r#"{"word":"approve"}"#));
            assert!(decided.contains("\"approved\"") || decided.contains("\"taken\""), "{decided}");
            let answer = paid.join().unwrap();
            assert!(answer.contains("paid five"), "{answer}");
            let late = self.ask(token, &path, Some(r#"{"word":"withdraw"}"#));
            assert!(late.contains("can no longer be decided"), "{late}");
        });
    }

    /// Asks for every page, and everything that the document of the API lists.
    fn visit(&self, token: &str) {
        let document = self.ask(token, "/api/v1/openapi.json", None);
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let paths = document["paths"].as_object().unwrap();
        assert!(paths.len() > 20, "{}", paths.len());
        for (path, methods) in paths {
            let path = path.replace("{index}", "1").replace("{id}", "none").replace("{run}", "none");
            if methods.get("get").is_some() {
                self.ask(token, &path, None);
            }
            if methods.get("post").is_some() {
                self.ask(token, &path, Some("{}"));
            }
        }
        for page in PAGES {
            self.ask(token, page, None);
        }
    }

    /// Returns the size of the threads' stacks and the most that was ever used of one, in bytes.
    fn stacks(&self) -> (u64, u64) {
        let maps = fs::read_to_string(format!("/proc/{}/smaps", self.child.id())).unwrap();
        let (mut stack, mut most, mut size, mut guard_end) = (0, 0, 0, 0);
        let mut is_stack = false;
        for line in maps.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let range = words.first().and_then(|first| first.split_once('-')).and_then(|(start, end)| {
                Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
            });
            match (range, words.as_slice()) {
                (Some((start, end)), [_, access, ..]) => {
                    size = end - start;
                    // Each stack lies above a page that nobody may touch.
                    is_stack =
                        access.starts_with("rw") && start == guard_end && words.len() == 5 && size >= 1 << 20;
                    guard_end = if access.starts_with("---") { end } else { 0 };
                }
                (None, ["Rss:", kilobytes, _]) if is_stack => {
                    stack = stack.max(size);
                    most = most.max(kilobytes.parse::<u64>().unwrap() << 10);
                }
                _ => {}
            }
        }
        (stack, most)
    }
}

/// The token of an agent.
fn token(agent: usize) -> String {
    format!("rf_stack-test-token-of-agent-{agent}-0123456789")
}

/// The policy with its agents.
fn policy() -> String {
    (0..AGENTS).fold(POLICY.to_owned(), |policy, agent| {
        let mut program =
            Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        program.stdin.take().unwrap().write_all(token(agent).as_bytes()).unwrap();
        let output = String::from_utf8(program.wait_with_output().unwrap().stdout).unwrap();
        let digest = output.split(' ').next().unwrap();
        format!("{policy}\n[[agent]]\nname = \"agent-{agent}\"\ntoken = \"sha256:{digest}\"\n")
    })
}

/// How many calls are made.
fn calls() -> u64 {
    let usual = Tier::current().pick(80, 320, 200_000);
    std::env::var("RINGFENCE_TEST_CALLS").map_or(usual, |text| text.parse().unwrap())
}

fn check(store: &str, folder: &Path, name: &str) {
    fs::write(folder.join("ringfence.toml"), policy()).unwrap();
    let hired = Command::new(ringfence_e2e::ringfence())
        .args(["approver", "add", "ada", "--role", "admin", "--store", store])
        .current_dir(folder)
        .output()
        .unwrap();
    let hired = String::from_utf8_lossy(&hired.stdout).into_owned();
    let token = hired.lines().next().unwrap_or_else(|| panic!("{name}: nobody was added")).trim();
    let gateway = Gateway::start(folder, store);
    let (calls, begun) = (calls(), Instant::now());
    gateway.call(calls);
    println!("{name}: {calls} calls in {:.1?}", begun.elapsed());
    gateway.pay(token);
    gateway.visit(token);
    let (stack, most) = gateway.stacks();
    assert!(most > 0, "{name}: no stack was found");
    assert!(most <= stack / 2, "{name}: {most} of {stack} bytes of a stack were used");
    println!("{name}: {} of {} KiB of a stack used", most >> 10, stack >> 10);
}

#[test]
fn calls_use_at_most_half_of_a_stack() {
    let folder = tempfile::tempdir().unwrap();
    check("stack.db", folder.path(), "SQLite");
    check(&postgres::other_url("stack"), folder.path(), "PostgreSQL");
}
