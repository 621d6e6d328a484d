//! The page of idempotency keys.

use ringfence::{Claim, Fence, IdempotencyStore as _, KeyClaim, KeyFilter, KeyName, KeyState, Settlement};
use serde_json::json;

use crate::it::console::{FOUL, Scene, assert_is_text, encode};

fn claim(scope: &str, key: &str, arguments: &str) -> KeyClaim {
    KeyClaim {
        name: KeyName { scope: scope.to_owned(), key: key.to_owned() },
        digest: format!("digest of {key}"),
        arguments: arguments.to_owned(),
        run: format!("run of {key}"),
        owner: format!("owner of {key}"),
    }
}

/// Makes a key whose call nobody knows the outcome of.
async fn doubt(scene: &Scene, claim: &KeyClaim) -> Fence {
    let Claim::Granted(fence) = scene.keys.claim(claim).await.unwrap() else { panic!("it is free") };
    scene.keys.settle(&claim.name, fence, Settlement::Unknown).await.unwrap();
    fence
}

async fn state(scene: &Scene, key: &str) -> KeyState {
    let filter = KeyFilter { key: Some(key.to_owned()), ..KeyFilter::default() };
    scene.keys.keys(&filter).await.unwrap().first().unwrap().state
}

#[tokio::test]
async fn calls_in_doubt_come_first_and_keys_are_filtered() {
    let scene = Scene::new().await;
    doubt(&scene, &claim("bank/pay", "pay-1", "{\"to\":\"ada\\u202e\"}")).await;
    scene.keys.claim(&claim("bank/pay", "pay-2", "{}")).await.unwrap();
    let vera = scene.login("vera").await;
    let text = vera.page("/idempotency").await;
    assert!(text.contains("outcome unknown") && text.contains("bank/pay"));
    assert!(text.contains("/activity?run=run%20of%20pay-1"));
    assert!(text.contains("ada\\u202e"), "what cannot be seen is an escape");
    assert!(text.find("pay-1").unwrap() < text.find("pay-2").unwrap());
    assert!(!text.contains("class=\"settle\"") && text.contains("waits for an approver"));
    assert!(scene.login("ada").await.page("/idempotency").await.contains("class=\"settle\""));
    let running = vera.json("/api/v1/keys?state=executing").await;
    assert_eq!(
        running["keys"].as_array().unwrap().iter().map(|key| &key["key"]).collect::<Vec<_>>(),
        ["pay-2"]
    );
    assert_eq!(vera.get("/idempotency?state=lost").await.status, 400);
    assert!(vera.page("/idempotency?state=failed").await.contains("There is no such key"));
}

#[tokio::test]
async fn a_cut_list_of_keys_says_so() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    for number in 0..200 {
        scene.keys.claim(&claim("bank/pay", &format!("pay-{number:03}"), "{}")).await.unwrap();
    }
    let whole = vera.json("/api/v1/keys").await;
    assert_eq!((whole["keys"].as_array().unwrap().len(), &whole["more"]), (200, &json!(false)));
    assert!(!vera.page("/idempotency").await.contains("older ones are not listed"));
    doubt(&scene, &claim("bank/pay", "pay-200", "{}")).await;
    let cut = vera.json("/api/v1/keys").await;
    assert_eq!((cut["keys"].as_array().unwrap().len(), &cut["more"]), (200, &json!(true)));
    let page = vera.page("/idempotency").await;
    assert!(page.contains("older ones are not listed"), "{page}");
    assert!(!page.contains("there are older calls in doubt"), "{page}");
    assert_eq!(vera.json("/api/v1/keys?state=unknown").await["more"], json!(false));
}

#[tokio::test]
async fn an_approver_settles_what_was_looked_at() {
    let scene = Scene::new().await;
    for key in ["done", "not-done", "api"] {
        doubt(&scene, &claim("bank/pay", key, "{}")).await;
    }
    scene.keys.claim(&claim("bank/pay", "running", "{}")).await.unwrap();
    #[rustfmt::skip]
    let cases = [
        // who    key          fence  found       output       reason     keep     status
        ("vera",  "done",      "1",   "done",     "\"sent\"",  "looked",  "30",    403),
        ("ada",   "done",      "1",   "done",     "sent",      "looked",  "30",    400),
        ("ada",   "done",      "1",   "done",     "",          "looked",  "30",    400),
        ("ada",   "done",      "1",   "done",     "\"sent\"",  "  ",      "30",    400),
        ("ada",   "done",      "1",   "maybe",    "\"sent\"",  "looked",  "30",    400),
        ("ada",   "done",      "1",   "done",     "\"sent\"",  "looked",  "99999", 400),
        ("ada",   "done",      "7",   "done",     "\"sent\"",  "looked",  "30",    409),
        ("ada",   "none",      "1",   "done",     "\"sent\"",  "looked",  "30",    404),
        ("ada",   "running",   "4",   "not-done", "",          "looked",  "30",    409),
        ("ada",   "done",      "1",   "done",     "\"sent\"",  "looked",  "30",    303),
        ("root",  "done",      "1",   "not-done", "",          "looked",  "30",    409),
        ("root",  "not-done",  "2",   "not-done", "",          "looked",  "30",    303),
    ];
    for (who, key, fence, found, output, reason, keep, status) in cases {
        let browser = scene.login(who).await;
        #[rustfmt::skip]
        let fields = [
            ("scope", "bank/pay"), ("key", key), ("fence", fence), ("found", found),
            ("output", output), ("reason", reason), ("keep_days", keep),
        ];
        let reply = browser.post_form("/idempotency/settle", &fields).await;
        assert_eq!(reply.status, status, "{who} {key} {found} {output}: {}", reply.body);
    }
    assert_eq!(state(&scene, "done").await, KeyState::Committed);
    assert_eq!(state(&scene, "not-done").await, KeyState::Failed);
    assert_eq!(state(&scene, "running").await, KeyState::Executing);
    let again = scene.keys.claim(&claim("bank/pay", "done", "{}")).await.unwrap();
    assert_eq!(again, Claim::Replay("\"sent\"".to_owned()));

    let ada = scene.login("ada").await;
    let mut body = json!({
        "scope": "bank/other", "key": "api", "fence": 3, "found": "not-done", "reason": "the bank says so",
    });
    assert_eq!(ada.post_json("/api/v1/keys/settlement", &body).await.status, 404, "another scope");
    body["scope"] = json!("bank/pay");
    assert_eq!(scene.login("vera").await.post_json("/api/v1/keys/settlement", &body).await.status, 403);
    assert_eq!(ada.post_json("/api/v1/keys/settlement", &body).await.status, 200);
    assert_eq!(state(&scene, "api").await, KeyState::Failed);
}

#[tokio::test]
async fn foreign_text_is_only_text() {
    let scene = Scene::new().await;
    let mut foul = claim(FOUL, FOUL, FOUL);
    foul.run = FOUL.to_owned();
    foul.digest = FOUL.to_owned();
    doubt(&scene, &foul).await;
    let ada = scene.login("ada").await;
    assert_is_text(&ada.page("/idempotency").await);
    assert_is_text(&ada.page(&format!("/idempotency?key={}", encode(FOUL))).await);
    #[rustfmt::skip]
    let fields = [
        ("scope", FOUL), ("key", FOUL), ("fence", "9"), ("found", "not-done"), ("output", FOUL), ("reason", FOUL),
    ];
    let reply = ada.post_form("/idempotency/settle", &fields).await;
    assert_eq!(reply.status, 409);
    assert_is_text(&reply.body);
}
