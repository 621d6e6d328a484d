//! Deciding about requests, on the pages and over the API.

use std::time::Duration;

use ringfence::policy::Decision;
use ringfence::{ApprovalStore as _, DamagedRequest, RequestState, Standing};
use serde_json::json;

use crate::it::console::{AGENT, FOUL, Scene, assert_is_text, client, request, token};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn one_person_agrees_and_the_call_may_run() {
    let scene = Scene::new().await;
    let filed = scene.file(&request("pay", json!({ "amount": 5 }), Decision::Ask), HOUR).await;
    let ada = scene.login("ada").await;

    let list = ada.page("/approvals").await;
    assert!(list.contains("data-part=\"/approvals/part\"") && list.contains("data-waiting=\"1\""), "{list}");
    assert!(list.contains(&format!("href=\"/approvals/{}\"", filed.id)) && list.contains("id=\"bell\""));
    assert!(list.contains("<title>(1) Approvals"), "the title counts");
    let page = ada.page(&format!("/approvals/{}", filed.id)).await;
    for part in
        [AGENT, "run-1", "session-1", "d0d0", "financial", &filed.request.digest, "1 person must agree"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let reply = ada.post_form(&decide(&filed.id), &[("word", "approve"), ("reason", "fine")]).await;
    assert_eq!((reply.status, reply.header("location")), (303, Some(&*format!("/approvals/{}", filed.id))));
    assert!(
        matches!(scene.approvals.take(&filed.id).await.unwrap(), Standing::Approved(people) if people[0].by == "ada")
    );
    let part = ada.page("/approvals/part").await;
    assert!(part.contains("data-waiting=\"0\"") && part.contains("tag taken"), "{part}");
    assert!(!part.contains("<h1>") && !part.contains("<html"), "a part has nothing around it");
}

#[tokio::test]
async fn a_page_is_told_of_requests_that_are_filed_after_the_log_says_so() {
    let scene = Scene::new().await;
    let ada = scene.login("ada").await;
    let mut live = ada.follow("/live?kind=approval").await;
    for count in [0, 1] {
        let asked = request("pay", json!({ "amount": count }), Decision::Ask);
        let step = json!({ "kind": "approval", "at_ms": 1, "run": "run-1", "tool": "pay", "digest": asked.digest, "step": "asked", "by": [] });
        scene.log.put(&step);
        assert_eq!(live.event().await.unwrap().kind.as_deref(), Some("record"));
        assert!(ada.page("/approvals/part").await.contains(&format!("data-waiting=\"{count}\"")));
        // A busy database files it later than the page has fetched its list again.
        tokio::time::sleep(Duration::from_millis(700)).await;
        scene.file(&asked, HOUR).await;
        let told = live.event().await.expect("the stream ended");
        assert_eq!((told.kind.as_deref(), told.id), (Some("filed"), None));
        assert!(ada.page("/approvals/part").await.contains(&format!("data-waiting=\"{}\"", count + 1)));
    }
}

#[tokio::test]
async fn two_different_people_must_agree() {
    let scene = Scene::new().await;
    let filed = scene.file(&request("drop_table", json!({}), Decision::AskTwo), HOUR).await;
    let path = format!("/approvals/{}", filed.id);
    let (ada, bob) = (scene.login("ada").await, scene.login("bob").await);
    assert!(ada.page(&path).await.contains("2 people must agree"));
    assert_eq!(ada.post_form(&decide(&filed.id), &[("word", "approve")]).await.status, 303);

    let page = ada.page(&path).await;
    assert!(page.contains("ada agreed; 1 person more must agree"), "{page}");
    assert!(page.contains("You have agreed to this call") && !page.contains("value=\"approve\""), "{page}");
    let again = ada.post_form(&decide(&filed.id), &[("word", "approve")]).await;
    assert_eq!(again.status, 409, "{}", again.body);
    assert!(again.body.contains("`ada` has already decided"), "{}", again.body);
    assert!(matches!(scene.approvals.take(&filed.id).await.unwrap(), Standing::Open));

    assert!(bob.page(&path).await.contains("value=\"approve\""));
    assert_eq!(bob.post_form(&decide(&filed.id), &[("word", "approve")]).await.status, 303);
    assert!(
        matches!(scene.approvals.take(&filed.id).await.unwrap(), Standing::Approved(people) if people.len() == 2)
    );
}

#[tokio::test]
async fn who_may_not_decide_is_told_why_and_refused() {
    let scene = Scene::new().await;
    let filed = scene.file(&request("pay", json!({}), Decision::Ask), HOUR).await;
    for (name, why) in [("vera", "A viewer looks"), (AGENT, "You proposed this call")] {
        let person = scene.login(name).await;
        let page = person.page(&format!("/approvals/{}", filed.id)).await;
        assert!(page.contains(why) && !page.contains("value=\"approve\""), "{name}: {page}");
        for word in ["approve", "deny", "change"] {
            let fields = [("word", word), ("reason", "because"), ("arguments", "{\"a\":1}")];
            let reply = person.post_form(&decide(&filed.id), &fields).await;
            assert_eq!(reply.status, 403, "{name} {word}: {}", reply.body);
            let body = json!({ "word": word, "reason": "because", "arguments": { "a": 1 } });
            let api = format!("/api/v1/approvals/{}/decision", filed.id);
            assert_eq!(person.post_json(&api, &body).await.status, 403, "{name} {word}");
        }
    }
    assert!(matches!(scene.approvals.take(&filed.id).await.unwrap(), Standing::Open));
}

#[tokio::test]
async fn other_arguments_are_agreed_to_instead() {
    let scene = Scene::new().await;
    let hidden = json!({ "to": "ada\u{202e}", "amount": 5000 });
    let filed = scene.file(&request("pay", hidden, Decision::Ask), HOUR).await;
    let ada = scene.login("ada").await;
    let page = ada.page(&format!("/approvals/{}", filed.id)).await;
    assert!(page.contains("&quot;ada\\u202e&quot;"), "what is edited can be seen: {page}");
    let fields =
        [("word", "change"), ("arguments", "{\r\n \"to\": \"ada\", \"amount\": 5 }"), ("reason", "less")];
    let reply = ada.post_form(&decide(&filed.id), &fields).await;
    assert_eq!(reply.status, 303, "{}", reply.body);
    let place = reply.header("location").unwrap().to_owned();
    assert_ne!(place, format!("/approvals/{}", filed.id));
    match scene.approvals.take(&filed.id).await.unwrap() {
        Standing::Changed { arguments, by, reason } => {
            assert_eq!(
                (arguments, by.as_str(), reason.as_str()),
                (json!({ "to": "ada", "amount": 5 }), "ada", "less")
            );
        }
        other => panic!("{other:?}"),
    }
    let page = ada.page(&place).await;
    assert!(page.contains("agreed to other arguments") && page.contains("In place of"), "{page}");
}

#[tokio::test]
async fn what_cannot_be_agreed_to_is_refused_and_nothing_is_decided() {
    let scene = Scene::new().await;
    let filed = scene.file(&request("pay", json!({ "a": 1 }), Decision::Ask), HOUR).await;
    let ada = scene.login("ada").await;
    let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
    let many = format!("[{}0]", "0,".repeat(100_000));
    let large = format!("\"{}\"", "x".repeat(4 << 20));
    #[rustfmt::skip]
    let cases = [
        // word       arguments               says
        ("change",    "{\"a\":",              "the arguments are not JSON"),
        ("change",    "",                     "the arguments are not JSON"),
        ("change",    "{\"b\":1,\"b\":2}",    "key `b` appears twice"),
        ("change",    "{\"a\":9007199254740993}", "9007199254740993"),
        ("change",    deep.as_str(),          "the arguments are not JSON"),
        ("change",    many.as_str(),          "the arguments are not JSON"),
        ("change",    large.as_str(),         "larger than 4194304 bytes"),
        ("change",    "{\"a\":1}",            "these are the arguments that the call has"),
        ("deny",      "",                     "a refusal needs a reason"),
        ("agree",     "",                     "the word is `approve`, `change`, `deny` or `withdraw`"),
    ];
    for (word, arguments, says) in cases {
        let reply = ada.post_form(&decide(&filed.id), &[("word", word), ("arguments", arguments)]).await;
        assert_eq!(reply.status, 400, "{word} {says}: {}", reply.body);
        assert!(reply.body.contains(says), "{says}: {}", reply.body);
    }
    let long = "x".repeat(4001);
    assert_eq!(ada.post_form(&decide(&filed.id), &[("word", "deny"), ("reason", &long)]).await.status, 400);
    assert_eq!(ada.post_form(&decide("nothing"), &[("word", "approve")]).await.status, 404);
    assert_eq!(
        ada.get(&format!("/approvals/{}", filed.request.digest)).await.status,
        404,
        "an id, not a digest"
    );
    assert!(matches!(scene.approvals.take(&filed.id).await.unwrap(), Standing::Open));
}

#[tokio::test]
async fn too_late_is_too_late() {
    let scene = Scene::new().await;
    let filed = scene.file(&request("pay", json!({}), Decision::Ask), Duration::ZERO).await;
    let ada = scene.login("ada").await;
    let page = ada.page(&format!("/approvals/{}", filed.id)).await;
    assert!(
        page.contains("It is expired and can no longer be decided") && !page.contains("value=\"approve\"")
    );
    let reply = ada.post_form(&decide(&filed.id), &[("word", "approve")]).await;
    assert_eq!(reply.status, 409);
    assert!(reply.body.contains("the request has expired") && reply.body.contains("open the request again"));
}

#[tokio::test]
async fn a_form_of_nobody_or_of_another_session_counts_for_nothing() {
    let scene = Scene::new().await;
    let filed = scene.file(&request("pay", json!({}), Decision::Ask), HOUR).await;
    let (ada, bob) = (scene.login("ada").await, scene.login("bob").await);
    let approve = ("word", "approve");
    assert_eq!(ada.post_bare(&decide(&filed.id), &[approve]).await.status, 403);
    assert_eq!(ada.post_bare(&decide(&filed.id), &[("_form", ""), approve]).await.status, 403);
    assert_eq!(ada.post_bare(&decide(&filed.id), &[("_form", &bob.form), approve]).await.status, 403);
    let same = scene.login("ada").await;
    assert_eq!(ada.post_bare(&decide(&filed.id), &[("_form", &same.form), approve]).await.status, 403);
    let body = json!({ "word": "approve", "reason": "" }).to_string();
    let api = format!("/api/v1/approvals/{}/decision", filed.id);
    let bare = ada.client().header("content-type", "application/json");
    assert_eq!(bare.send("POST", &api, &body).await.status, 403);
    let foreign = ada.client().header("origin", "http://evil.example");
    let foreign = foreign.header("content-type", "application/x-www-form-urlencoded");
    let fields = format!("_form={}&word=approve", ada.form);
    assert_eq!(foreign.send("POST", &decide(&filed.id), &fields).await.status, 403);
    assert!(matches!(scene.approvals.take(&filed.id).await.unwrap(), Standing::Open));
}

#[tokio::test]
async fn what_changed_since_the_last_approval_is_shown() {
    let scene = Scene::new().await;
    let ada = scene.login("ada").await;
    let agreed = async |arguments| {
        let filed = scene.file(&request("pay", arguments, Decision::Ask), HOUR).await;
        assert_eq!(ada.post_form(&decide(&filed.id), &[("word", "approve")]).await.status, 303);
        filed.id
    };
    let first = agreed(json!({ "to": "shop", "amount": 5 })).await;
    scene.approvals.take(&first).await.unwrap();
    // A request that was denied, and one that people agreed to with other arguments, are not what was agreed to.
    let denied = scene.file(&request("pay", json!({ "to": "denied" }), Decision::Ask), HOUR).await;
    ada.post_form(&decide(&denied.id), &[("word", "deny"), ("reason", "no")]).await;
    let replaced = scene.file(&request("pay", json!({ "to": "replaced" }), Decision::Ask), HOUR).await;
    let fields = [("word", "change"), ("arguments", "{\"to\":\"shop\",\"amount\":6}")];
    ada.post_form(&decide(&replaced.id), &fields).await;

    let filed = scene.file(&request("pay", json!({ "to": "thief", "amount": 6 }), Decision::Ask), HOUR).await;
    let page = ada.page(&format!("/approvals/{}", filed.id)).await;
    let diff = page.split("class=\"diff\">").nth(1).unwrap().split("</pre>").next().unwrap();
    assert!(
        diff.contains("class=\"removed\"") && diff.contains("&quot;to&quot;: &quot;shop&quot;"),
        "{diff}"
    );
    assert!(diff.contains("class=\"added\"") && diff.contains("&quot;to&quot;: &quot;thief&quot;"), "{diff}");
    assert!(
        diff.contains("&quot;amount&quot;: 6") && !diff.contains("denied") && !diff.contains("replaced"),
        "{diff}"
    );
    let other = scene.file(&request("other", json!({}), Decision::Ask), HOUR).await;
    assert!(
        ada.page(&format!("/approvals/{}", other.id))
            .await
            .contains("Nobody has agreed to a call of this tool")
    );
}

#[tokio::test]
async fn foreign_text_stays_text() {
    let scene = Scene::new().await;
    let mut foul =
        request("pay", json!({ FOUL: FOUL, "long": FOUL.repeat(20), "list": vec![FOUL; 30] }), Decision::Ask);
    foul.run = FOUL.into();
    foul.session = FOUL.into();
    foul.proposer = FOUL.into();
    foul.tool_digest = FOUL.into();
    if let Some(call) = &mut foul.call {
        call.personality = Some(FOUL.into());
        call.key = Some(FOUL.to_owned());
        call.directory = Some(FOUL.into());
    }
    let reach = |text: &str| ringfence_server::console::ReachRow {
        surface: text.to_owned(),
        granted: vec![text.to_owned()],
        refused: vec![text.to_owned()],
    };
    *scene.desk.grant.lock().unwrap() = Some(vec![reach(FOUL)]);
    let arguments = (*foul.arguments).clone();
    let filed = scene.file(&foul.with_arguments(arguments).unwrap(), HOUR).await;
    let ada = scene.login("ada").await;
    let pages = ["/approvals".to_owned(), "/approvals/part".to_owned(), format!("/approvals/{}", filed.id)];
    for path in &pages {
        assert_is_text(&ada.page(path).await);
    }
    ada.post_form(&decide(&filed.id), &[("word", "deny"), ("reason", FOUL)]).await;
    let again = scene.file(&request("pay", json!([FOUL]), Decision::Ask), HOUR).await;
    for path in pages.iter().chain([&format!("/approvals/{}", again.id)]) {
        assert_is_text(&ada.page(path).await);
    }
    *scene.desk.broken.lock().unwrap() = Some(ringfence_server::console::DeskError::Files {
        message: FOUL.to_owned(),
        hint: Some(FOUL.to_owned()),
    });
    assert_is_text(&ada.page(&format!("/approvals/{}", filed.id)).await);
    let missing = ada.get(&format!("/approvals/{}", crate::it::console::encode(FOUL))).await;
    assert_eq!(missing.status, 404);
    assert_is_text(&missing.body);
}

#[tokio::test]
async fn the_api_serves_the_same() {
    let scene = Scene::new().await;
    let filed = scene.file(&request("pay", json!({ "amount": 5 }), Decision::AskTwo), HOUR).await;
    scene.file(&request("other", json!({}), Decision::Ask), HOUR).await;
    let ada = scene.login("ada").await;
    let listed = ada.json("/api/v1/approvals?state=open&tool=pay&run=run-1&most=1").await;
    assert_eq!(listed["requests"][0]["id"], filed.id);
    assert_eq!(listed["requests"][0]["arguments"], json!({ "amount": 5 }));
    assert_eq!(listed["more"], json!(false), "another tool's request does not count");
    let cut = ada.json("/api/v1/approvals?most=1").await;
    assert_eq!((cut["requests"].as_array().unwrap().len(), &cut["more"]), (1, &json!(true)));
    assert_eq!(cut["requests"][0]["tool"], "other", "the newest is listed");
    let whole = ada.json("/api/v1/approvals?most=2").await;
    assert_eq!((whole["requests"].as_array().unwrap().len(), &whole["more"]), (2, &json!(false)));
    assert_eq!(ada.json("/api/v1/approvals?state=denied").await["requests"], json!([]));
    assert_eq!(ada.get("/api/v1/approvals?state=mad").await.status, 400);
    let one = ada.json(&format!("/api/v1/approvals/{}", filed.id)).await;
    assert_eq!((&one["missing"], &one["hindrance"]), (&json!(2), &json!(null)));

    let path = format!("/api/v1/approvals/{}/decision", filed.id);
    let by_token = client(scene.address).header("authorization", &format!("Bearer {}", token("bob")));
    let by_token = by_token.header("content-type", "application/json");
    let reply = by_token.send("POST", &path, r#"{"word":"approve","reason":"by token"}"#).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!((&reply.json()["missing"], &reply.json()["said"][0]["by"]), (&json!(1), &json!("bob")));
    let twice = by_token.send("POST", &path, r#"{"word":"approve","reason":""}"#).await;
    assert_eq!((twice.status, &twice.json()["code"]), (409, &json!("CONFLICT")));
    // Duplicate keys are refused as the pipeline does, not quietly dropped by whoever reads the body.
    let body = r#"{"word":"change","reason":"","arguments":{"a":1,"a":2}}"#;
    let reply = ada.client().header("x-ringfence-form", &ada.form).header("content-type", "application/json");
    let reply = reply.send("POST", &path, body).await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    assert!(reply.body.contains("appears twice"), "{}", reply.body);
    let reply =
        ada.post_json(&path, &json!({ "word": "change", "reason": "", "arguments": { "amount": 1 } })).await;
    assert_eq!((reply.status, &reply.json()["arguments"]), (200, &json!({ "amount": 1 })), "{}", reply.body);
    assert_eq!(scene.approvals.request(&filed.id).await.unwrap().unwrap().state, RequestState::Replaced);
}

fn decide(id: &str) -> String {
    format!("/approvals/{id}/decide")
}

#[tokio::test]
async fn an_approval_is_withdrawn_before_it_is_used() {
    let scene = Scene::new().await;
    let (ada, bob) = (scene.login("ada").await, scene.login("bob").await);
    let filed = scene.file(&request("pay", json!({ "amount": 5 }), Decision::Ask), HOUR).await;
    let path = format!("/approvals/{}", filed.id);
    assert!(!ada.page(&path).await.contains("Withdraw my approval"), "there is nothing to withdraw");
    ada.post_form(&decide(&filed.id), &[("word", "approve")]).await;
    assert!(ada.page(&path).await.contains("Withdraw my approval"));
    assert!(!bob.page(&path).await.contains("Withdraw my approval"), "it is not his");
    assert_eq!(bob.post_form(&decide(&filed.id), &[("word", "withdraw")]).await.status, 409);
    assert_eq!(
        ada.post_form(&decide(&filed.id), &[("word", "withdraw"), ("reason", "oops")]).await.status,
        303
    );
    assert!(matches!(scene.approvals.take(&filed.id).await.unwrap(), Standing::Open));

    let api = format!("/api/v1/approvals/{}/decision", filed.id);
    assert_eq!(ada.post_json(&api, &json!({ "word": "approve" })).await.status, 200);
    let reply = ada.post_json(&api, &json!({ "word": "withdraw" })).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let open: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!((&open["state"], &open["said"]), (&json!("open"), &json!([])));
    ada.post_json(&api, &json!({ "word": "approve" })).await;
    assert!(matches!(scene.approvals.take(&filed.id).await.unwrap(), Standing::Approved(_)));
    assert_eq!(ada.post_json(&api, &json!({ "word": "withdraw" })).await.status, 409, "it was used");
    assert!(!ada.page(&path).await.contains("Withdraw my approval"));
}

#[tokio::test]
async fn a_damaged_request_is_named_and_the_others_are_shown() {
    let scene = Scene::new().await;
    let filed = scene.file(&request("pay", json!({ "amount": 5 }), Decision::Ask), HOUR).await;
    let damaged = DamagedRequest { id: "beefbeefbeef".to_owned(), why: format!("no JSON {FOUL}") };
    *scene.all_approvals.damaged.lock().unwrap() = vec![damaged];
    let ada = scene.login("ada").await;
    let page = ada.page("/approvals").await;
    assert!(page.contains("1 request cannot be read") && page.contains("beefbeefbeef"), "{page}");
    assert!(page.contains(&format!("href=\"/approvals/{}\"", filed.id)), "{page}");
    assert!(page.contains("data-waiting=\"1\""), "those that can be read are counted: {page}");
    assert_is_text(&page);
    let list = ada.json("/api/v1/approvals").await;
    assert_eq!(list["requests"][0]["id"], filed.id.as_str());
    assert_eq!(list["damaged"][0]["id"], "beefbeefbeef");
    assert_eq!(ada.page(&format!("/approvals/{}", filed.id)).await.matches("value=\"approve\"").count(), 1);
    assert_eq!(ada.json("/api/v1/health").await["queues"]["approvals_open"], 1);
}

#[tokio::test]
async fn blank_letters_are_seen_by_whoever_decides() {
    let scene = Scene::new().await;
    let blank = "a\u{3164}b\u{115f}\u{1160}c\u{ffa0}";
    let filed = scene.file(&request("pay", json!({ "to": blank, "n": 1.0 }), Decision::Ask), HOUR).await;
    let ada = scene.login("ada").await;
    let page = ada.page(&format!("/approvals/{}", filed.id)).await;
    let api = ada.get(&format!("/api/v1/approvals/{}", filed.id)).await.body;
    for shown in [&page, &api] {
        assert!(!shown.contains(['\u{3164}', '\u{115f}', '\u{1160}', '\u{ffa0}']), "{shown}");
        assert!(shown.contains("a\\u3164b\\u115f\\u1160c\\uffa0") && shown.contains("1.0"), "{shown}");
    }
    let same: serde_json::Value = serde_json::from_str(&api).unwrap();
    assert_eq!(same["arguments"]["to"], blank);
}
