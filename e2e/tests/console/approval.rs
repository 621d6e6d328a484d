//! A person sees a call appear, decides, and sees it run.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::console::agent::text;
use crate::console::scene::{Scene, Setting};
use crate::durable::postgres;

#[test]
fn a_person_logs_in_by_the_link_sees_a_call_appear_agrees_and_sees_it_run() {
    let scene = Scene::start();
    let browser = crate::console::browser::Browser::start((1280, 900), false);
    browser.go(&scene.link);
    browser.sees("Log in as olga");
    browser.click("button[type=submit]");
    browser.until("location.pathname === '/approvals'");
    browser.sees("olga");
    browser.sees("admin");
    assert!(!browser.title().starts_with('('), "{}", browser.title());

    let call = scene.agent().begin("pay", &json!({ "invoice": "2026-17", "amount": 250, "memo": "" }));
    // It appears without anybody asking for it.
    browser.until("document.querySelector('a.request')");
    browser.until("document.title.startsWith('(1) ')");
    assert_eq!(scene.paid(), "");
    browser.click("a.request");
    for wanted in ["pay", "bookkeeper", "financial", "2026-17", "250", "ledger"] {
        browser.sees(wanted);
    }
    browser.picture("approval");
    browser.click("button[value=approve]");
    browser.until("['approved', 'taken'].includes(document.querySelector('#state')?.innerText.trim())");
    assert_eq!(text(&call.join().unwrap()).trim(), "paid 250");
    assert_eq!(scene.paid(), "2026-17 250\n");

    // The call is in the activity, and its page has every stage of it.
    browser.go(&scene.url("/activity?kind=call"));
    browser.sees("pay");
    browser.click("#rows a[href^='/calls/']");
    for wanted in ["approval", "run", "olga", "native"] {
        browser.sees(wanted);
    }
    browser.until("document.querySelector('#stages')");
    // What the person did is in the log under their name.
    let kept = scene.on_store("audit", &["search", "--kind", "approval"]);
    assert!(kept.contains("\"by\":[\"olga\"]"), "{kept}");
    let kept = scene.on_store("audit", &["search", "--kind", "console"]);
    assert!(kept.contains("\"login\"") && kept.contains("olga"), "{kept}");

    // A link works once.
    let second = crate::console::browser::Browser::start((1280, 900), false);
    second.go(&scene.link);
    second.sees("this link was used");
}

#[test]
fn two_people_are_two_and_whoever_asks_is_none_of_them() {
    let scene = Scene::start();
    let (ada, bob) = (scene.person("ada", "approver"), scene.person("bob", "approver"));
    let proposer = scene.person("bookkeeper", "approver");
    let viewer = scene.person("vera", "viewer");
    let call = scene.agent().begin("wire", &json!({ "amount": 9000 }));

    let first = scene.browser_of(&ada);
    first.until("document.querySelector('a.request')");
    first.click("a.request");
    first.until("document.querySelector('button[value=approve]')");
    let request = first.url();
    let path = request.split(&scene.console).nth(1).unwrap().to_owned();
    first.click("button[value=approve]");
    first.until("document.querySelector('#missing')");
    assert!(first.text().contains("ada"), "{}", first.text());
    assert!(!first.has("button[value=approve]"), "the same person is not offered to agree again");

    // Sent all the same, it is refused: the same person, the proposer, and somebody who may only look.
    for (token, why) in
        [(&ada, "already decided"), (&proposer, "cannot decide about it"), (&viewer, "viewer")]
    {
        let cookie = scene.cookie(token);
        let page = scene.get(&path, &cookie).body;
        let form = form_of(&page);
        let answer = scene.post(
            &format!("{path}/decide"),
            &format!("_form={form}&word=approve"),
            &[("Cookie", &cookie)],
        );
        assert!([403, 409].contains(&answer.status), "{answer:?}");
        assert!(answer.body.contains(why), "{why}: {}", answer.body);
    }
    assert_eq!(scene.paid(), "");

    let second = scene.browser_of(&bob);
    second.go(&request);
    second.click("button[value=approve]");
    second.until("['approved', 'taken'].includes(document.querySelector('#state')?.innerText.trim())");
    assert_eq!(text(&call.join().unwrap()).trim(), "wired 9000");
    assert_eq!(scene.paid(), "wire 9000\n");
    // The first person's page says so without being asked for anew, or when it is.
    first.go(&request);
    first.sees("bob");
}

#[test]
fn arguments_are_edited_and_a_refusal_says_why() {
    let scene = Scene::start();
    let ada = scene.person("ada", "approver");
    let browser = scene.browser_of(&ada);
    let call = scene.agent().begin("pay", &json!({ "invoice": "A", "amount": 900, "memo": "" }));
    browser.until("document.querySelector('a.request')");
    browser.click("a.request");
    browser.click("#edit > summary");
    browser.fill("#edited", r#"{"invoice": "A", "amount": 9, "memo": ""}"#);
    browser.fill("#edit-reason", "too much");
    browser.click("#edit button[type=submit]");
    assert_eq!(text(&call.join().unwrap()).trim(), "paid 9");
    assert_eq!(scene.paid(), "A 9\n");

    let call = scene.agent().begin("pay", &json!({ "invoice": "B", "amount": 1, "memo": "" }));
    browser.go(&scene.url("/approvals"));
    browser.until("document.querySelector('a.request')");
    browser.click("a.request");
    browser.fill("#reason", "not this month");
    browser.click("button[value=deny]");
    let answer = call.join().unwrap();
    assert!(text(&answer).contains("not this month"), "{answer}");
    assert_eq!(scene.paid(), "A 9\n");
}

/// What the forms of a page bring along.
pub(crate) fn form_of(page: &str) -> String {
    let at = page.find("name=\"_form\" value=\"").unwrap_or_else(|| panic!("no form: {page}"));
    page.split_at(at + 20).1.split('"').next().unwrap().to_owned()
}

#[test]
fn requests_that_a_busy_database_files_late_appear_by_themselves() {
    let url = postgres::other_url("console_late");
    let scene = Scene::start_with(Setting { database: Some(url.clone()), ..Setting::default() }, |_| {});
    let browser = scene.browser_of(&scene.person("ada", "admin"));
    browser.go(&scene.url("/approvals"));
    // For some seconds nobody can file a request, while the log goes on: it says that somebody is asked.
    let held = thread::spawn(move || {
        let sql = "BEGIN; LOCK TABLE ringfence.request IN SHARE MODE; SELECT pg_sleep(6); COMMIT";
        postgres::psql(&url, sql);
    });
    thread::sleep(Duration::from_millis(1_500));
    let calls: Vec<_> = (1..=5)
        .map(|invoice| {
            let arguments = json!({ "invoice": format!("2026-{invoice}"), "amount": invoice, "memo": "" });
            scene.agent().begin("pay", &arguments)
        })
        .collect();
    browser.until("window.ringfenceSeen > 0");
    assert!(!browser.has("a.request"), "the request was filed after all");
    held.join().unwrap();
    browser.until("document.querySelectorAll('[name=pick]').length === 5");
    browser.until("document.title.startsWith('(5) ')");
    scene.stop();
    for call in calls {
        let _ended = call.join();
    }
}
