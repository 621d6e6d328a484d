//! The pages of runs and calls.

use ringfence::audit::OutputDigests;
use serde_json::{Value, json};

use crate::it::console::{FOUL, Scene, assert_is_text, encode};

const TOKEN: &str = "rfa_f51d1f1161f08134aeb2c8c955ce58de42d66d9f9db25546f12c83afab247782";

/// Puts a call that was done into the log, cleaned as the pipeline does it, and returns its index.
fn done(scene: &Scene, more: &Value, output: &Value) -> u64 {
    let (clean, findings) = ringfence::text::clean_json(output);
    let raw = clean.is_some().then_some(output);
    let clean = json!({ "ok": true, "value": clean.unwrap_or_else(|| output.clone()) });
    let digests = OutputDigests::of(
        raw.map(|raw| raw.to_string().into_bytes()).as_deref(),
        Some(clean.to_string().as_bytes()),
    );
    let mut record = call(more);
    record["findings"] = serde_json::to_value(&findings).unwrap();
    record["outputs"] = serde_json::to_value(digests).unwrap();
    scene.log.put_with(&record, raw, Some(&clean))
}

fn call(more: &Value) -> Value {
    let mut record = json!({
        "kind": "call", "call": 7, "at_ms": 1_790_000_000_000_u64, "run": "run-1", "session": "session-1",
        "tool": "fetch", "tool_digest": "d1g3st", "class": "network", "risk": "low", "asker": "model",
        "proposer": "agent", "personality": "clerk", "policy_digest": "p0l1cy", "manifest": "m4n1fest",
        "idempotency_key": "key-1", "fence": 3, "outcome": "done", "arguments": { "url": "https://a.io/" },
        "stages": { "lookup": 3, "schema": 20, "approval": 1000, "run": 8000, "clean": 77 }, "duration_us": 9100,
        "processes": [{
            "backend": "native", "tier": "full", "program": "/usr/bin/curl", "digest": "b1n",
            "usage": { "wall": 12.5, "cpu": 3.0, "peakMemory": 5_000_000 }, "limits": { "memory": "cgroup-v2" },
            "exceeded": ["wall"], "denied": { "ptrace": 2 }, "quarantined": [], "left": [],
        }],
        "connections": [
            { "host": "a.io", "port": 443, "address": "192.0.2.1:443", "via": "gate", "sent": 100, "received": 2000, "duration": 5.0, "verdict": "done" },
            { "host": "evil.io", "via": "dns", "sent": 0, "received": 0, "duration": 0.0, "verdict": "refused", "code": "HOST_NOT_ALLOWED", "message": "not granted" },
        ],
        "touched": [
            { "surface": "secret", "what": "WEATHER_API_KEY" },
            { "surface": "read", "what": "/work", "granted": true },
            { "surface": "write", "what": "/etc/passwd", "refused": "PATH_NOT_REACHABLE" },
        ],
    });
    for (name, value) in more.as_object().unwrap() {
        record[name] = value.clone();
    }
    record
}

#[tokio::test]
async fn a_call_is_shown_with_everything_that_is_known_of_it() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    for (step, by, number, digest) in [
        ("asked", json!([]), json!(7), "x"),
        ("agreed", json!(["ada"]), json!(null), "x"),
        ("asked", json!([]), json!(8), "y"),
        ("agreed", json!(["bob"]), json!(null), "y"),
    ] {
        let mut entry = json!({ "kind": "approval", "at_ms": 1, "run": "run-1", "tool": "fetch", "digest": digest, "step": step, "by": by });
        if !number.is_null() {
            entry["call"] = number;
        }
        scene.log.put(&entry);
    }
    let index = done(&scene, &json!({}), &json!("plain"));
    let page = vera.page(&format!("/calls/{index}")).await;
    let parts = [
        "https://a.io/",
        "d1g3st",
        "p0l1cy",
        "m4n1fest",
        "key-1",
        "fence 3",
        "session-1",
        "clerk",
        "risk low",
        "approval · 1.0 ms",
        "run · 8.0 ms",
        "9.1 ms",
        "/usr/bin/curl",
        ">full<",
        "memory by cgroup-v2",
        "5.0 MB",
        ">wall<",
        "ptrace ×2",
        "a.io:443",
        "192.0.2.1:443",
        "not granted",
        "WEATHER_API_KEY",
        "could be reached; not observed",
        "PATH_NOT_REACHABLE",
        "ada agreed",
        "waits for people",
        "cleaning changed nothing",
        ">plain<",
        "href=\"/runs/run-1\"",
        &format!("href=\"/entries/{index}\""),
        &format!("href=\"/audit/proof/{index}\""),
    ];
    for part in parts {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("bob agreed"), "that is another call: {page}");
    let lookup = page.find("lookup · ").unwrap();
    assert!(
        lookup < page.find("schema · ").unwrap() && lookup < page.find("clean · ").unwrap(),
        "in their order"
    );
    let api = vera.json(&format!("/api/v1/calls/{index}")).await;
    assert_eq!(
        (&api["stages"][2], &api["processes"][0]["tier"]),
        (&json!(["approval", 1000]), &json!("full"))
    );
    assert_eq!(api["approvals"].as_array().unwrap().len(), 2);
    for (path, status) in
        [("/calls/0", 404), ("/calls/999", 404), ("/calls/x", 400), ("/api/v1/calls/x", 400)]
    {
        assert_eq!(vera.get(path).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn what_the_tool_returned_is_shown_to_few_and_the_audit_keeps_who_looked() {
    let scene = Scene::new().await;
    let (vera, ada) = (scene.login("vera").await, scene.login("ada").await);
    let index = done(&scene, &json!({}), &json!(format!("token {TOKEN} end")));
    let path = format!("/calls/{index}");
    for person in [&vera, &ada] {
        let page = person.page(&path).await;
        assert!(!page.contains(TOKEN) && page.contains("<mark title="), "{page}");
        assert!(!person.get(&format!("/api/v1/calls/{index}")).await.body.contains(TOKEN));
    }
    assert!(vera.page(&path).await.contains("An approver can look at it"));
    let refused = vera.get(&format!("{path}?raw=show")).await;
    assert_eq!(refused.status, 403);
    assert!(!refused.body.contains(TOKEN));
    assert_eq!(vera.get(&format!("/api/v1/calls/{index}?raw=show")).await.status, 403);
    assert!(!scene.log.actions().contains(&"looked at raw output".to_owned()), "nobody has looked yet");

    *scene.log.broken.lock().unwrap() = Some("the disk is full".to_owned());
    let unkept = ada.get(&format!("{path}?raw=show")).await;
    assert_eq!(unkept.status, 503, "what cannot be kept is not shown");
    assert!(!unkept.body.contains(TOKEN));
    *scene.log.broken.lock().unwrap() = None;

    let page = ada.page(&format!("{path}?raw=show")).await;
    let raw = page.split("id=\"raw\">").nth(1).unwrap().split("</pre>").next().unwrap();
    let marked = format!("\">{TOKEN}</mark> end");
    assert!(raw.starts_with("token <mark title=\"") && raw.ends_with(&marked), "{raw}");
    let last = scene.log.records().pop().unwrap();
    assert_eq!(
        (&last["action"], &last["principal"], &last["about"]["index"]),
        (&json!("looked at raw output"), &json!("ada"), &json!(index))
    );
    let api = ada.json(&format!("/api/v1/calls/{index}?raw=show")).await;
    assert_eq!(api["raw"], format!("token {TOKEN} end"));
    assert_eq!(scene.log.actions().iter().filter(|action| *action == "looked at raw output").count(), 2);
}

#[tokio::test]
async fn a_refusal_says_what_would_change_it() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    *scene.desk.answer.lock().unwrap() = Some(ringfence_server::console::PolicyAnswer {
        allowed: false,
        code: Some("PATH_NOT_REACHABLE".to_owned()),
        message: "the personality does not permit it".to_owned(),
        hint: Some("add it under fs_reach.write".to_owned()),
        lines: vec![ringfence_server::console::PolicyLine {
            number: 12,
            text: "write = [\"out\"]".to_owned(),
        }],
    });
    let result = json!({ "ok": false, "code": "refused", "error": "PATH_NOT_REACHABLE: no", "refusal": "PATH_NOT_REACHABLE" });
    let more = json!({ "outcome": "refused", "result": result, "hint": "ask for it", "used_declared_capability": true });
    let index = scene.log.put(&call(&more));
    let page = vera.page(&format!("/calls/{index}")).await;
    for part in [
        "PATH_NOT_REACHABLE: no",
        "ask for it",
        "href=\"/policy#L12\"",
        "add it under fs_reach.write",
        "tag refused",
        &format!("<code id=\"explain\">ringfence explain {index}</code>"),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("id=\"output\""));
}

#[tokio::test]
async fn outputs_that_are_not_those_of_the_record_are_told_apart() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    let mut record = call(&json!({}));
    record["outputs"] = serde_json::to_value(OutputDigests::of(None, Some(b"other"))).unwrap();
    let index = scene.log.put_with(&record, None, Some(&json!({ "ok": true, "value": "forged" })));
    let page = vera.page(&format!("/calls/{index}")).await;
    assert!(page.contains("<p class=\"card bad\">"), "{page}");
}

#[tokio::test]
async fn a_run_shows_its_calls_in_time_and_its_reach() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    let first = scene.log.put(&call(&json!({})));
    let refused = json!({ "outcome": "refused", "tool": "pay", "at_ms": 1_790_000_001_000_u64,
        "result": { "ok": false, "error": "no", "refusal": "FORBIDDEN" } });
    scene.log.put(&call(&refused));
    scene.log.put(&json!({ "kind": "server", "at_ms": 1_790_000_002_000_u64, "run": "run-1", "server": "git", "step": "connection",
        "about": { "host": "github.com", "port": 443, "via": "gate", "verdict": "done", "sent": 1, "received": 1, "duration": 1.0 } }));
    scene.log.put(&call(&json!({ "run": "another", "tool": "elsewhere" })));
    let page = vera.page("/runs/run-1").await;
    let link = format!("<a href=\"/calls/{first}\"");
    let parts = [
        "1 done",
        "1 refused",
        "0 failed",
        "clerk",
        "agent",
        "server git",
        "github.com",
        "evil.io",
        "curl",
        &link,
        "<rect class=\"refused\"",
        "<path class=\"refused\"",
        "<path class=\"done\"",
        "<path class=\"granted\"",
        "<tr class=\"refused\">",
    ];
    for part in parts {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("elsewhere"));
    let api = vera.json("/api/v1/runs/run-1").await;
    assert_eq!(
        (&api["done"], &api["refused"], &api["reach"][0]["reached"]),
        (&json!(1), &json!(1), &json!(false))
    );
    assert_eq!(vera.get("/runs/nobody").await.status, 404);
}

#[tokio::test]
async fn a_run_counts_what_the_fence_refused_inside_a_tool() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    let failed = |more: serde_json::Value, refusal: &str| {
        let result = json!({ "ok": false, "error": "exit 6", "refusal": refusal });
        let mut record = json!({ "outcome": "failed", "result": result });
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        scene.log.put(&call(&record))
    };
    let fenced = failed(json!({ "refused": "HOST_NOT_ALLOWED" }), "EXECUTION_FAILED");
    failed(json!({}), "EXECUTION_FAILED");
    let page = vera.page("/runs/run-1").await;
    for part in ["0 done", "1 failed", "1 refused", "<rect class=\"refused\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let entries = vera.json("/api/v1/entries").await;
    let rows = entries["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["index"] == fenced).unwrap();
    assert_eq!(row["state"], "refused", "{row}");
}

#[tokio::test]
async fn a_long_run_is_cut_and_says_so() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    for number in 0..2100_u64 {
        let touched = json!([{ "surface": "host", "what": format!("host-{number}.io") }]);
        let more = json!({ "at_ms": number * 10, "touched": touched, "processes": [], "connections": [] });
        scene.log.put(&call(&more));
    }
    let page = vera.page("/runs/run-1").await;
    assert_eq!(page.matches("<rect class=").count(), 200);
    for part in [
        "The newest 200 of 2000 calls",
        "older ones, which are counted nowhere",
        "lines are not drawn",
        "1500 more are not listed",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[tokio::test]
async fn foreign_text_stays_text() {
    let scene = Scene::new().await;
    let ada = scene.login("ada").await;
    let more = json!({
        "run": FOUL, "tool": FOUL, "session": FOUL, "tool_digest": FOUL, "class": FOUL, "risk": FOUL, "asker": FOUL, "proposer": FOUL,
        "personality": FOUL, "policy_digest": FOUL, "manifest": FOUL, "idempotency_key": FOUL, "arguments": { FOUL: [FOUL] },
        "stages": { FOUL: 5 },
        "processes": [{ "backend": FOUL, "tier": FOUL, "program": FOUL, "digest": FOUL, "limits": { FOUL: FOUL }, "exceeded": [FOUL], "denied": { FOUL: 1 } }],
        "connections": [{ "host": FOUL, "address": FOUL, "via": FOUL, "verdict": FOUL, "code": FOUL, "message": FOUL }],
        "touched": [{ "surface": FOUL, "what": FOUL, "refused": FOUL }, { "surface": "host", "what": FOUL, "refused": FOUL }],
    });
    *scene.desk.answer.lock().unwrap() = Some(ringfence_server::console::PolicyAnswer {
        allowed: false,
        code: Some(FOUL.to_owned()),
        message: FOUL.to_owned(),
        hint: Some(FOUL.to_owned()),
        lines: vec![ringfence_server::console::PolicyLine { number: 1, text: FOUL.to_owned() }],
    });
    let output = json!({ "text": format!("{FOUL} {TOKEN} {FOUL}"), FOUL: FOUL });
    let index = done(&scene, &more, &output);
    let text = done(&scene, &more, &json!(format!("{FOUL} {TOKEN} {FOUL}")));
    let mut refused = more.clone();
    refused["outcome"] = json!("refused");
    refused["result"] = json!({ "ok": false, "error": FOUL, "refusal": FOUL });
    refused["hint"] = json!(FOUL);
    let refused = scene.log.put(&call(&refused));
    scene.log.put(&json!({ "kind": "server", "at_ms": 1, "run": FOUL, "server": FOUL, "step": "connection", "about": { "host": FOUL, "verdict": "refused", "code": FOUL } }));
    let run = encode(FOUL);
    let paths = [
        format!("/calls/{index}"),
        format!("/calls/{index}?raw=show"),
        format!("/calls/{text}?raw=show"),
        format!("/calls/{refused}"),
        format!("/runs/{run}"),
        format!("/audit/entries/{index}"),
    ];
    for path in paths {
        assert_is_text(&ada.page(&path).await);
    }
    assert_is_text(&ada.get(&format!("/runs/x{run}")).await.body);
}
