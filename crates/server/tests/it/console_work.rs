//! What somebody does who works in the console: several decisions at once, half a name, exports, charts, people.

use std::time::Duration;

use ringfence::policy::Decision;
use ringfence::{ApprovalStore as _, RequestState};
use serde_json::{Value, json};

use crate::it::console::{FOUL, Scene, assert_is_text, request, token};

const LONG: Duration = Duration::from_secs(600);

/// A call as the pipeline writes it, some minutes ago, with what the test says in place of the rest.
fn call(number: u64, minutes_ago: u64, more: &Value) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut record = json!({
        "kind": "call", "call": number, "at_ms": u64::try_from(now.as_millis()).unwrap() - minutes_ago * 60_000,
        "run": "run-1", "session": "session-1", "tool": "fetch", "tool_digest": "d", "class": "network", "risk": "low",
        "asker": "model", "proposer": "agent", "personality": "clerk", "policy_digest": "p", "outcome": "done",
        "arguments": {}, "duration_us": 1500,
    });
    for (name, value) in more.as_object().unwrap() {
        record[name] = value.clone();
    }
    record
}

fn refusal(code: &str) -> Value {
    json!({ "outcome": "refused", "result": { "ok": false, "code": "refused", "error": "no", "refusal": code } })
}

fn with(mut one: Value, other: &Value) -> Value {
    for (name, value) in other.as_object().unwrap() {
        one[name] = value.clone();
    }
    one
}

#[tokio::test]
async fn the_list_shows_arguments_and_several_are_decided_each_for_what_was_shown() {
    let scene = Scene::new().await;
    let mut filed = Vec::new();
    for amount in 1..=5 {
        let arguments = json!({ "invoice": format!("2026-{amount}"), "amount": amount * 100, "to": FOUL });
        filed.push(scene.file(&request("pay", arguments, Decision::Ask), LONG).await);
    }
    let ada = scene.login("ada").await;
    let page = ada.page("/approvals").await;
    assert_is_text(&page);
    for amount in 1..=5 {
        assert!(page.contains(&format!("<code>&quot;2026-{amount}&quot;</code>")), "{page}");
        assert!(page.contains(&format!("<dt>amount</dt><dd><code>{}</code>", amount * 100)), "{page}");
    }
    let pick = |place: usize| format!("{}:{}", filed[place].id, filed[place].request.digest);
    assert!(page.contains(&format!("value=\"{}\"", pick(0))), "{page}");
    let forged = format!("{}:{}", filed[3].id, filed[4].request.digest);
    let fields = [
        ("word", "approve"),
        ("pick", &pick(0)),
        ("pick", &pick(1)),
        ("pick", &forged),
        ("pick", "nothing:at-all"),
        ("pick", &pick(0)),
    ];
    let reply = ada.post_form("/approvals/decide", &fields).await;
    assert_eq!(reply.status, 409, "some were not decided: {}", reply.body);
    assert!(reply.body.contains("<h1>2 of 5 approved</h1>"), "{}", reply.body);
    assert!(reply.body.contains("the request is not the one that was shown"), "{}", reply.body);
    assert!(reply.body.contains("there is no request `nothing`"), "{}", reply.body);
    let mut states = Vec::new();
    for one in &filed {
        states.push(scene.approvals.request(&one.id).await.unwrap().unwrap().state);
    }
    use RequestState::{Approved, Open};
    assert_eq!(states, [Approved, Approved, Open, Open, Open]);

    // Without a reason nothing is denied, and without what the session's forms bring nothing is decided.
    let deny = [("word", "deny"), ("pick", &pick(2)), ("reason", " ")];
    assert_eq!(ada.post_form("/approvals/decide", &deny).await.status, 400);
    let bare = [("word", "approve"), ("pick", &pick(2))];
    assert_eq!(ada.post_bare("/approvals/decide", &bare).await.status, 403);
    assert_eq!(ada.post_form("/approvals/decide", &[("word", "approve")]).await.status, 400);
    assert_eq!(ada.post_form("/approvals/decide", &[("word", "approve"), ("pick", "x")]).await.status, 400);
    let vera = scene.login("vera").await;
    assert_eq!(vera.post_form("/approvals/decide", &bare).await.status, 403);
    assert!(!vera.page("/approvals").await.contains("name=\"pick\""), "a viewer selects nothing");
    assert_eq!(scene.approvals.request(&filed[2].id).await.unwrap().unwrap().state, Open);

    // Over the API the same.
    let body = json!({ "word": "deny", "reason": "not now", "requests": [
        { "id": filed[2].id, "digest": filed[2].request.digest }, { "id": filed[3].id, "digest": "0" },
    ]});
    let reply = ada.post_json("/api/v1/approvals", &body).await;
    let answer: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(answer["decided"][0]["request"]["state"], "denied", "{answer}");
    assert_eq!(answer["decided"][1]["problem"]["code"], "CONFLICT", "{answer}");

    // One by one, a decision is bound to what was shown too.
    let path = format!("/approvals/{}/decide", filed[4].id);
    let fields = [("word", "approve"), ("digest", "0")];
    assert_eq!(ada.post_form(&path, &fields).await.status, 409);
    let digest = filed[4].request.digest.clone();
    assert_eq!(ada.post_form(&path, &[("word", "approve"), ("digest", &digest)]).await.status, 303);
}

#[tokio::test]
async fn what_is_not_shown_as_a_whole_or_is_ones_own_cannot_be_selected() {
    let scene = Scene::new().await;
    let long = scene.file(&request("pay", json!({ "memo": "x".repeat(300) }), Decision::Ask), LONG).await;
    let two = scene.file(&request("wire", json!({ "amount": 1 }), Decision::AskTwo), LONG).await;
    let agent = scene.login(crate::it::console::AGENT).await;
    assert!(!agent.page("/approvals").await.contains("name=\"pick\""), "a proposer selects nothing");
    let ada = scene.login("ada").await;
    let page = ada.page("/approvals").await;
    assert!(page.contains("Not all of it fits here."), "{page}");
    assert!(!page.contains(&long.request.digest) && page.contains(&two.request.digest), "{page}");
    let pick = format!("{}:{}", two.id, two.request.digest);
    let reply = ada.post_form("/approvals/decide", &[("word", "approve"), ("pick", &pick)]).await;
    assert!(
        reply.status == 200 && reply.body.contains("ada agreed; 1 person more must agree"),
        "{}",
        reply.body
    );
    let page = ada.page("/approvals").await;
    assert!(!page.contains("name=\"pick\"") && page.contains("You have agreed to this call."), "{page}");
}

#[tokio::test]
async fn half_a_name_finds_entries_in_lists_exports_and_the_stream() {
    let scene = Scene::new().await;
    let ada = scene.login("ada").await; // entry 0
    for (number, run, tool) in [
        (1, "nightly-2026-1", "pay"),
        (2, "nightly-2026-2", "payout"),
        (3, "weekly", "pay"),
        (4, "nightly", "fetch"),
    ] {
        let more = json!({ "run": run, "tool": tool, "proposer": format!("agent-{number}") });
        scene.log.put(&call(
            number,
            5,
            &with(more, &if number % 2 == 1 { refusal("HOST_NOT_ALLOWED") } else { json!({}) }),
        ));
    }
    #[rustfmt::skip]
    let cases: [(&str, &[u64]); 10] = [
        ("run=nightly-",             &[2, 1]),
        ("run=nightly",              &[4]),
        ("run=nightly*",             &[4, 2, 1]),
        ("tool=pay",                 &[3, 1]),
        ("tool=pa",                  &[3, 2, 1]),
        ("tool=pa&run=night",        &[2, 1]),
        ("code=HOST_",               &[3, 1]),
        ("code=*",                   &[3, 1]),
        ("principal=agent-&code=*",  &[3, 1]),
        ("run=ightly",               &[]),
    ];
    for (query, expected) in cases {
        let listed = ada.json(&format!("/api/v1/entries?{query}")).await;
        let listed: Vec<u64> =
            listed["rows"].as_array().unwrap().iter().map(|row| row["index"].as_u64().unwrap()).collect();
        assert_eq!(listed, expected, "{query}");
        let csv = ada.page(&format!("/activity/export.csv?{query}")).await;
        let exported: Vec<u64> =
            csv.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
        assert_eq!(exported, expected, "{query}: {csv}");
        let lines = ada.page(&format!("/activity/export.jsonl?{query}")).await;
        let exported: Vec<u64> = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["index"].as_u64().unwrap())
            .collect();
        assert_eq!(exported, expected, "{query}");
    }
    let names = ada.json("/api/v1/names?field=run&text=NIGHT").await;
    assert_eq!(names["names"], json!(["nightly", "nightly-2026-2", "nightly-2026-1"]));
    assert_eq!(ada.get("/api/v1/names?field=secret&text=").await.status, 400);
    assert!(ada.page("/activity").await.contains("<option value=\"weekly\">"));

    let mut live = ada.follow("/live?run=nightly-2026&from=0").await;
    let first = live.event().await.expect("an event");
    assert!(first.data.contains("nightly-2026-1"), "{}", first.data);
    let actions = scene.log.actions();
    assert!(actions.iter().filter(|action| *action == "exported entries").count() == 20, "{actions:?}");
    let vera = scene.login("vera").await;
    assert_eq!(vera.get("/activity/export.csv").await.status, 403);
    assert!(!vera.page("/activity").await.contains("export.csv"));
}

#[tokio::test]
async fn names_that_begin_alike_are_walked_and_nothing_is_left_out() {
    let scene = Scene::new().await;
    let ada = scene.login("ada").await;
    for number in 1..=700 {
        scene.log.put(&call(
            number,
            5,
            &json!({ "run": format!("run-{number}"), "tool": format!("tool-{}", number % 3) }),
        ));
    }
    for query in ["run=run-&tool=tool-1", "tool=tool-&run=run-*", "run=run-"] {
        let (mut all, mut below) = (Vec::new(), String::new());
        loop {
            let page = ada.json(&format!("/api/v1/entries?{query}&most=60{below}")).await;
            all.extend(page["rows"].as_array().unwrap().iter().map(|row| row["index"].as_u64().unwrap()));
            match page["older"].as_u64() {
                Some(older) => below = format!("&below={older}"),
                None => break,
            }
        }
        let fits = |number: &u64| !query.ends_with("tool-1") || number % 3 == 1;
        let expected: Vec<u64> = (1..=700).rev().filter(fits).collect();
        assert_eq!(all, expected, "{query}");
        let csv = ada.page(&format!("/activity/export.csv?{query}")).await;
        assert_eq!(csv.lines().count(), expected.len() + 1, "{query}");
    }
}

#[tokio::test]
async fn an_export_is_no_formula() {
    let scene = Scene::new().await;
    let ada = scene.login("ada").await;
    scene.log.put(&call(
        1,
        5,
        &json!({ "tool": "=cmd|'/C calc'!A0", "run": "@SUM(1),\"x\"\r\n=2", "proposer": "+1" }),
    ));
    let reply = ada.get("/api/v1/entries/export.csv?kind=call").await;
    assert_eq!(reply.header("content-type"), Some("text/csv"));
    assert!(reply.header("content-disposition").unwrap().starts_with("attachment;"));
    let lines: Vec<&str> = reply.body.lines().collect();
    assert_eq!(lines.len(), 2, "{}", reply.body);
    for wanted in ["\"'=cmd|'/C calc'!A0\"", "\"'@SUM(1),\"\"x\"\"⟦U+000D⟧ =2\"", "\"'+1\""] {
        assert!(lines[1].contains(wanted), "{wanted}: {}", lines[1]);
    }
}

#[tokio::test]
async fn runs_and_sessions_are_listed_and_found_by_half_a_name() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    for number in 0..120 {
        let more =
            json!({ "run": format!("run-{number:03}"), "session": format!("session-{}", number / 60) });
        scene.log.put(&call(number, 200 - number, &more));
    }
    let night = json!({ "run": "the-nightly-job", "session": "session-night" });
    scene.log.put(&call(200, 1500, &with(night.clone(), &refusal("HOST_NOT_ALLOWED"))));
    scene.log.put(&call(201, 3, &json!({ "run": FOUL, "session": FOUL, "proposer": FOUL })));
    assert_is_text(&vera.page("/runs").await);
    assert_is_text(&vera.page("/sessions").await);
    let list = vera.json("/api/v1/runs").await;
    assert_eq!((list["total"].as_u64(), list["pages"].as_u64()), (Some(122), Some(3)), "{list}");
    assert_eq!(list["listed"].as_array().unwrap().len(), 50);
    assert_eq!(list["complete"], true);
    let names = |list: &Value, field: &str| -> Vec<String> {
        let all = list["listed"].as_array().unwrap().iter();
        all.map(|one| one[field].as_str().unwrap().to_owned()).collect()
    };
    #[rustfmt::skip]
    let cases: [(&str, &[&str]); 5] = [
        ("text=NIGHTLY",                         &["the-nightly-job"]),
        ("result=refused",                       &["the-nightly-job"]),
        ("text=nightly&result=failed",           &[]),
        ("text=nightly&since=2d&until=1d",       &["the-nightly-job"]),
        ("session=session-night",                &["the-nightly-job"]),
    ];
    for (query, expected) in cases {
        assert_eq!(names(&vera.json(&format!("/api/v1/runs?{query}")).await, "run"), expected, "{query}");
        assert_eq!(
            vera.page(&format!("/runs?{query}")).await.contains("/runs/the-nightly-job"),
            !expected.is_empty()
        );
    }
    assert_eq!(vera.json("/api/v1/runs?page=3").await["listed"].as_array().unwrap().len(), 22);
    assert_eq!(vera.get("/api/v1/runs?result=odd").await.status, 400);
    assert_eq!(vera.get("/runs?since=yesterday").await.status, 400);
    let list = vera.json("/api/v1/sessions?text=night").await;
    assert_eq!(
        (names(&list, "session"), &list["listed"][0]["refused"]),
        (vec!["session-night".to_owned()], &json!(1))
    );
    assert!(vera.page("/sessions?text=NIGHT").await.contains("/runs?session=session-night"));
    // What happens from now on is there at once.
    scene.log.put(&call(202, 0, &json!({ "run": "brand-new" })));
    assert_eq!(names(&vera.json("/api/v1/runs").await, "run")[0], "brand-new");
}

#[tokio::test]
async fn charts_show_what_grew_in_pictures_words_and_a_table() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    assert!(vera.page("/charts").await.contains("No calls in this time."));
    for number in 0..10 {
        scene.log.put(&call(number, 10, &json!({ "duration_us": 40_000 })));
        if number < 4 {
            scene.log.put(&call(number, 10, &with(json!({ "tool": "pay" }), &refusal("HOST_NOT_ALLOWED"))));
            scene.log.put(&call(number, 27 * 60, &json!({ "tool": "fetch" })));
        }
    }
    let trend = vera.json("/api/v1/trend").await;
    assert_eq!(
        (&trend["total"]["done"], &trend["total"]["refused"], &trend["before"]["done"]),
        (&json!(10), &json!(4), &json!(4))
    );
    assert_eq!(trend["total"]["refusals"], json!({ "HOST_NOT_ALLOWED": 4 }));
    assert_eq!(trend["total"]["p95_us"], 50_000);
    assert_eq!(trend["slots"].as_array().unwrap().len(), 24);
    assert_eq!(trend["changes"][0], json!({ "kind": "tool", "name": "fetch", "before": 4, "now": 10 }));
    let page = vera.page("/charts").await;
    for wanted in [
        "<svg class=\"trend\"",
        "aria-label=\"Calls over time: 10 done, 0 failed, 4 refused.\"",
        "HOST_NOT_ALLOWED 4.",
        "+150 %",
        "href=\"/activity?code=HOST_NOT_ALLOWED&amp;since=24h\"",
        "The same as a table",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    assert!(!page.contains("style="), "a style in a page would not be used");
    for (range, slots) in [("7d", 28), ("30d", 30)] {
        assert_eq!(
            vera.json(&format!("/api/v1/trend?range={range}")).await["slots"].as_array().unwrap().len(),
            slots
        );
    }
    assert_eq!(vera.get("/charts?range=1y").await.status, 400);
    scene.log.put(&call(99, 1, &json!({ "tool": FOUL })));
    assert_is_text(&vera.page("/charts").await);
}

#[tokio::test]
async fn an_admin_revokes_somebody_at_once() {
    let scene = Scene::new().await;
    let (root, bob) = (scene.login("root").await, scene.login("bob").await);
    let page = root.page("/people").await;
    assert!(page.contains("action=\"/people/revoke\"") && page.contains("(you)"), "{page}");
    assert!(!bob.page("/people").await.contains("action=\"/people/revoke\""), "only an admin revokes");
    let people = root.json("/api/v1/people?text=BO").await;
    assert_eq!(
        (&people["people"][0]["name"], &people["people"][0]["sessions"]),
        (&json!("bob"), &json!(1)),
        "{people}"
    );
    let added = people["people"][0]["added_ms"].to_string();
    let fields =
        |name: &'static str, added: &str| [("name", name.to_owned()), ("added_ms", added.to_owned())];
    let post = async |who: &crate::it::console::Browser, name: &'static str, added: &str| {
        let fields = fields(name, added);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        who.post_form("/people/revoke", &fields).await.status
    };
    assert_eq!(post(&bob, "vera", &added).await, 403);
    assert_eq!(post(&root, "bob", "1").await, 409, "somebody else by now");
    assert_eq!(post(&root, "nobody", &added).await, 404);
    let own = root.json("/api/v1/people?text=root").await["people"][0]["added_ms"].to_string();
    assert_eq!(post(&root, "root", &own).await, 409, "not oneself");
    let mut live = bob.follow("/live").await;
    assert_eq!(post(&root, "bob", &added).await, 303);
    let ended = async { while live.more().await {} };
    tokio::time::timeout(Duration::from_millis(900), ended).await.expect("the stream ends at once");
    assert_eq!(bob.get("/approvals").await.status, 303, "back to the login");
    assert_eq!(post(&root, "bob", &added).await, 409, "already");
    let reply = crate::it::console::client(scene.address)
        .header("authorization", &format!("Bearer {}", token("bob")))
        .send("GET", "/api/v1/me", "")
        .await;
    assert_eq!(reply.status, 401);
    let people = root.json("/api/v1/people?text=bob").await;
    assert!(people["people"][0]["revoked_ms"].is_u64(), "{people}");
    assert!(scene.log.actions().contains(&"revoke person".to_owned()));
}

#[tokio::test]
async fn the_keys_are_explained_on_every_page() {
    let scene = Scene::new().await;
    let vera = scene.login("vera").await;
    for path in ["/approvals", "/help", "/runs", "/people"] {
        let page = vera.page(path).await;
        assert!(
            page.contains("<dialog id=\"help\"") && page.contains("<kbd>0</kbd></dt><dd>Health</dd>"),
            "{path}"
        );
    }
}
