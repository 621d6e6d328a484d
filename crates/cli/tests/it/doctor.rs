//! `ringfence doctor` says of everything around it what works, and what to do where it does not.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use serde_json::Value;

use crate::bench::Bench;

/// Runs a copy of the command in the bench's folder, so that only what is there is beside it.
fn examined(bench: &Bench, arguments: &[&str]) -> Value {
    let copy = bench.path().join("bin/ringfence");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    let own = env!("CARGO_BIN_EXE_ringfence");
    if !copy.exists() && std::fs::hard_link(own, &copy).is_err() {
        std::fs::copy(own, &copy).unwrap();
    }
    let output = Command::new(&copy)
        .args(["doctor", "--json"])
        .args(arguments)
        .current_dir(bench.path())
        .env_clear()
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The state of one subject, and what is said of it.
fn finding(examined: &Value, subject: &str) -> (String, String, String) {
    let all = examined["findings"].as_array().unwrap();
    let own =
        all.iter().find(|own| own["subject"] == subject).unwrap_or_else(|| panic!("{subject}: {examined}"));
    let text = |field: &str| own[field].as_str().unwrap_or_default().to_owned();
    (text("state"), text("detail"), text("fix"))
}

fn program(bench: Bench, name: &str, said: &str) -> Bench {
    let bench = bench.file(&format!("bin/{name}"), format!("#!/bin/sh\necho '{said}'\n"));
    let path = bench.path().join("bin").join(name);
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    bench
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    let bench = Bench::new();
    let examined = examined(&bench, &[]);
    assert!(examined["sandbox"].is_boolean(), "{examined}");
    for subject in ["container engine", "components", "ringfence-components", "ringfence-lint"] {
        let (state, detail, fix) = finding(&examined, subject);
        assert_eq!(state, "missing", "{subject}: {detail}");
        assert!(!detail.is_empty() && (!fix.is_empty() || subject == "components"), "{subject}");
    }
    assert!(finding(&examined, "ringfence-lint").2.contains("cargo install --path crates/lint"));
}

#[test]
fn programs_beside_it_are_asked_for_their_version() {
    let version = env!("CARGO_PKG_VERSION");
    let bench = program(Bench::new(), "ringfence-components", &format!("ringfence {version}"));
    let bench = program(bench, "ringfence-lint", "ringfence lint 0.0.1");
    let examined = examined(&bench, &[]);
    assert_eq!(finding(&examined, "ringfence-components").0, "works");
    let (state, detail, _) = finding(&examined, "components");
    assert_eq!(
        (state.as_str(), detail.as_str()),
        ("works", "run by `ringfence-components` beside this program")
    );
    let (state, detail, fix) = finding(&examined, "ringfence-lint");
    assert!(state == "partly" && detail.contains("is version 0.0.1") && !fix.is_empty(), "{state} {detail}");
}

#[test]
fn the_engine_of_the_toolbox_is_asked() {
    let bench = Bench::new().file("fence.toml", "[container]\nengine = \"unix:///no/such/socket\"\n");
    let (state, detail, fix) = finding(&examined(&bench, &["--policy", "fence.toml"]), "container engine");
    assert!(
        state == "missing" && detail.contains("/no/such/socket") && !fix.is_empty(),
        "{state} {detail} {fix}"
    );

    let socket = bench.path().join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let asked = lines.next().unwrap().unwrap();
            let _rest: Vec<String> =
                lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let body = if asked.contains("/version") {
                r#"{"ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}]}"#
            } else {
                "{}"
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all((head + body).as_bytes()).unwrap();
        }
    });
    let bench = bench.file("fence.toml", format!("[container]\nengine = \"unix://{}\"\n", socket.display()));
    let (state, detail, _) = finding(&examined(&bench, &["--policy", "fence.toml"]), "container engine");
    assert!(state == "works" && detail.ends_with("answers: Podman, API 1.41"), "{state}: {detail}");
}
