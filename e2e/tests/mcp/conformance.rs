//! The official conformance suite in both its versions: the pass set through the gateway is the one without it.
//!
//! The server is `e2e/mcp/fixture.py`, over HTTP by itself and over stdio behind the gateway.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::mcp::era;
use crate::mcp::gateway::Listening;
use crate::mcp::place::{Scene, file, installed, newer_node, python};

/// A process that ends with the test.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The fixture by itself.
fn alone(scene: &Scene) -> Server {
    // Free a moment ago; nobody else is likely to take it.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let words = python("py2", "python", &[&file("fixture.py"), "http", &port.to_string()]);
    let mut command = scene.host(&words[0]);
    let child = command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let server = Server { child, url: format!("http://127.0.0.1:{port}/mcp") };
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the fixture does not listen");
        thread::sleep(Duration::from_millis(20));
    }
    server
}

/// The fixture behind the gateway, with its own names.
fn fenced(scene: &Scene) -> Listening {
    let mut command =
        scene.ringfence(&["wrap", "--name", &scene.name, "--listen", "127.0.0.1:0", "--anonymous", "--"]);
    command.args(&scene.command);
    Listening::start(command)
}

/// What every scenario came to, `✓` or `✗`, and everything that the suite printed.
fn outcome(url: &str, suite: &str, arguments: &[&str]) -> (BTreeMap<String, char>, String) {
    let script = installed().join(suite).join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let output = Command::new("timeout")
        .arg("900")
        .arg(newer_node())
        .arg(script)
        .args(["server", "--url", url])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let (_, summary) = text.split_once("=== SUMMARY ===").unwrap_or_else(|| panic!("no summary: {text}"));
    let mut all = BTreeMap::new();
    for line in summary.lines() {
        let mark = line.chars().next();
        if let (Some(mark @ ('✓' | '✗')), Some((name, _))) = (mark, line.split_once(':')) {
            all.insert(name.trim_start_matches(mark).trim().to_owned(), mark);
        }
    }
    (all, text)
}

#[test]
fn the_pass_sets_are_the_same() {
    let scene = era::both();
    let (alone, fenced) = (alone(&scene), fenced(&scene));
    for (suite, arguments, least) in [
        ("conformance-1", &["--suite", "all"][..], 31),
        ("conformance-2", &["--suite", "all", "--spec-version", "2025-11-25"], 32),
        ("conformance-2", &["--requirements", "2026-07-28"], 39),
    ] {
        let (wanted, _) = outcome(&alone.url, suite, arguments);
        let passed = wanted.values().filter(|mark| **mark == '✓').count();
        assert!(passed >= least, "the server itself passes {passed} of {suite} {arguments:?}: {wanted:?}");
        let (mut got, mut printed) = outcome(&fenced.url, suite, arguments);
        // The suite's own clients give up after seconds, also where the machine is busy: what fails must fail three times.
        for _ in 0..2 {
            let failed: Vec<_> = wanted.iter().filter(|(name, mark)| got.get(*name) != Some(mark)).collect();
            if failed.is_empty() {
                break;
            }
            println!("{suite} {arguments:?}: again, because of {failed:?}");
            let (again, more) = outcome(&fenced.url, suite, arguments);
            got.extend(again.into_iter().filter(|(_, mark)| *mark == '✓'));
            printed += &more;
        }
        let differing: Vec<_> = wanted.iter().filter(|(name, mark)| got.get(*name) != Some(mark)).collect();
        assert!(
            differing.is_empty(),
            "{suite} {arguments:?}: without the gateway {differing:?}\n{printed}\nThe gateway said:\n{}",
            fenced.messages()
        );
        assert_eq!(got.len(), wanted.len(), "{suite} {arguments:?}");
        println!("{suite} {arguments:?}: {passed} of {} pass, the same through the gateway", wanted.len());
    }
}
