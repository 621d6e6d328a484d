//! HTTP that is granted: what comes back, and what does not go on by itself.

use std::time::{Duration, Instant};

use ringfence::policy::IdempotencyMode;
use ringfence::{Call, Outcome};
use ringfence_wasm::Package;
use serde_json::{Value, json};

use crate::it::bench::{Bench, declaration, guest, host};
use crate::it::server::{Server, Then, ok, response};

/// A personality that permits one address of this machine.
fn loopback() -> Value {
    json!({ "network": { "allow": ["127.0.0.1"], "private": ["127.0.0.1"] } })
}

#[tokio::test]
async fn an_exchange_arrives_whole() {
    let server = Server::start(|_, request| {
        let body = request.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        (ok(&format!("got {} bytes", body.len())), Then::Close)
    })
    .await;
    let bench = Bench::new(loopback());
    let got = bench.act(json!({ "act": "http", "url": server.url("/a?b=c") })).await;
    assert_eq!(got["ok"], json!({ "status": 200, "body": "got 0 bytes", "location": null }), "{got}");
    let body = "x".repeat(1 << 20);
    let posted = json!({
        "act": "http", "url": server.url("/"), "method": "POST", "body": body, "header": ["x-probe", "here"],
    });
    let got = bench.act(posted).await;
    assert_eq!(got["ok"]["body"], json!("got 1048576 bytes"), "{got}");
    let seen = server.seen();
    assert!(seen[0].starts_with("GET /a?b=c HTTP/1.1\r\n"), "{}", seen[0]);
    assert!(seen[1].starts_with("POST / HTTP/1.1\r\n") && seen[1].contains("x-probe: here"));
}

#[tokio::test]
async fn a_redirect_is_handed_back_and_not_followed() {
    let server =
        Server::start(|_, _| (response("302 Found", "location: /secret\r\n", "moved", 5), Then::Close)).await;
    let bench = Bench::new(loopback());
    let got = bench.act(json!({ "act": "http", "url": server.url("/first") })).await;
    assert_eq!(got["ok"], json!({ "status": 302, "body": "moved", "location": "/secret" }), "{got}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_body_is_read_as_it_comes() {
    let long = "y".repeat(100_000);
    let server = Server::start(move |_, _| (response("200 OK", "", &long, 50_000_000), Then::Hold)).await;
    let bench = Bench::new(loopback());
    let begun = Instant::now();
    let got = tokio::time::timeout(
        // The rest of the body never comes, so whoever waits for it never ends.
        Duration::from_secs(120),
        bench.act(json!({ "act": "http", "url": server.url("/"), "most": 10_000 })),
    );
    let got = got.await.unwrap();
    // Whoever collects the body first waits for the rest of it, which never comes.
    assert!(
        got["error"].as_str().is_some_and(|error| error.contains("10000")),
        "{got} {:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn an_address_of_this_machine_must_be_named() {
    let server = Server::start(|_, _| (ok("never"), Then::Close)).await;
    for network in
        [json!({ "allow": ["*"] }), json!({ "allow": ["api.example.org"], "private": ["127.0.0.1"] })]
    {
        let bench = Bench::new(json!({ "network": network }));
        let got = bench.act(json!({ "act": "http", "url": server.url("/") })).await;
        let error = got["error"].as_str().unwrap_or_default();
        assert!(error.starts_with("HOST_NOT_ALLOWED: "), "{network}: {got}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn headers_that_the_client_writes_are_not_the_guests_to_write() {
    let server = Server::start(|_, _| (ok(""), Then::Close)).await;
    let bench = Bench::new(loopback());
    for (name, value) in
        [("host", "evil.test"), ("proxy-authorization", "x"), ("transfer-encoding", "chunked")]
    {
        let act = json!({ "act": "http", "url": server.url("/"), "header": [name, value] });
        bench.act(act).await;
    }
    for request in server.seen() {
        assert!(!request.contains("evil.test") && !request.contains("proxy-"), "{request}");
        assert!(!request.contains("chunked"), "{request}");
    }
}

/// Calls `fetch_status` with a key, of which the exchange breaks so many times.
async fn broken(times: usize, key: Option<&str>) -> (Outcome, usize) {
    let server = Server::start(move |number, _| {
        let bytes = if number <= times { response("200 OK", "", "cut", 100) } else { ok("whole") };
        (bytes, Then::Close)
    })
    .await;
    let package = Package::read(guest("fetch_status")).unwrap();
    let mut declared = declaration(&package);
    declared.idempotency = serde_json::from_value(json!({ "mode": IdempotencyMode::Optional })).unwrap();
    let bench = Bench::of(&host().tool(&package, declared).unwrap(), loopback());
    let call = Call::new("fetch_status", json!({ "url": server.url("/") }));
    let call = match key {
        Some(key) => call.idempotency_key(key),
        None => call,
    };
    let outcome = bench.make(call).await;
    (outcome, server.seen().len())
}

#[tokio::test]
async fn what_may_succeed_later_is_tried_again_where_that_does_no_harm() {
    // The guest says that nothing was done, so that a key may be used again.
    let (outcome, tried) = broken(2, Some("k")).await;
    assert!(outcome.is_done(), "{outcome:?}");
    assert_eq!(tried, 3);
    let (outcome, tried) = broken(1, None).await;
    assert!(!outcome.is_done(), "{outcome:?}");
    assert_eq!(tried, 1);
}
