//! What is seen in a container before its command begins. The process of the fake engine's container is the test's own, so that the
//! granted paths are there.

use ringfence_sandbox::{Access, Sandbox, SandboxError, Streams};
use serde_json::json;

use crate::it::fake::{Answer, Fake, command};

/// Only root may look into containers. Everybody else is refused before anything is made.
fn is_refused_for_others(fake: &Fake, error: &SandboxError) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        assert!(error.to_string().contains("`files`"), "{error}");
        assert!(!fake.was_asked("POST"), "{:?}", fake.asked());
    }
    !is_root
}

#[test]
fn what_is_exchanged_while_the_engine_works_is_not_started() {
    #[rustfmt::skip]
    let cases = [
        // the engine was asked for   what to do with the granted folder
        ("GET /images/",              "exchange"),
        ("POST /containers/create",   "exchange"),
        ("POST /containers/create",   "link"),
        ("POST /containers/create",   "remove"),
    ];
    for (question, deed) in cases {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (granted, other) = (root.join("granted"), root.join("other"));
        std::fs::create_dir(&granted).unwrap();
        std::fs::create_dir(&other).unwrap();
        let (from, to) = (granted.clone(), root.join("moved"));
        let fake = Fake::new(move |what| {
            if what.starts_with(question) {
                std::fs::rename(&from, &to).unwrap();
                match deed {
                    "exchange" => std::fs::rename(&other, &from).unwrap(),
                    "link" => std::os::unix::fs::symlink(&other, &from).unwrap(),
                    _ => {}
                }
            }
            None
        });
        let error = fake.run(&command().tree(&granted, Access::READ)).unwrap_err();
        if is_refused_for_others(&fake, &error) {
            continue;
        }
        let sentence = format!("comparing with what was granted `{}`", granted.display());
        assert!(error.to_string().contains(&sentence), "{deed} at {question}: {error}");
        let asked = fake.asked();
        assert!(!asked.iter().any(|asked| asked.what.contains("/start")), "{asked:?}");
        assert!(fake.was_asked("DELETE /containers/ringfence-"), "{asked:?}");
    }
}

#[test]
fn a_container_that_cannot_be_looked_into_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let spec = command().tree(folder.path().canonicalize().unwrap(), Access::READ);
    #[rustfmt::skip]
    let cases = [
        (json!({ "Running": false, "Pid": 0 }),          "it has none before it is started"),
        (json!({ "Running": false }),                    "it has none before it is started"),
        (json!({ "Running": false, "Pid": -1 }),         "it has none before it is started"),
        (json!({ "Running": false, "Pid": i32::MAX }),   "looking into the container"),
    ];
    for (state, sentence) in cases {
        let fake = Fake::new(move |what| {
            what.ends_with("/json")
                .then(|| what.starts_with("GET /containers/"))
                .filter(|is_it| *is_it)
                .map(|_| Answer::Json(200, json!({ "State": state })))
        });
        let error = fake.run(&spec).unwrap_err();
        if is_refused_for_others(&fake, &error) {
            continue;
        }
        assert!(error.to_string().contains(sentence), "{error}");
        assert!(!fake.asked().iter().any(|asked| asked.what.contains("/start")), "{:?}", fake.asked());
        assert!(fake.was_asked("DELETE /containers/ringfence-"));
    }
}

#[test]
fn an_ordinary_users_engine_gets_no_paths() {
    let folder = tempfile::tempdir().unwrap();
    let spec = command().tree(folder.path().canonicalize().unwrap(), Access::READ);
    let fake = Fake::new(|what| {
        let mut info = crate::it::fake::info(&["name=seccomp,profile=default", "name=rootless"]);
        info["Rootless"] = json!(true);
        (what == "GET /info").then_some(Answer::Json(200, info))
    });
    let error = Sandbox::foreign(fake.engine.clone()).run(&spec, Streams::default()).unwrap_err();
    assert!(error.to_string().contains("`files`"), "{error}");
    assert!(!fake.was_asked("POST"), "{:?}", fake.asked());
    assert!(fake.run(&command()).is_ok());
}
