//! An engine that fails in the middle: each failure is named, and what was made is removed.

use std::time::{Duration, Instant};

use ringfence_policy::{Limits, Span};
use ringfence_sandbox::Ending;
use serde_json::json;

use crate::it::fake::{Answer, Fake, OUTPUT, command, upgraded};

const SECRET: &str = "s3cret-value";

/// Says something about the question that begins like this, and the usual about the others.
fn failing(begins: &'static str, answer: Answer) -> Fake {
    Fake::new(move |what| {
        let is_it = match begins.split_once("…") {
            Some((begin, end)) => what.starts_with(begin) && what.contains(end),
            None => what.starts_with(begins),
        };
        is_it.then(|| answer.clone())
    })
}

#[test]
fn an_engine_that_works_runs_and_is_left_with_nothing() {
    let fake = Fake::new(|_| None);
    let report = fake.run(&command()).unwrap();
    assert_eq!(report.ending, Ending::Exited(3));
    assert_eq!((report.stdout.bytes.as_slice(), report.stderr.bytes.as_slice()), (&b"out"[..], &b"err"[..]));
    assert!(fake.asked().last().unwrap().what.starts_with("DELETE /containers/ringfence-"));
}

#[test]
fn every_failure_is_named_and_tells_no_secret() {
    let unwilling = || Answer::Json(500, json!({ "message": "cannot do it" }));
    // An engine that repeats what it was told.
    let broken = || Answer::Json(500, json!({ "message": format!("cannot do it with TOKEN={SECRET}") }));
    let garbled = || Answer::Raw(b"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n{\"ApiVer\"".to_vec());
    let noise = || Answer::Raw(b"\0\x01\x02 not HTTP".to_vec());
    let short = || upgraded(OUTPUT.split_at(10).0);
    #[rustfmt::skip]
    let cases = [
        // question                     answer      removed  sentence
        ("GET /version",                unwilling(), false,   "the engine refused, asking for its version"),
        ("GET /version",                garbled(),   false,   "cannot be read, asking for its version: it is not what was asked for"),
        ("GET /version",                noise(),     false,   "cannot be read, asking for its version"),
        ("GET /info",                   garbled(),   false,   "cannot be read, asking what it can do"),
        ("GET /images/",                broken(),    true,    "the engine refused, looking for the image"),
        ("GET /images/",                garbled(),   true,    "cannot be read, looking for the image"),
        ("POST /containers/create",     broken(),    true,    "the engine refused, making the container"),
        ("POST /containers/create",     noise(),     true,    "cannot be read, making the container"),
        ("POST /containers/…/attach",   broken(),    true,    "the engine refused, attaching to the container"),
        ("POST /containers/…/attach",   short(),     true,    "cannot be read, reading the command's output"),
        ("POST /containers/…/start",    broken(),    true,    "the engine refused, starting the container"),
        ("GET /containers/…/json",      garbled(),   true,    "cannot be read, looking how the command ended"),
    ];
    for (question, answer, removed, sentence) in cases {
        let fake = failing(question, answer);
        let spec = command().variable("TOKEN", SECRET);
        let error = fake.run(&spec).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(sentence), "{question}: {shown}");
        assert!(!shown.contains(SECRET), "{question}: {shown}");
        assert_eq!(fake.was_asked("DELETE /containers/ringfence-"), removed, "{question}");
    }
}

#[test]
fn silence_ends_with_the_time_of_the_command() {
    for question in ["POST /containers/create", "POST /containers/…/attach"] {
        let fake = failing(question, Answer::Silence);
        let limits = Limits { wall: Some(Span::new(Duration::from_millis(500))), ..Limits::default() };
        // Without a limit of its own it would end after the usual 30 s, so one attempt must end well before.
        let ends_early = (0..3).any(|_| {
            let begun = Instant::now();
            let report = fake.run(&command().limits(limits)).unwrap();
            assert_eq!(report.ending, Ending::TimedOut, "{question}");
            begun.elapsed() < Duration::from_secs(25)
        });
        assert!(ends_early, "{question}");
        fake.wait_for("DELETE /containers/ringfence-");
    }
}

#[test]
fn an_answer_without_end_is_not_read() {
    let endless = format!("HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n{}", 40 << 20, " ".repeat(17 << 20));
    let error = failing("GET /version", Answer::Raw(endless.into_bytes())).run(&command()).unwrap_err();
    assert!(error.to_string().contains("cannot be read, asking for its version"), "{error}");
}

#[test]
fn a_container_that_cannot_be_removed_is_told() {
    let fake = failing("DELETE", Answer::Json(500, json!({ "message": "busy" })));
    let error = fake.run(&command()).unwrap_err().to_string();
    assert!(error.contains("the engine refused, removing the container: busy"), "{error}");
    let tries = fake.asked().iter().filter(|asked| asked.what.starts_with("DELETE")).count();
    assert!(tries > 1, "{tries}");
}
