//! The pages of the audit: search, verification, export and proofs.

use ringfence::audit::{ProofFile, SignerKey, TrustedLog};
use ringfence_server::console::ConsoleConfig;
use serde_json::{Value, json};

use crate::it::console::{Browser, FOUL, Scene, assert_is_text, encode};
use crate::it::wait::wait_for;

const LOG: &str = "log.example";

fn key() -> SignerKey {
    SignerKey::from_seed(LOG, &[7; 32]).unwrap()
}

fn trust() -> TrustedLog {
    TrustedLog::new(LOG, [key().verifier().clone()]).unwrap()
}

async fn trusting() -> Scene {
    Scene::with(ConsoleConfig { trust: Some(trust()), ..ConsoleConfig::default() }).await
}

fn call(number: u64, tool: &str, more: &str) -> Value {
    json!({
        "kind": "call", "at_ms": number, "call": number, "run": "run-1", "tool": tool, "class": "read",
        "proposer": "agent-7", "outcome": "done", "arguments": { "text": more }, "duration_us": 5,
    })
}

/// Waits until a verification has ended.
async fn verified(browser: &Browser) -> Value {
    wait_for("the verification ends", async || {
        let seen = browser.json("/api/v1/audit/verification").await;
        (seen["state"] != "running").then_some(seen)
    })
    .await
}

#[tokio::test]
async fn the_log_is_searched_a_window_at_a_time() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    scene.log.put(&call(1, "needle_tool", "a needle in the first entry"));
    for number in 0..20_100 {
        scene.log.put(&call(number, "hay", "straw"));
    }
    scene.log.put(&call(3, "hay", "another needle"));
    let text = vera.page("/audit?text=needle&kind=call&run=").await;
    assert!(text.contains("/audit/entries/20102"), "the newest");
    assert!(!text.contains("needle_tool"), "the oldest is beyond the window");
    let (_, rest) = text.split_once("class=\"button\" href=\"/audit?").unwrap();
    let link = rest.split('"').next().unwrap().replace("&amp;", "&");
    assert!(
        link.contains("text=needle") && link.contains("kind=call") && link.contains("below=103"),
        "{link}"
    );
    let further = vera.page(&format!("/audit?{link}")).await;
    assert!(further.contains("needle_tool") && !further.contains("entries before"));

    let found = vera.json("/api/v1/audit/search?text=needle").await;
    assert_eq!((found["rows"].as_array().unwrap().len(), &found["below"]), (1, &json!(103)));
    let page = vera.json("/api/v1/audit/search?tool=hay").await;
    assert_eq!(page["rows"].as_array().unwrap().len(), 100);
    assert_eq!(page["rows"][0]["index"], 20_102, "newest first");
    let next = vera.json(&format!("/api/v1/audit/search?tool=hay&below={}", page["below"])).await;
    let (last, first) = (&page["rows"][99]["index"], &next["rows"][0]["index"]);
    assert_eq!(first.as_u64().unwrap() + 1, last.as_u64().unwrap(), "nothing is left out between pages");
    let none = vera.json("/api/v1/audit/search?tool=needle_tool&below=1").await;
    assert_eq!((none["rows"].as_array().unwrap().len(), &none["below"]), (0, &Value::Null));
    assert_eq!(vera.get("/audit?below=x").await.status, 400);
    let overview = vera.json("/api/v1/audit").await;
    assert_eq!(overview, json!({ "size": 20_103, "database": "a log in memory", "trusted": false }));
}

#[tokio::test]
async fn an_intact_log_is_verified_and_a_forged_one_is_not() {
    let scene = trusting().await;
    let (vera, ada) = (scene.login("vera").await, scene.login("ada").await);
    scene.log.put(&call(1, "one", "x"));
    scene.log.sign(LOG, &key());
    assert_eq!(vera.json("/api/v1/audit/verification").await["state"], "none");
    assert!(!vera.page("/audit").await.contains("id=\"verify\""), "a viewer is offered nothing");
    assert!(ada.page("/audit").await.contains("id=\"verify\""));
    assert_eq!(vera.post_form("/audit/verify", &[]).await.status, 403);
    assert_eq!(ada.post_bare("/audit/verify", &[]).await.status, 403, "no form of ours");
    let reply = ada.post_form("/audit/verify", &[]).await;
    assert_eq!((reply.status, reply.header("location")), (303, Some("/audit/verify")));
    let seen = verified(&vera).await;
    assert_eq!((&seen["state"], &seen["by"], &seen["proven"]), (&json!("intact"), &json!("ada"), &json!(3)));
    assert!(vera.page("/audit/verify").await.contains("Intact: "));
    scene.log.forge(2, &call(1, "one", "y").to_string());
    assert_eq!(
        ada.client()
            .header("x-ringfence-form", &ada.form)
            .send("POST", "/api/v1/audit/verification", "")
            .await
            .status,
        200
    );
    let seen = verified(&vera).await;
    assert_eq!(seen["state"], "broken");
    assert_eq!(seen["findings"][0]["finding"], "forked", "{seen}");
    let page = vera.page("/audit").await;
    assert!(page.contains("The log is not what was logged.") && page.contains("<code>forked</code>"));
    let kept: Vec<Value> =
        scene.log.records().into_iter().filter(|record| record["action"] == "verified audit").collect();
    let steps: Vec<_> =
        kept.iter().map(|record| (&record["about"]["step"], &record["about"]["intact"])).collect();
    let (began, ended) = (json!("began"), json!("ended"));
    assert_eq!(
        steps,
        [(&began, &Value::Null), (&ended, &json!(true)), (&began, &Value::Null), (&ended, &json!(false))]
    );
    assert!(kept.iter().all(|record| record["principal"] == "ada"));
}

#[tokio::test]
async fn what_is_not_kept_is_not_begun_and_without_trust_nothing_is_proven() {
    let scene = trusting().await;
    let ada = scene.login("ada").await;
    *scene.log.broken.lock().unwrap() = Some("the disk is full".to_owned());
    assert_eq!(ada.post_form("/audit/verify", &[]).await.status, 503);
    assert_eq!(ada.get("/audit/export").await.status, 503);
    let seen = ada.json("/api/v1/audit/verification").await;
    assert_eq!((&seen["state"], &seen["error"]), (&json!("failed"), &json!("it was given up")));
    *scene.log.broken.lock().unwrap() = None;
    assert_eq!(ada.post_form("/audit/verify", &[]).await.status, 303, "it can be begun again");

    let scene = Scene::new().await;
    let ada = scene.login("ada").await;
    let page = ada.page("/audit").await;
    assert!(page.contains("<code>trust</code> in <code>[console]</code>") && !page.contains("id=\"verify\""));
    assert_eq!(ada.post_form("/audit/verify", &[]).await.status, 409);
    assert_eq!(ada.get("/audit/proof/0").await.status, 409);
}

#[tokio::test]
async fn an_entry_is_proven_by_a_file_that_stands_by_itself() {
    let scene = trusting().await;
    let vera = scene.login("vera").await;
    let index = scene.log.put(&call(1, "one", "x"));
    assert_eq!(vera.get(&format!("/audit/proof/{index}")).await.status, 409, "no checkpoint covers it");
    scene.log.sign(LOG, &key());
    let stranger = SignerKey::from_seed("stranger.example", &[8; 32]).unwrap();
    scene.log.put(&call(2, "two", "x"));
    scene.log.sign("stranger.example", &stranger);
    for path in ["/audit/proof/1", "/api/v1/audit/proof/1"] {
        let reply = vera.get(path).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(
            reply.header("content-disposition"),
            Some("attachment; filename=\"ringfence-proof-1.json\"")
        );
        let proof: ProofFile = reply.body.parse().unwrap();
        let proven = proof.verify(&trust()).unwrap();
        assert_eq!(
            (proven.index, serde_json::from_slice::<Value>(proven.record).unwrap()),
            (1, call(1, "one", "x"))
        );
    }
    let reply = vera.get("/audit/proof/2").await;
    assert_eq!(reply.status, 409, "only a stranger vouches for it");
    for (path, status) in [("99", 404), ("x", 400), ("-1", 400)] {
        assert_eq!(vera.get(&format!("/audit/proof/{path}")).await.status, status, "{path}");
        assert_eq!(vera.get(&format!("/audit/entries/{path}")).await.status, status, "{path}");
    }
    let listed = vera.json("/api/v1/audit/checkpoints").await;
    let states: Vec<_> = listed.as_array().unwrap().iter().map(|one| (&one["size"], &one["trust"])).collect();
    assert_eq!(states, [(&json!(3), &json!("not-believed")), (&json!(2), &json!("believed"))]);
    let page = vera.page("/audit").await;
    assert!(page.contains("id=\"checkpoints\"") && page.contains("not believed"));
}

#[tokio::test]
async fn an_approver_takes_the_whole_log_along() {
    let scene = Scene::new().await;
    let (vera, ada) = (scene.login("vera").await, scene.login("ada").await);
    for number in 0..1_234 {
        scene.log.put(&call(number, "one", "\u{202e}"));
    }
    let (raw, clean) = (json!({ "secret": 1 }), json!({ "ok": true }));
    scene.log.put_with(&call(7, "last", "x"), Some(&raw), Some(&clean));
    assert_eq!(vera.get("/audit/export").await.status, 403);
    assert!(!vera.page("/audit").await.contains("id=\"export\""));
    assert!(ada.page("/audit").await.contains("id=\"export\""));
    for path in ["/audit/export", "/api/v1/audit/export"] {
        let size = ada.json("/api/v1/audit").await["size"].as_u64().unwrap();
        let reply = ada.get(path).await;
        assert_eq!(reply.header("content-type"), Some("application/jsonl"));
        let lines: Vec<Value> = reply.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len() as u64, size, "what was there at the start");
        assert!(lines.iter().enumerate().all(|(index, line)| line["index"] == index), "in order, each once");
        let last = lines.iter().find(|line| line["tool"] == "last").unwrap();
        assert_eq!((&last["raw"], &last["result"]), (&raw, &clean));
        assert!(!reply.body.contains('\u{202e}') && reply.body.contains("\\u202e"), "nothing is hidden");
    }
    let kept = scene.log.actions().into_iter().filter(|action| action == "exported audit").count();
    assert_eq!(kept, 2);
}

#[tokio::test]
async fn foreign_text_is_only_text() {
    let scene = trusting().await;
    let ada = scene.login("ada").await;
    let foul = scene.log.put(&json!({
        "kind": "call", "at_ms": 1, "call": 1, "run": FOUL, "tool": FOUL, "class": FOUL, "proposer": FOUL,
        "outcome": "refused", "result": { "refusal": FOUL }, "arguments": { "x": FOUL }, "step": FOUL,
    }));
    scene.log.put(&json!({
        "kind": "connection", "at_ms": 1, "run": FOUL, "tool": FOUL, "verdict": "refused", "code": FOUL, "host": FOUL,
    }));
    scene
        .log
        .put(&json!({ "kind": "console", "at_ms": 1, "principal": FOUL, "action": FOUL, "about": FOUL }));
    scene.log.put_note(9, &format!("{FOUL}\n9\n{FOUL}\n{FOUL}\n\n{FOUL}"));
    assert_is_text(&ada.page("/audit").await);
    let text = encode(FOUL);
    let fields = ["text", "kind", "run", "tool", "code", "host", "class", "principal"];
    let query: Vec<String> = fields.iter().map(|field| format!("{field}={text}")).collect();
    assert_is_text(&ada.page(&format!("/audit?{}", query.join("&"))).await);
    assert_is_text(&ada.page(&format!("/audit/entries/{foul}")).await);
    ada.post_form("/audit/verify", &[]).await;
    assert_eq!(verified(&ada).await["state"], "broken");
    assert_is_text(&ada.page("/audit").await);
    let checkpoints = ada.json("/api/v1/audit/checkpoints").await;
    assert_eq!(checkpoints[0]["trust"], "not-believed");
}
