//! The page of the policy.

use ringfence_server::console::{
    ApprovalRule, DeskError, ManifestChange, ManifestPage, PolicyAnswer, PolicyLine, PolicyPage, ReachRow,
};
use serde_json::json;

use crate::it::console::{FOUL, Scene, assert_is_text, encode};

fn policy(text: &str) -> PolicyPage {
    let own = || text.to_owned();
    PolicyPage {
        file: own(),
        text: format!("[personality]\nid = 1\n{text}"),
        personality: Some(own()),
        ceiling: vec![ReachRow { surface: own(), granted: vec![own()], refused: Vec::new() }],
        approvals: vec![ApprovalRule { class: own(), decision: own() }],
        tools: vec![own()],
    }
}

fn answer(text: &str, allowed: bool) -> PolicyAnswer {
    PolicyAnswer {
        allowed,
        code: Some(text.to_owned()),
        message: format!("host `{text}` is not in the granted set"),
        hint: Some(text.to_owned()),
        lines: vec![PolicyLine { number: 2, text: text.to_owned() }],
    }
}

fn manifest(text: &str) -> ManifestPage {
    let own = || text.to_owned();
    let change = |level: &str| ManifestChange {
        code: own(),
        level: level.to_owned(),
        direction: own(),
        subject: own(),
        message: own(),
    };
    ManifestPage {
        file: own(),
        accepted: Some("0ld".to_owned()),
        current: "n3w".to_owned(),
        changes: vec![change("error"), change("warning"), change(text)],
    }
}

fn set(scene: &Scene, text: &str) {
    *scene.desk.policy.lock().unwrap() = Some(policy(text));
    *scene.desk.answer.lock().unwrap() = Some(answer(text, false));
    *scene.desk.manifest.lock().unwrap() = Some(manifest(text));
}

#[tokio::test]
async fn a_question_is_answered_with_the_lines_that_decided() {
    let scene = Scene::new().await;
    set(&scene, "api.evil.com");
    let vera = scene.login("vera").await;
    let text = vera.page("/policy?tool=fetch_weather&surface=host&what=api.evil.com").await;
    assert!(text.contains("<strong>No: </strong>host `api.evil.com`"), "{text}");
    assert!(text.contains(r##"<a href="#L2">line 2</a>"##));
    assert!(text.contains(r#"<tr id="L2" class="decided">"#));
    assert!(text.contains(r#"value="fetch_weather""#), "the form keeps what was asked");
    *scene.desk.answer.lock().unwrap() = Some(answer("x", true));
    assert!(vera.page("/policy?tool=a&surface=read&what=/etc").await.contains("<strong>Yes: </strong>"));
    assert!(vera.page("/policy?tool=a&surface=rowdy&what=x").await.contains("the question is not whole"));
    let plain = vera.page("/policy").await;
    assert!(!plain.contains("id=\"answer\"") && plain.contains("<tr id=\"L2\">"));
    let body = json!({ "tool": "a", "surface": "host", "what": "b" });
    let reply = vera.post_json("/api/v1/policy/question", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.json()["lines"][0]["number"], 2);
    assert_eq!(vera.json("/api/v1/policy").await["tools"], json!(["api.evil.com"]));
    *scene.desk.answer.lock().unwrap() = None;
    let text = vera.page("/policy?tool=a&surface=host&what=b").await;
    assert!(text.contains("the test has not set this"), "a question that cannot be answered is said");
}

#[tokio::test]
async fn only_an_admin_accepts_and_only_what_was_looked_at() {
    let scene = Scene::new().await;
    set(&scene, "x");
    #[rustfmt::skip]
    let cases = [
        // who     hash    status
        ("vera",   "n3w",  403),
        ("ada",    "n3w",  403),
        ("root",   "0ld",  409),
        ("root",   "n3w",  303),
    ];
    for (who, hash, status) in cases {
        let browser = scene.login(who).await;
        let offered = browser.page("/policy").await.contains("id=\"accept-manifest\"");
        assert_eq!(offered, who == "root", "{who}");
        let reply = browser.post_form("/policy/manifest", &[("hash", hash)]).await;
        assert_eq!(reply.status, status, "{who} {hash}: {}", reply.body);
    }
    let root = scene.login("root").await;
    assert_eq!(root.post_bare("/policy/manifest", &[("hash", "n3w")]).await.status, 403, "no form of ours");
    assert_eq!(*scene.desk.accepted.lock().unwrap(), ["n3w"]);
    let kept: Vec<String> = scene.log.actions().into_iter().filter(|action| action != "login").collect();
    assert_eq!(kept, ["accepted manifest"]);
    *scene.log.broken.lock().unwrap() = Some("the disk is full".to_owned());
    let reply = root.post_json("/api/v1/manifest/acceptance", &json!({ "hash": "n3w" })).await;
    assert_eq!((reply.status, scene.desk.accepted.lock().unwrap().len()), (503, 1), "not kept, not done");
    *scene.log.broken.lock().unwrap() = None;
    let mut same = manifest("x");
    same.accepted = Some("n3w".to_owned());
    *scene.desk.manifest.lock().unwrap() = Some(same);
    assert!(!root.page("/policy").await.contains("id=\"accept-manifest\""), "there is nothing to accept");
    assert_eq!(root.json("/api/v1/manifest").await["current"], "n3w");
}

#[tokio::test]
async fn a_manifest_that_cannot_be_compared_does_not_hide_the_policy() {
    let scene = Scene::new().await;
    set(&scene, "x");
    *scene.desk.manifest.lock().unwrap() = None;
    let vera = scene.login("vera").await;
    let text = vera.page("/policy").await;
    assert!(text.contains("the test has not set this") && text.contains("id = 1"));
    *scene.desk.broken.lock().unwrap() =
        Some(DeskError::Files { message: "it is open to others".to_owned(), hint: None });
    assert_eq!(vera.get("/policy").await.status, 503);
}

#[tokio::test]
async fn foreign_text_is_only_text() {
    let scene = Scene::new().await;
    set(&scene, FOUL);
    let root = scene.login("root").await;
    let foul = encode(FOUL);
    assert_is_text(&root.page(&format!("/policy?tool={foul}&surface=host&what={foul}")).await);
    let broken = DeskError::Input { message: FOUL.to_owned(), hint: Some(FOUL.to_owned()) };
    *scene.desk.broken.lock().unwrap() = Some(broken);
    assert_is_text(&root.get("/policy").await.body);
}
