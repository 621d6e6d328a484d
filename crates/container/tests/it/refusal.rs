//! What is refused before anything is made.

use ringfence_container::Engine;
use ringfence_policy::{Assurance, Code, HostSet, NetworkCeiling, NetworkGrant, Private};
use ringfence_sandbox::{Access, Sandbox, Spec, Streams};
use serde_json::json;

use crate::it::fake::{Answer, Fake, IMAGE, command, info};

const SECCOMP: &str = "name=seccomp,profile=default";

fn refused(fake: &Fake, spec: &Spec) -> String {
    let streams = Streams::default().gate(|_| Ok(()));
    let error = Sandbox::foreign(fake.engine.clone()).run(spec, streams).unwrap_err();
    assert_eq!(error.code(), Code::NotAvailable, "{error}");
    assert!(!fake.was_asked("POST"), "nothing was made: {:?}", fake.asked());
    error.to_string()
}

#[test]
fn what_docker_cannot_enforce_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let hosts: HostSet = ["203.0.113.7:80"].iter().map(|host| host.parse().unwrap()).collect();
    let grant = NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), Private::default()));
    #[rustfmt::skip]
    let cases: [(&'static [&'static str], Spec, &[&str]); 5] = [
        (&[SECCOMP, "name=userns"], command().tree(&path, Access::WRITE), &["`files`", "`written`", "`image`"]),
        (&[SECCOMP, "name=userns"], command().tree(&path, Access::READ),  &["`files`", "`image`"]),
        (&[SECCOMP, "name=userns"], command().network(&grant),            &["`hosts`", "`network`"]),
        (&[SECCOMP],                command(),                            &["`privileges`"]),
        (&["name=userns"],          command(),                            &["`system calls`"]),
    ];
    for (options, spec, parts) in cases {
        let error = refused(&Fake::docker(options), &spec);
        assert!(error.starts_with("the sandbox cannot enforce with `container`: "), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(error.matches("`: ").count(), parts.len() + 1, "and nothing else: {error}");
    }
    assert!(Fake::docker(&[SECCOMP, "name=userns"]).run(&command()).is_ok());
}

#[test]
fn a_limit_that_the_engine_does_not_have_is_named() {
    for (missing, limit) in [("MemoryLimit", "memory"), ("SwapLimit", "memory"), ("PidsLimit", "processes")] {
        let fake = Fake::new(move |what| {
            let mut info = info(&[SECCOMP]);
            info[missing] = json!(false);
            (what == "GET /info").then_some(Answer::Json(200, info))
        });
        let error = refused(&fake, &command());
        assert_eq!(error, format!("the sandbox cannot enforce with `container`: the limit `{limit}`"));
    }
}

#[test]
fn another_image_than_the_one_that_was_named_is_not_run() {
    let other = "localhost/tools@sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let cases = [
        (Answer::Json(404, json!({ "message": "no such image" })), "the engine does not have it"),
        (Answer::Json(200, json!({ "Id": "1", "RepoDigests": [other] })), "answered with another image"),
        (Answer::Json(200, json!({ "Id": "1", "RepoDigests": null })), "answered with another image"),
        (
            Answer::Json(
                200,
                json!({ "Id": "1", "RepoDigests": [IMAGE], "Config": { "Volumes": { "/v": {} } } }),
            ),
            "it declares the volume `/v`",
        ),
    ];
    for (answer, why) in cases {
        let fake = Fake::new(move |what| what.starts_with("GET /images/").then(|| answer.clone()));
        let error = fake.run(&command()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(!fake.was_asked("POST"), "{:?}", fake.asked());
    }
}

#[test]
fn a_tool_that_asks_for_what_was_tried_is_refused() {
    let fake = Fake::new(|_| None);
    let error = refused(&fake, &command().assurance(Assurance::Probed));
    assert_eq!(error, "what `container` enforces is claimed, and the tool asks for what is probed");
}

#[test]
fn an_engine_elsewhere_has_no_paths_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let granted = command().tree(folder.path().canonicalize().unwrap(), Access::READ);
    let podman = Fake::at_port(|_| None);
    let error = refused(&podman, &granted);
    assert!(error.contains("`files`") && error.contains("`system calls`"), "{error}");
    let docker = Fake::at_port(|what| match what {
        "GET /version" => Some(Answer::Json(200, json!({ "ApiVersion": "1.41" }))),
        "GET /info" => Some(Answer::Json(200, info(&[SECCOMP, "name=userns"]))),
        _ => None,
    });
    assert!(refused(&docker, &granted).contains("`files`"));
    assert!(docker.run(&command()).is_ok());
}

#[test]
fn an_engine_that_is_not_there_is_named() {
    let fake = Fake::new(|_| None);
    let engine = Engine::connect(fake.runtime.handle().clone(), "unix:///nowhere/engine.sock").unwrap();
    let error = Sandbox::foreign(engine).run(&command(), Streams::default()).unwrap_err().to_string();
    assert!(
        error.contains("no engine answers at `unix:///nowhere/engine.sock`, asking for its version"),
        "{error}"
    );
}

#[test]
fn addresses_are_read_strictly() {
    let fake = Fake::new(|_| None);
    let connect = |address: &str| Engine::connect(fake.runtime.handle().clone(), address);
    for (address, why) in [
        ("/run/podman/podman.sock", "begins neither"),
        ("unix://run/podman.sock", "begins with `/`"),
        ("tcp://engine.example:2375", "another machine"),
        ("tcp://127.0.0.1:x", "no number"),
    ] {
        let error = connect(address).unwrap_err();
        assert!(error.to_string().contains(why) && error.hint().is_some(), "{error}");
    }
    assert!(Engine::connect_plain(fake.runtime.handle().clone(), "tcp://engine.example:2375").is_ok());
}
