//! A grant of nothing is nothing: no files, programs, network or variables.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::client;
use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::{CANARY, Scene, attack};

#[test]
fn a_server_that_is_granted_nothing_reaches_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut scene = Scene::new("attack", Vec::new());
    let secret = scene.outside("secret");
    std::fs::write(&secret, "the secret of the host").unwrap();
    let secret = secret.display().to_string();
    scene.command = attack(&["wide", &secret, &port]);
    scene.policy(&format!(
        "[personality]\nid = \"e2e\"\n[[server]]\nname = \"attack\"\ncommand = {:?}\naccept = \"clean\"\n",
        scene.command
    ));
    let tried =
        |mut client: Client| -> Value { serde_json::from_str(&client.text("work", json!({}))).unwrap() };
    let refused = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("refused"));

    let fenced = tried(client(&scene));
    for what in ["/etc/shadow", &secret, "write", "run", "connect"] {
        assert!(refused(&fenced[what]), "{what}: {fenced}");
    }
    assert!(!fenced["environment"].to_string().contains(CANARY.1), "{fenced}");

    let alone = tried(Client::connect(scene.direct(), LEGACY, Answers::default()));
    for what in [&secret, "write", "run", "connect"] {
        assert!(!refused(&alone[what]), "{what} must work without a fence: {alone}");
    }
    assert!(alone["environment"].to_string().contains(CANARY.1), "{alone}");
}

#[test]
fn without_a_policy_the_message_names_the_lines_that_would_allow_it() {
    // No file at all: a drop-in for a server that nobody wrote a policy for.
    let mut scene = Scene::new("attack", Vec::new());
    let secret = scene.outside("secret");
    std::fs::write(&secret, "the secret of the host").unwrap();
    scene.command = attack(&["wide", &secret.display().to_string(), "9"]);
    let mut command = scene.host(ringfence_e2e::ringfence().to_str().unwrap());
    command.args(["wrap", "--accept", "clean", "--name", "attack", "--"]).args(&scene.command);
    let mut client = Client::connect(command, LEGACY, Answers::default());
    let tried: Value = serde_json::from_str(&client.text("work", json!({}))).unwrap();
    assert!(tried["write"].as_str().unwrap().starts_with("refused"), "{tried}");
    client.close();
}
