//! Floods: memory and time stay bounded, and the session is well afterwards.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{client, failed};
use crate::mcp::client::Client;
use crate::mcp::place::{Scene, attack};

/// The most memory that a wrap may ever have had, in MB; it starts with about ten.
const MOST: u64 = 96;

/// How long a flood may hold an answer up: seconds, and more where a test build shares its processors.
const SOON: Duration = Duration::from_secs(120);

/// The most memory that the process of the wrap ever had, in MB.
fn peak(client: &Client) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn floods_before_an_answer_are_dropped_or_passed_in_bounds() {
    for arguments in [&["flood", "junk"][..], &["flood", "notifications"], &["line"]] {
        let scene = Scene::attack(arguments);
        let mut client = client(&scene);
        let begun = Instant::now();
        let reply = client.call("work", json!({}));
        let after = client.call("work", json!({}));
        assert!(begun.elapsed() < SOON, "{arguments:?}: {:?}", begun.elapsed());
        // A line that is too long may cost the call, never the session.
        assert!(!failed(&reply) || arguments == ["line"], "{arguments:?}: {reply:?}");
        assert!(!failed(&after) || arguments == ["line"], "{arguments:?}: {after:?}");
        assert_eq!(client.ask("ping", json!({})).unwrap(), json!({}), "{arguments:?}");
        assert!(peak(&client) < MOST, "{arguments:?}: {} MB", peak(&client));
    }
}

#[test]
fn an_answer_that_is_too_large_is_refused() {
    let limits = "[server.tool.work]\nlimits = { wall = \"5s\" }";
    let scene = Scene::granted("attack", attack(&["big"]), "", limits);
    let mut client = client(&scene);
    let reply = client.call("work", json!({}));
    assert!(failed(&reply), "100 MB came through");
    assert!(client.text("report", json!({})).starts_with('['));
    assert!(peak(&client) < MOST, "{} MB", peak(&client));
}

#[test]
fn a_client_that_does_not_read_holds_the_flood_back() {
    let scene = Scene::attack(&["flood", "notifications"]);
    let mut client = client(&scene);
    client.begin("tools/call", json!({"name": "work", "arguments": {}}));
    // Nobody reads for a while, but for the thousand lines that wait in the test itself.
    std::thread::sleep(Duration::from_secs(2));
    assert!(peak(&client) < MOST, "{} MB", peak(&client));
}

#[test]
fn a_list_without_end_ends() {
    for arguments in [&["endless", "loop"][..], &["endless", "new"], &["huge"]] {
        let scene = Scene::attack(arguments);
        let begun = Instant::now();
        let mut client = Client::start(scene.wrapped());
        client.greet(crate::mcp::client::LEGACY);
        // Some of it, or an error; but an answer, and soon.
        let id = client.begin("tools/list", json!({}));
        let _reply = client.wait(id);
        assert_eq!(client.ask("ping", json!({})).unwrap(), json!({}), "{arguments:?}");
        assert!(begun.elapsed() < SOON, "{arguments:?}: {:?}", begun.elapsed());
        assert!(peak(&client) < 2 * MOST, "{arguments:?}: {} MB", peak(&client));
    }
}

#[test]
fn a_line_of_a_client_that_is_too_long_is_refused() {
    let scene = Scene::attack(&["swap", "1000"]);
    let mut client = client(&scene);
    client.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"work\",\"arguments\":{\"x\":\"");
    for _ in 0..100 {
        client.send_raw(&[b'x'; 1_000_000]);
    }
    client.send_raw(b"\"}}}\n");
    assert_eq!(client.text("work", json!({})), "done 1");
    assert!(peak(&client) < MOST, "{} MB", peak(&client));
}
