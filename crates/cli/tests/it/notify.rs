//! Somebody who is told that a call waits for people.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use crate::office::Office;

const PAY: &[&str] = &["call", "--run", "r1", "pay", r#"{"to": "ada", "amount": 3}"#];
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// An office that tells somebody.
fn telling(entry: &str) -> Office {
    let office = Office::new();
    let toolbox = format!("notify = [{{ {entry} }}]\n{}", office.bench.read("ringfence.toml"));
    office.with("ringfence.toml", &toolbox)
}

/// Takes one request, answers it with a status, and returns it.
fn receiver(status: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let (mut request, mut buffer) = (String::new(), [0; 4096]);
        while !request.ends_with('}') {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "the request ends early: {request}");
            request.push_str(&String::from_utf8_lossy(buffer.get(..count).unwrap()));
        }
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        request
    });
    (port, heard)
}

fn webhook(port: u16) -> Office {
    telling(&format!(
        r#"webhook = "http://127.0.0.1:{port}/waiting", secret = "hooks/key", private = ["127.0.0.1"]"#
    ))
}

fn pay(office: &Office) -> String {
    office.bench.ringfence_in(&[("RINGFENCE_STORE", &office.variable()), ("HOOKS_KEY", SECRET)], PAY)
}

#[test]
fn a_webhook_is_told_with_a_signature() {
    let (port, heard) = receiver("204 No Content");
    let said = pay(&webhook(port));
    assert!(said.contains("APPROVAL_REQUIRED") && !said.contains("warning"), "{said}");
    let request = heard.join().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /waiting HTTP/1.1"), "{head}");
    let signature = head.lines().find_map(|line| line.strip_prefix("ringfence-signature: t=")).unwrap();
    let seconds = signature.split(',').next().unwrap().parse().unwrap();
    assert_eq!(ringfence::notify::sign_webhook(SECRET, seconds, body), format!("t={signature}"));
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["tool"], &body["arguments"]["amount"]), (&"pay".into(), &3.into()));
}

#[test]
fn what_was_not_heard_is_said_and_the_call_waits_all_the_same() {
    let (port, heard) = receiver("500 No");
    let office = webhook(port);
    let said = pay(&office);
    assert!(said.contains("APPROVAL_REQUIRED"), "{said}");
    let warning =
        format!("warning: somebody could not be told of a waiting call: webhook http://127.0.0.1:{port} ");
    assert!(said.contains(&warning) && said.contains("the server answered 500"), "{said}");
    heard.join().unwrap();
    assert_eq!(office.waiting().len(), 1);
}

#[test]
fn somebody_who_cannot_be_told_is_an_error_before_anything_happens() {
    #[rustfmt::skip]
    let cases = [
        (r#"webhook = "https://hooks.example/", secret = "no/such""#,    "`notify` entry 1: there is no secret `no/such`"),
        (r#"webhook = "http://hooks.example/", secret = "hooks/key""#,   "`notify` entry 1: `http://hooks.example/` is not https"),
        (r#"webhook = "https://hooks.example/""#,                        "a `notify` entry has `webhook` and `secret`"),
    ];
    for (entry, expected) in cases {
        let office = telling(entry);
        let said = pay(&office);
        assert!(said.contains(expected) && !said.contains("APPROVAL"), "{entry}: {said}");
    }
}
