//! Each surface, granted and not granted.

use serde_json::{Value, json};

use crate::it::bench::{Bench, everything};

fn says(answer: &Value, text: &str) -> bool {
    answer["error"].as_str().is_some_and(|error| error.contains(text))
}

#[tokio::test]
async fn what_is_granted_is_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "hello").unwrap();
    let bench = Bench::new(everything(folder.path()));

    let read = bench.act(json!({ "act": "read", "path": folder.path().join("a.txt") })).await;
    assert_eq!(read, json!({ "ok": "hello" }));
    let secret = bench.act(json!({ "act": "secret", "name": "PROBE_SECRET" })).await;
    assert_eq!(secret["error"], Value::Null, "{secret}");
    let set = bench.act(json!({ "act": "storage_set", "key": "k", "value": "v" })).await;
    assert_eq!(set["error"], Value::Null, "{set}");
    assert_eq!(bench.act(json!({ "act": "storage_get", "key": "k" })).await, json!({ "ok": "v" }));
    assert_eq!(bench.act(json!({ "act": "storage_list", "prefix": "" })).await, json!({ "ok": ["k"] }));
    bench.act(json!({ "act": "storage_delete", "key": "k" })).await;
    assert_eq!(bench.act(json!({ "act": "storage_get", "key": "k" })).await, json!({ "ok": null }));
    let environment = bench.act(json!({ "act": "environment" })).await;
    assert_eq!(environment, json!({ "ok": { "LANG": "C.UTF-8", "PROBE_VARIABLE": "seen" } }));
    let context = bench.act(json!({ "act": "context" })).await;
    assert_eq!(context["ok"]["run"], json!("run-1"));
}

#[tokio::test]
async fn what_is_not_granted_is_refused() {
    let bench = Bench::new(json!({}));

    let read = bench.act(json!({ "act": "read", "path": "/etc/passwd" })).await;
    assert!(read["error"].is_string(), "{read}");
    let secret = bench.act(json!({ "act": "secret", "name": "PROBE_OTHER" })).await;
    assert!(says(&secret, "SECRET_NOT_DECLARED"), "{secret}");
    let http = bench.act(json!({ "act": "http", "url": "https://api.stripe.com/" })).await;
    assert!(says(&http, "HOST_NOT_ALLOWED: api.stripe.com"), "{http}");
    let environment = bench.act(json!({ "act": "environment" })).await;
    assert!(environment["ok"].is_object() && environment["ok"]["PROBE_HIDDEN"].is_null(), "{environment}");
}

#[tokio::test]
async fn nothing_ambient_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(everything(folder.path()));
    assert_eq!(bench.act(json!({ "act": "input" })).await, json!({ "ok": "" }));
    assert_eq!(bench.act(json!({ "act": "arguments" })).await, json!({ "ok": [] }));
    for act in [
        json!({ "act": "start", "program": "/bin/true" }),
        json!({ "act": "thread" }),
        json!({ "act": "connect", "address": "127.0.0.1:80" }),
        json!({ "act": "listen", "address": "127.0.0.1:0" }),
        json!({ "act": "resolve", "address": "localhost:80" }),
        json!({ "act": "udp", "address": "127.0.0.1:53" }),
    ] {
        let came = bench.act(act.clone()).await;
        assert!(came["error"].is_string(), "{act}: {came}");
    }
    let clock = bench.act(json!({ "act": "clock" })).await;
    assert!(clock["ok"]["seconds"].as_u64().is_some_and(|seconds| seconds > 1_700_000_000), "{clock}");
    let random = bench.act(json!({ "act": "random" })).await;
    assert_ne!(random, bench.act(json!({ "act": "random" })).await);
}
