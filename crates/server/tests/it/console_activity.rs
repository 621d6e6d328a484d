//! The activity: filters, pages, and what comes while somebody looks.

use serde_json::{Value, json};

use crate::it::console::{FOUL, Scene, assert_is_text, encode};

/// A call as the pipeline writes it, with what the test says in place of the rest.
fn call(number: u64, more: &Value) -> Value {
    let mut record = json!({
        "kind": "call", "call": number, "at_ms": 1_790_000_000_000 + number * 1000, "run": "run-1", "session": "s",
        "tool": "fetch", "tool_digest": "d", "class": "network", "risk": "low", "asker": "model",
        "proposer": "agent", "personality": "clerk", "policy_digest": "p", "outcome": "done", "arguments": {},
        "duration_us": 1500,
    });
    for (name, value) in more.as_object().unwrap() {
        record[name] = value.clone();
    }
    record
}

fn connection(more: &Value) -> Value {
    let mut record = json!({
        "kind": "connection", "at_ms": 1_790_000_000_000_u64, "call": 1, "run": "run-1", "tool": "fetch",
        "host": "a.io", "port": 443, "via": "gate", "sent": 1, "received": 2, "duration": 1.5, "verdict": "done",
    });
    for (name, value) in more.as_object().unwrap() {
        record[name] = value.clone();
    }
    record
}

fn indexes(page: &str) -> Vec<u64> {
    page.split("data-index=\"").skip(1).map(|part| part.split('"').next().unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn entries_are_found_by_what_they_are() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await; // entry 0
    scene.log.put(&call(1, &json!({}))); // 1
    let refused = json!({ "outcome": "refused", "tool": "pay", "class": "financial", "run": "run/2 &x",
        "result": { "ok": false, "code": "refused", "error": "no", "refusal": "HOST_NOT_ALLOWED" }, "proposer": "mallory" });
    scene.log.put(&call(2, &refused)); // 2
    scene.log.put(&connection(&json!({}))); // 3
    scene.log.put(&connection(
        &json!({ "host": "evil.io", "verdict": "refused", "code": "HOST_NOT_ALLOWED", "message": "no" }),
    )); // 4
    #[rustfmt::skip]
    let cases: [(&str, &[u64]); 14] = [
        ("",                                          &[4, 3, 2, 1, 0]),
        ("kind=call",                                 &[2, 1]),
        ("run=run%2F2%20%26x",                        &[2]),
        ("tool=fetch",                                &[4, 3, 1]),
        ("code=HOST_NOT_ALLOWED",                     &[4, 2]),
        ("host=evil.io",                              &[4]),
        ("class=financial",                           &[2]),
        ("principal=mallory",                         &[2]),
        ("principal=vera",                            &[0]),
        ("kind=&run=&tool=fetch&since=&until=",       &[4, 3, 1]),
        ("since=1790000002000&until=1790000003000",   &[2]),
        ("until=2026-09-21T14:13:21Z",                &[4, 3]),
        ("kind=call&code=NOTHING",                    &[]),
        ("below=3&from=1",                            &[2, 1]),
    ];
    for (query, expected) in cases {
        let page = vera.page(&format!("/activity?{query}")).await;
        assert_eq!(indexes(&page), expected, "{query}");
        let listed = vera.json(&format!("/api/v1/entries?{query}")).await;
        let listed: Vec<u64> =
            listed["rows"].as_array().unwrap().iter().map(|row| row["index"].as_u64().unwrap()).collect();
        assert_eq!(listed, expected, "{query}");
    }
    let page = vera.page("/activity?run=run%2F2%20%26x").await;
    assert!(page.contains("<tr data-index=\"2\" class=\"refused\">"), "{page}");
    assert!(page.contains("href=\"/runs/run%2F2%20%26x\"") && page.contains("href=\"/calls/2\""), "{page}");
    assert!(page.contains("data-query=\"run=run%2F2%20%26x\"") && page.contains("data-next=\"5\""), "{page}");
    for query in ["since=yesterday", "from=x", "run=a&run=b"] {
        assert_eq!(vera.get(&format!("/activity?{query}")).await.status, 400, "{query}");
        assert_eq!(vera.get(&format!("/api/v1/entries?{query}")).await.status, 400, "{query}");
    }
    assert_eq!(vera.json("/api/v1/entries/4").await["record"]["host"], "evil.io");
    assert_eq!(vera.get("/api/v1/entries/99").await.status, 404);
    assert_eq!(vera.get("/api/v1/entries/x").await.status, 400);
    assert_eq!(vera.get("/entries/4").await.header("location"), Some("/audit/entries/4"));
    assert!(vera.page("/audit/entries/4").await.contains("evil.io"));
}

#[tokio::test]
async fn pages_go_back_to_the_beginning_and_are_small() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    for number in 0..250 {
        let error = "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts, which is a long story to tell";
        let result = json!({ "ok": false, "code": "refused", "error": error, "refusal": "HOST_NOT_ALLOWED" });
        scene.log.put(&call(number, &json!({ "run": format!("0197c0de-{number:04}-7000-8000-000000000000"),
            "proposer": "research-agent", "tool": "github__create_pull_request", "outcome": "refused", "result": result })));
    }
    let mut path = "/activity?kind=call".to_owned();
    let mut all = Vec::new();
    for round in 0..3 {
        let page = vera.page(&path).await;
        assert!(page.len() <= 100_000, "{} bytes", page.len());
        assert_eq!(page.contains("id=\"rows\""), round == 0, "only the newest page goes on by itself");
        all.extend(indexes(&page));
        let older = page.split("class=\"button\" href=\"").nth(1).map(|part| part.split('"').next().unwrap());
        match older {
            Some(older) => path = older.replace("&amp;", "&"),
            None => assert_eq!(round, 2),
        }
    }
    assert_eq!(all, (1..=250).rev().collect::<Vec<u64>>());
    assert_eq!(vera.json("/api/v1/entries?most=3").await["rows"].as_array().unwrap().len(), 3);
    assert_eq!(vera.json("/api/v1/entries?most=3").await["older"], 248);
    assert_eq!(vera.json("/api/v1/entries?most=9999").await["rows"].as_array().unwrap().len(), 251);
}

#[tokio::test]
async fn foreign_text_stays_text() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    let failed = json!({ "outcome": "failed", "result": { "ok": false, "error": FOUL } });
    let foul = json!({ "run": FOUL, "tool": FOUL, "class": FOUL, "proposer": FOUL });
    scene.log.put(&call(1, &foul));
    scene.log.put(&call(2, &failed));
    scene.log.put(&connection(&json!({ "host": FOUL, "message": FOUL, "verdict": "refused", "code": FOUL })));
    scene.log.put(&json!({ "kind": "approval", "at_ms": 1, "run": FOUL, "tool": FOUL, "digest": "d", "step": "refused", "by": [FOUL], "reason": FOUL }));
    scene.log.put(&json!({ "kind": "approval", "at_ms": 1, "run": FOUL, "tool": FOUL, "digest": "d", "step": FOUL, "by": [] }));
    scene.log.put(&json!({ "kind": "approver", "at_ms": 1, "name": FOUL, "change": "added", "role": FOUL }));
    scene.log.put(&json!({ "kind": "policy", "at_ms": 1, "personality": FOUL, "digest": "d", "start": false, "version": "1" }));
    scene.log.put(&json!({ "kind": "server", "at_ms": 1, "run": FOUL, "server": FOUL, "step": "ended", "about": { "why": FOUL } }));
    scene.log.put(&json!({ "kind": "settlement", "at_ms": 1, "scope": FOUL, "key": FOUL, "fence": 1, "run": FOUL, "settled": FOUL, "by": FOUL, "reason": FOUL }));
    scene.log.put(
        &json!({ "kind": "console", "at_ms": 1, "principal": FOUL, "action": FOUL, "about": { FOUL: FOUL } }),
    );
    scene.log.put(&json!({ "kind": FOUL, "at_ms": 1 }));
    assert_is_text(&vera.page("/activity").await);
    for field in ["run", "tool", "code", "host", "principal"] {
        assert_is_text(&vera.page(&format!("/activity?{field}={}", encode(FOUL))).await);
    }
    assert_is_text(&vera.get(&format!("/activity?since={}", encode(FOUL))).await.body);
    let mut stream = vera.follow("/live?from=1").await;
    for _ in 0..10 {
        let event = stream.message().await;
        let html = event["html"].as_str().unwrap();
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains('\u{202e}'), "{html}");
    }
}

#[tokio::test]
async fn what_happens_comes_once_and_in_order() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    for number in 0..700 {
        scene.log.put(&call(number, &json!({})));
    }
    // One who begins at the beginning, one who begins now, one who wants something else, and one who comes back.
    let mut whole = vera.follow("/live?from=0").await;
    let mut now = vera.follow("/live").await;
    let mut some = vera.follow("/live?from=0&tool=pay").await;
    assert_eq!((whole.status, whole.header("content-type")), (200, Some("text/event-stream")));
    for number in 700..6000 {
        let tool = if number % 1000 == 0 { "pay" } else { "fetch" };
        scene.log.put(&call(number, &json!({ "tool": tool })));
        if number % 500 == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
    let expect = async |stream: &mut crate::it::http::client::Live, wanted: Vec<u64>| {
        for index in wanted {
            let event = stream.event().await.expect("the stream ended");
            assert_eq!(event.id, Some(index.to_string()));
            let data: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!((&event.kind.as_deref(), &data["row"]["index"]), (&Some("record"), &json!(index)));
            assert!(data["html"].as_str().unwrap().starts_with(&format!("<tr data-index=\"{index}\"")));
        }
    };
    expect(&mut whole, (0..6001).collect()).await;
    expect(&mut now, (701..6001).collect()).await;
    expect(&mut some, (1..6).map(|thousand| thousand * 1000 + 1).collect()).await;
    let mut back = vera.client().header("last-event-id", "5990").open("GET", "/live?from=0", "").await;
    expect(&mut back, (5991..6001).collect()).await;
    // Long ago: what is remembered no more is read from the log.
    let mut far = vera.client().header("last-event-id", "9").open("GET", "/live", "").await;
    expect(&mut far, (10..6001).collect()).await;
    assert_eq!(crate::it::console::client(scene.address).send("GET", "/live", "").await.status, 401);
}
