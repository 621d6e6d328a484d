//! Servers that die, hang, do not go, or leave somebody behind.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::{client, failed};
use crate::client::Client;
use crate::place::{Scene, attack};
use crate::process::{alive, gone, token};

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
        for round in 0..3 {
            // It is started again at once the first time, and later after a while.
            let begun = Instant::now();
            let reply = loop {
                let reply = client.call("work", json!({}));
                if !failed(&reply) || begun.elapsed() > Duration::from_secs(15) {
                    break reply;
                }
                client.idle(Duration::from_millis(200));
            };
            assert_eq!(reply.unwrap()["content"][0]["text"], "done 1", "{arguments:?} {round}");
            let begun = Instant::now();
            let reply = client.call("break", json!({}));
            assert!(failed(&reply), "{arguments:?} {round}: {reply:?}");
            assert!(begun.elapsed() < Duration::from_secs(10), "{arguments:?}: {:?}", begun.elapsed());
        }
    }
}

#[test]
fn a_call_that_hangs_ends_with_its_deadline_and_others_do_not_wait() {
    let scene = hurried(&["silent"], "hang");
    let mut client = client(&scene);
    let begun = Instant::now();
    let hanging = client.begin("tools/call", json!({"name": "hang", "arguments": {}}));
    // Calls run beside each other, so that either may reach the server first.
    assert!(client.text("work", json!({})).starts_with("done"));
    assert!(begun.elapsed() < Duration::from_secs(2), "the other call waited {:?}", begun.elapsed());
    let reply = client.wait(hanging);
    assert!(super::says(&reply, "DEADLINE_EXCEEDED"), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
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
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    assert_eq!(client.ask("ping", json!({})).unwrap(), json!({}));
}

#[test]
fn a_server_that_never_starts_is_told_with_its_own_words() {
    let scene = Scene::attack(&["stillborn"]);
    let mut client = Client::start(scene.wrapped());
    let begun = Instant::now();
    let id = client.begin(
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
    );
    // An answer in which the server is missing, or the end with a reason; but not silence.
    client.idle(Duration::from_secs(8));
    let answered = client.strays().iter().any(|reply| reply["id"] == id);
    assert!(answered || client.said().contains("cannot find my configuration"), "{}", client.said());
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(
        client.said().contains("cannot find my configuration"),
        "its stderr is passed on: {}",
        client.said()
    );
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
            let begun = Instant::now();
            leave(client, leaving);
            gone(&token, Duration::from_secs(2));
            assert!(begun.elapsed() < Duration::from_secs(12), "{mode} {leaving:?}: {:?}", begun.elapsed());
        }
    }
}

#[test]
fn three_hundred_restarts_leave_nobody() {
    let token = token();
    let scene = Scene::attack(&["daemon", &token]);
    let rounds = if std::env::var_os("RINGFENCE_TEST_FAST").is_some() { 60 } else { 300 };
    for round in 0..rounds {
        let mut client = Client::start(scene.wrapped());
        client.greet(crate::client::LEGACY);
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
    gone(&token, Duration::from_secs(5));
    println!("{rounds} restarts, nobody left");
}
