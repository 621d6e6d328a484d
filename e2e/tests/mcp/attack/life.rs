//! Servers that die, hang, do not go, or leave somebody behind.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::{client, failed};
use crate::mcp::client::{Client, PATIENCE};
use crate::mcp::place::{Scene, attack};
use crate::mcp::process::{alive, gone, token};

/// An attack server whose tools have two seconds.
fn hurried(arguments: &[&str], tool: &str) -> Scene {
    let entry = format!("[server.tool.{tool}]\nlimits = {{ wall = \"2s\" }}");
    Scene::granted("attack", attack(arguments), "", &entry)
}

#[test]
fn a_server_that_dies_in_a_call_is_told_and_started_again() {
    for arguments in [&["mortal"][..], &["half", "death"]] {
        let scene = Scene::attack(arguments);
        let mut client = client(&scene);
        let mut fastest = Duration::MAX;
        for round in 0..3 {
            // It is started again at once the first time, and later after a while.
            let begun = Instant::now();
            let reply = loop {
                let reply = client.call("work", json!({}));
                if !failed(&reply) || begun.elapsed() > PATIENCE {
                    break reply;
                }
                client.idle(Duration::from_millis(200));
            };
            assert_eq!(reply.unwrap()["content"][0]["text"], "done 1", "{arguments:?} {round}");
            let begun = Instant::now();
            let reply = client.call("break", json!({}));
            assert!(failed(&reply), "{arguments:?} {round}: {reply:?}");
            fastest = fastest.min(begun.elapsed());
        }
        // Whoever waits for an answer of a dead server waits each time, and for a minute at least.
        assert!(fastest < Duration::from_secs(30), "{arguments:?}: {fastest:?}");
    }
}

#[test]
fn a_call_that_hangs_ends_with_its_deadline_and_others_do_not_wait() {
    let scene = hurried(&["silent"], "hang");
    let mut client = client(&scene);
    // If the other call waited, it would wait for the deadline of two seconds each time. A busy machine is slow only at
    // times.
    let does_not_wait = (0..5).any(|_| {
        let begun = Instant::now();
        let hanging = client.begin("tools/call", json!({"name": "hang", "arguments": {}}));
        // Calls run beside each other, so that either may reach the server first.
        assert!(client.text("work", json!({})).starts_with("done"));
        let waited = begun.elapsed();
        let reply = client.wait(hanging);
        assert!(super::says(&reply, "DEADLINE_EXCEEDED"), "{reply:?}");
        waited < Duration::from_secs(2) && begun.elapsed() < Duration::from_secs(30)
    });
    assert!(does_not_wait, "the other call waited");
    assert!(client.text("work", json!({})).starts_with("done"));
}

#[test]
fn half_a_frame_and_then_silence_ends_with_the_deadline() {
    let scene = hurried(&["half", "silence"], "break");
    let mut client = client(&scene);
    assert_eq!(client.text("work", json!({})), "done 1");
    let begun = Instant::now();
    let reply = client.call("break", json!({}));
    assert!(failed(&reply), "{reply:?}");
    // Without a deadline of its own it would wait for a minute at least.
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    assert_eq!(client.ask("ping", json!({})).unwrap(), json!({}));
}

#[test]
fn a_server_that_never_starts_is_told_with_its_own_words() {
    let scene = Scene::attack(&["stillborn"]);
    let mut client = Client::start(scene.wrapped());
    let begun = Instant::now();
    client.begin(
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
    );
    // Its stderr is passed on. Whoever waits for a server that never starts waits for a minute.
    let is_told = |client: &Client| client.said().contains("cannot find my configuration");
    while !is_told(&client) && begun.elapsed() < Duration::from_secs(50) {
        client.idle(Duration::from_millis(200));
    }
    assert!(is_told(&client), "{}", client.said());
}

/// How the client goes.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    Closes,
    Terminates,
    Kills,
}

fn leave(client: Client, leaving: Leaving) {
    match leaving {
        Leaving::Closes => {
            client.close();
        }
        Leaving::Terminates => {
            let mut client = client;
            client.signal(Signal::TERM);
            client.ended();
        }
        Leaving::Kills => {
            let mut client = client;
            client.signal(Signal::KILL);
            client.ended();
        }
    }
}

#[test]
fn nobody_survives_however_the_client_goes() {
    for mode in ["stubborn", "daemon"] {
        for leaving in [Leaving::Closes, Leaving::Terminates, Leaving::Kills] {
            let token = token();
            let scene = Scene::attack(&[mode, &token]);
            let mut client = client(&scene);
            assert_eq!(client.text("work", json!({})), "done 1");
            assert!(!alive(&token).is_empty(), "{mode}: the token is in the command line");
            leave(client, leaving);
            gone(&token);
        }
    }
}

#[test]
fn restarts_leave_nobody() {
    let token = token();
    let scene = Scene::attack(&["daemon", &token]);
    let rounds = ringfence_e2e::Tier::current().pick(10, 30, 300);
    for round in 0..rounds {
        let mut client = Client::start(scene.wrapped());
        client.greet(crate::mcp::client::LEGACY);
        // Most are killed as they are; some go in the other ways.
        leave(
            client,
            match round % 10 {
                8 => Leaving::Terminates,
                9 => Leaving::Closes,
                _ => Leaving::Kills,
            },
        );
    }
    gone(&token);
    println!("{rounds} restarts, nobody left");
}
