//! Frames that are no answers: forged ids, second answers, half JSON.

use std::time::Duration;

use serde_json::json;

use super::client;
use crate::mcp::place::Scene;

#[test]
fn forged_and_second_answers_reach_nobody() {
    for mode in ["cross", "unasked"] {
        let scene = Scene::attack(&[mode]);
        let mut client = client(&scene);
        for number in 1..=5 {
            assert_eq!(client.text("work", json!({})), format!("done {number}"), "{mode}");
        }
        client.idle(Duration::from_millis(300));
        assert!(client.strays().is_empty(), "{mode}: {:?}", client.strays());
        assert!(client.junk.is_empty(), "{mode}: {:?}", client.junk);
    }
}

#[test]
fn ids_are_never_confused_under_concurrency() {
    let scene = Scene::attack(&["shuffle"]);
    let mut client = client(&scene);
    let call = |number: i64| json!({"name": "work", "arguments": {"number": number}});
    let ids: Vec<(i64, i64)> =
        (0..50).map(|number| (number, client.begin("tools/call", call(number)))).collect();
    for (number, id) in ids {
        let reply = client.wait(id).unwrap();
        assert_eq!(reply["content"][0]["text"], format!("number {number}"), "{reply}");
    }
    client.idle(Duration::from_millis(300));
    assert!(client.strays().is_empty(), "{:?}", client.strays());
}

#[test]
fn ids_of_any_kind_come_back_as_they_were() {
    let scene = Scene::attack(&["swap", "1000"]);
    let mut client = client(&scene);
    let long = "x".repeat(500);
    let ids =
        [json!("text"), json!(""), json!(-7), json!(9_007_199_254_740_991_i64), json!("9"), json!(long)];
    for id in &ids {
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "work", "arguments": {}}}));
    }
    for _ in 0..50 {
        if client.strays().len() == ids.len() {
            break;
        }
        client.idle(Duration::from_millis(100));
    }
    for id in &ids {
        assert_eq!(client.strays().iter().filter(|reply| reply["id"] == *id).count(), 1, "{id}");
    }
}

#[test]
fn odd_frames_are_dropped_or_refused_and_the_session_goes_on() {
    let scene = Scene::attack(&["frames"]);
    let mut client = client(&scene);
    let kinds = [
        "deep",
        "duplicate",
        "duplicate-id",
        "utf8",
        "nul",
        "surrogate",
        "number",
        "batch",
        "crlf",
        "bom",
        "blank",
        "null",
        "string",
        "no-version",
        "neither",
    ];
    for kind in kinds {
        let reply = client.call("odd", json!({"kind": kind}));
        // The good answer that follows, or a refusal of the odd one; never what only one of two readers would see.
        let text = format!("{reply:?}");
        assert!(text.contains("good") || super::failed(&reply), "{kind}: {text}");
        if kind.starts_with("duplicate") {
            assert!(!text.contains("two"), "{kind}: {text}");
        }
        let after = client.text("work", json!({}));
        assert!(after.starts_with("done"), "{kind}: {after}");
    }
    client.idle(Duration::from_millis(300));
    assert!(client.strays().is_empty() && client.junk.is_empty(), "{:?} {:?}", client.strays(), client.junk);
}

#[test]
fn odd_frames_of_a_client_are_answered_and_the_session_goes_on() {
    let scene = Scene::attack(&["swap", "1000"]);
    let mut client = client(&scene);
    for line in [
        &b"junk\n"[..],
        b"\n",
        b"[]\n",
        b"null\n",
        b"{\"jsonrpc\":\"2.0\"}\n",
        b"\xff\xfe\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\n",
    ] {
        client.send_raw(line);
    }
    client.send_raw(format!("{}{}\n", "[".repeat(50_000), "]".repeat(50_000)).as_bytes());
    assert_eq!(client.text("work", json!({})), "done 1");
    assert!(client.junk.is_empty(), "{:?}", client.junk);
}
