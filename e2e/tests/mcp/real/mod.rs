//! Real servers, unchanged: every tool of each is called by itself and inside the fence, and gives the same answer.
//!
//! INVARIANT: a tool that a server offers and that is not called here fails the test.

mod everything;
mod filesystem;
mod git;
mod memory;
mod network;
mod sqlite;
mod thinking;
mod time;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::Scene;

/// How an answer inside the fence compares to the one without.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Compare {
    /// Byte for byte.
    Same,
    /// But for digests, numbers and moments.
    Shape,
    /// The answer must differ; a test of its own says how.
    Other,
}

/// One call of a tool.
pub(crate) struct Call {
    tool: &'static str,
    arguments: Value,
    compare: Compare,
    /// As a task of 2025-11-25.
    task: bool,
}

pub(crate) fn same(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments, compare: Compare::Same, task: false }
}

pub(crate) fn shape(tool: &'static str, arguments: Value) -> Call {
    Call { compare: Compare::Shape, ..same(tool, arguments) }
}

pub(crate) fn other(tool: &'static str, arguments: Value) -> Call {
    Call { compare: Compare::Other, ..same(tool, arguments) }
}

pub(crate) fn as_task(tool: &'static str, arguments: Value) -> Call {
    Call { task: true, ..same(tool, arguments) }
}

/// Calls everything by itself, then again inside the fence, from the same beginning, and compares.
pub(crate) fn compare(scene: &Scene, prepare: impl Fn(&Path), calls: &[Call]) {
    prepare(&scene.workspace());
    let alone = Client::connect(scene.direct(), LEGACY, Answers::everything(&scene.workspace()));
    let (_, alone) = answers(alone, calls);
    scene.clear();
    prepare(&scene.workspace());
    let fenced = Client::connect(scene.wrapped(), LEGACY, Answers::everything(&scene.workspace()));
    let (client, fenced) = answers(fenced, calls);
    // Some servers do not go at the end of their input; the fence goes, and takes them with it.
    assert!(client.close().success());
    for ((call, alone), fenced) in calls.iter().zip(alone).zip(fenced) {
        let (alone, fenced) = (alone.to_string(), fenced.to_string());
        match call.compare {
            Compare::Same => assert_eq!(alone, fenced, "{} {}", call.tool, call.arguments),
            Compare::Shape => assert_eq!(masked(&alone), masked(&fenced), "{} {}", call.tool, call.arguments),
            Compare::Other => assert_ne!(alone, fenced, "{} {}", call.tool, call.arguments),
        }
    }
}

/// The answer to every call; each must be a success.
fn answers(mut client: Client, calls: &[Call]) -> (Client, Vec<Value>) {
    let wanted: BTreeSet<&str> = calls.iter().map(|call| call.tool).collect();
    // Some tools are added once the server knows its client.
    let begun = Instant::now();
    loop {
        let offered = client.tools();
        let offered: BTreeSet<&str> = offered.iter().map(String::as_str).collect();
        if offered == wanted {
            break;
        }
        assert!(
            begun.elapsed() < crate::mcp::client::PATIENCE,
            "offered {offered:?}, called {wanted:?}\n{}",
            client.said()
        );
        client.idle(Duration::from_millis(100));
    }
    let mut all = Vec::new();
    for call in calls {
        let reply =
            if call.task { task(&mut client, call) } else { client.call(call.tool, call.arguments.clone()) };
        let reply = reply.unwrap_or_else(|error| panic!("{} {}: {error}", call.tool, call.arguments));
        assert_ne!(reply["isError"], true, "{} {}: {reply}", call.tool, call.arguments);
        all.push(reply);
    }
    (client, all)
}

/// Calls a tool as a task, waits for its end and fetches its result.
fn task(client: &mut Client, call: &Call) -> Result<Value, Value> {
    let params = json!({"name": call.tool, "arguments": call.arguments, "task": {"ttl": 60_000}});
    let made = client.ask("tools/call", params)?;
    let id = json!({"taskId": made["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{made}"))});
    for _ in 0..100 {
        let state = client.ask("tasks/get", id.clone())?;
        if matches!(state["status"].as_str(), Some("completed" | "input_required")) {
            let mut result = client.ask("tasks/result", id)?;
            // The task's own number is another each time.
            result.as_object_mut().unwrap().remove("_meta");
            return Ok(result);
        }
        client.idle(Duration::from_millis(100));
    }
    panic!("{} never completes", call.tool);
}

/// Every number, digest and identifier made of hexadecimal digits and hyphens becomes one mark.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut run = String::new();
    for letter in text.chars().chain(['\0']) {
        if letter.is_ascii_hexdigit() || letter == '-' {
            run.push(letter);
            continue;
        }
        let numbers = run.contains(|digit: char| digit.is_ascii_digit());
        if numbers && (run.len() >= 7 || run.chars().all(|digit| digit.is_ascii_digit())) {
            masked.push('#');
        } else {
            masked.push_str(&run);
        }
        run.clear();
        masked.push(letter);
    }
    masked
}

#[test]
fn a_mask_hides_digests_and_numbers_only() {
    #[rustfmt::skip]
    let cases = [
        ("commit 0123456789abcdef by add", "commit # by add\0"),
        ("at 12:05:59", "at #:#:#\0"),
        ("decade-facade", "decade-facade\0"),
        ("id 1c9e66f2-41e3-caf3-823e-0a1b2c3d4e5f", "id #\0"),
    ];
    for (text, wanted) in cases {
        assert_eq!(masked(text), wanted);
    }
}
