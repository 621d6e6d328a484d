//! The pages of tools and definitions.

use ringfence_server::console::{
    Definition, DefinitionId, DefinitionPage, DeskError, Judgement, ReachRow, ScanFinding, Trust,
};
use serde_json::json;

use crate::it::console::{FOUL, Scene, assert_is_text, encode};

const DIGEST: &str = "aaaa0000bbbb1111cccc2222";

fn page(server: Option<&str>, key: &str, name: &str, trust: Trust) -> DefinitionPage {
    DefinitionPage {
        definition: Definition {
            id: DefinitionId { server: server.map(str::to_owned), key: key.to_owned() },
            name: name.to_owned(),
            description: "Reads mail".to_owned(),
            trust,
            why: None,
            class: Some("network".to_owned()),
            digest: DIGEST.to_owned(),
            accepted_digest: None,
            verdict: Some("accept".to_owned()),
            findings: Vec::new(),
            reach: Vec::new(),
        },
        old: None,
        new: "{\n  \"name\": \"read\"\n}".to_owned(),
        changes: Vec::new(),
    }
}

/// A definition with something foul in every field that others write.
fn foul() -> DefinitionPage {
    let text = || FOUL.to_owned();
    let mut page = page(Some(FOUL), FOUL, FOUL, Trust::Changed);
    page.definition.description = format!("{FOUL}\nmore");
    page.definition.why = Some(text());
    page.definition.class = Some(text());
    page.definition.digest = text();
    page.definition.accepted_digest = Some(text());
    page.definition.verdict = Some(text());
    page.definition.findings = vec![ScanFinding { rule: text(), place: text(), message: text() }];
    page.definition.reach = vec![ReachRow { surface: text(), granted: vec![text()], refused: vec![text()] }];
    page.old = Some(format!("{{\n\"a\": 1,\n{FOUL}"));
    page.new = format!("{{\n{FOUL}\n\"b\"}}");
    page.changes = vec![text()];
    page
}

#[tokio::test]
async fn tools_are_listed_with_those_that_wait_first() {
    let scene = Scene::new().await;
    *scene.desk.definitions.lock().unwrap() = vec![
        page(Some("mail"), "tool:read", "mail_read", Trust::Accepted),
        page(None, "tool:own", "own", Trust::Unpinned),
        page(Some("mail"), "prompt:sum", "sum", Trust::New),
    ];
    let vera = scene.login("vera").await;
    let text = vera.page("/tools").await;
    let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle} in {text}"));
    let own = r#"<a class="definition" href="/tools/definition?key=tool%3Aown">own</a>"#;
    let read =
        r#"<a class="definition" href="/tools/definition?server=mail&amp;key=tool%3Aread">mail_read</a>"#;
    assert!(at("?server=mail&amp;key=prompt%3Asum") < at(own) && at(own) < at(read));
    assert!(text.contains("1 waiting for a person"));
    assert!(text.contains(r#"<code title="aaaa0000bbbb1111cccc2222">aaaa0000bbbb</code>"#));
    let picked = vera.page("/tools?text=&server=mail&trust=accepted").await;
    assert!(picked.contains("mail_read") && !picked.contains(">own<") && !picked.contains(">sum<"));
    assert!(picked.contains(r#"<option value="mail" selected>"#));
    let none = vera.page("/tools?text=nothing-has-this").await;
    assert!(none.contains("Nothing fits the filter"));
    let listed = vera.json("/api/v1/definitions?server=-").await;
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(listed[0]["name"], "own");
}

#[tokio::test]
async fn a_changed_definition_is_shown_beside_the_accepted_one() {
    let scene = Scene::new().await;
    let mut changed = page(Some("mail"), "tool:read", "mail_read", Trust::Changed);
    changed.old = Some("{\n  \"a\": 1,\n  \"b\": 2\n}".to_owned());
    changed.new = "{\n  \"a\": 1,\n  \"b\": 3\n}".to_owned();
    changed.changes = vec!["its input became wider".to_owned()];
    changed.definition.reach = vec![ReachRow {
        surface: "network".to_owned(),
        granted: vec!["api.mail.example".to_owned()],
        refused: vec!["evil.example".to_owned()],
    }];
    *scene.desk.definitions.lock().unwrap() = vec![changed];
    let vera = scene.login("vera").await;
    let path = "/tools/definition?server=mail&key=tool%3Aread";
    let text = vera.page(path).await;
    assert!(text.contains(r#"<tr class="removed">"#) && text.contains(r#"<tr class="added">"#), "{text}");
    assert!(text.contains("its input became wider"));
    assert!(text.contains(r#"<code class="refused">evil.example</code>"#));
    assert!(!text.contains("/tools/judge"), "a viewer is offered nothing");
    assert!(text.contains("waits for an admin"));
    assert!(!scene.login("ada").await.page(path).await.contains("/tools/judge"), "nor is an approver");
    let offered = scene.login("root").await.page(path).await;
    assert!(offered.contains(r#"id="accept""#) && offered.contains(r#"id="reject""#));
    assert_eq!(vera.get("/tools/definition?key=tool%3Aread").await.status, 404);
    assert_eq!(vera.get("/tools/definition").await.status, 400);
    let shown = vera.json("/api/v1/definition?server=mail&key=tool%3Aread").await;
    assert_eq!((&shown["name"], &shown["trust"]), (&json!("mail_read"), &json!("changed")));
}

#[tokio::test]
async fn only_an_admin_judges_and_only_what_was_looked_at() {
    let scene = Scene::new().await;
    *scene.desk.definitions.lock().unwrap() = vec![page(Some("mail"), "tool:read", "mail_read", Trust::New)];
    let fields = |digest: &'static str, judgement: &'static str| {
        [("server", "mail"), ("key", "tool:read"), ("digest", digest), ("judgement", judgement)]
    };
    #[rustfmt::skip]
    let cases = [
        // who     digest   judgement   status
        ("vera",   DIGEST,  "accept",   403),
        ("ada",    DIGEST,  "accept",   403),
        ("root",   "0000",  "accept",   409),
        ("root",   DIGEST,  "maybe",    400),
        ("root",   DIGEST,  "accept",   303),
        ("root",   DIGEST,  "reject",   303),
    ];
    for (who, digest, judgement, status) in cases {
        let browser = scene.login(who).await;
        let reply = browser.post_form("/tools/judge", &fields(digest, judgement)).await;
        assert_eq!(reply.status, status, "{who} {digest} {judgement}: {}", reply.body);
    }
    let root = scene.login("root").await;
    assert_eq!(
        root.post_bare("/tools/judge", &fields(DIGEST, "accept")).await.status,
        403,
        "no form of ours"
    );
    let judged: Vec<Judgement> = scene.desk.judged.lock().unwrap().iter().map(|one| one.2).collect();
    assert_eq!(judged, [Judgement::Accept, Judgement::Reject]);
    let kept: Vec<String> = scene.log.actions().into_iter().filter(|action| action != "login").collect();
    assert_eq!(kept, ["accepted definition", "rejected definition"]);
    let records = scene.log.records();
    let record = records.iter().find(|record| record["action"] == "accepted definition").unwrap();
    assert_eq!(record["principal"], "root");
    assert_eq!(record["about"], json!({ "server": "mail", "key": "tool:read", "digest": DIGEST }));
}

#[tokio::test]
async fn what_is_not_kept_or_not_done_is_said() {
    let scene = Scene::new().await;
    *scene.desk.definitions.lock().unwrap() = vec![page(None, "tool:own", "own", Trust::New)];
    let root = scene.login("root").await;
    let body = json!({ "key": "tool:own", "digest": DIGEST, "judgement": "accept" });
    *scene.log.broken.lock().unwrap() = Some("the disk is full".to_owned());
    let reply = root.post_json("/api/v1/definitions/judgement", &body).await;
    assert_eq!(reply.status, 503, "{}", reply.body);
    assert!(scene.desk.judged.lock().unwrap().is_empty(), "what the audit does not keep is not done");
    *scene.log.broken.lock().unwrap() = None;
    assert_eq!(root.post_json("/api/v1/definitions/judgement", &body).await.status, 200);
    let vera = scene.login("vera").await;
    assert_eq!(vera.post_json("/api/v1/definitions/judgement", &body).await.status, 403);
    *scene.desk.broken.lock().unwrap() =
        Some(DeskError::Files { message: "the pins cannot be read".to_owned(), hint: None });
    let reply = vera.get("/tools").await;
    assert_eq!(reply.status, 503);
    assert!(reply.body.contains("the pins cannot be read"));
}

#[tokio::test]
async fn foreign_text_is_only_text() {
    let scene = Scene::new().await;
    *scene.desk.definitions.lock().unwrap() = vec![foul()];
    let root = scene.login("root").await;
    assert_is_text(&root.page("/tools").await);
    let foul = encode(FOUL);
    assert_is_text(&root.page(&format!("/tools?text={foul}&server={foul}")).await);
    assert_is_text(&root.page(&format!("/tools/definition?server={foul}&key={foul}")).await);
    assert_is_text(&root.get(&format!("/tools/definition?key={foul}")).await.body);
    let digest = ("digest", FOUL);
    let fields = [("server", FOUL), ("key", FOUL), digest, ("judgement", "accept")];
    let reply = root.post_form("/tools/judge", &fields).await;
    assert_eq!(reply.status, 303, "{}", reply.body);
    assert!(reply.header("location").unwrap().starts_with("/tools/definition?server=%3Cscript%3E"));
}
