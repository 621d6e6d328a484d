//! Every page with something on it.

use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::console::browser::Browser;
use crate::console::scene::{Scene, Setting};

/// A gateway in which a lot has happened, and the token of an admin. Two calls wait.
pub(crate) fn lively() -> (Scene, String, [JoinHandle<Value>; 2]) {
    lively_with(Setting::default(), |_| {})
}

/// The same with another setting, on a store that was prepared.
pub(crate) fn lively_with(
    setting: Setting<'_>,
    prepare: impl FnOnce(&str),
) -> (Scene, String, [JoinHandle<Value>; 2]) {
    let scene = Scene::start_with(setting, prepare);
    let ada = scene.person("ada", "admin");
    let agent = scene.agent();
    agent.tools();
    for index in 0..5 {
        agent.call("note", &json!({ "text": format!("line {index} of the ledger") }));
    }
    agent.call(
        "note",
        &json!({ "text": concat!("the key is AKIA", "Z7QW2M4N5R5T6Y3P and \u{1b}[31mred\u{1b}[0m") }),
    );
    agent.call("note", &json!({ "nothing": 1 }));
    agent.call("call_home", &json!({}));
    agent.call("unknown_tool", &json!({}));
    let first = agent.begin("pay", &json!({ "invoice": "2026-31", "amount": 1250, "memo": "October rent for the office in the main street" }));
    let second = scene.agent().begin("wire", &json!({ "amount": 9000 }));
    scene.on_store("audit", &["checkpoint", "--key", "key"]);
    (scene, ada, [first, second])
}

/// The pages, by name, with the address of each.
pub(crate) fn pages(scene: &Scene, browser: &Browser) -> Vec<(String, String)> {
    let first = |place: &str, selector: &str| {
        browser.go(&scene.url(place));
        browser.until(&format!("document.querySelector({selector:?})"));
        let script = format!("return document.querySelector({selector:?}).getAttribute('href')");
        browser.run(&script).as_str().unwrap().to_owned()
    };
    let request = first("/approvals", "a.request");
    let call = first("/activity?kind=call&tool=note", "#rows tr:not(.refused) a[href^='/calls/']");
    let refused = first("/activity?kind=call&tool=call_home", "#rows a[href^='/calls/']");
    let run = first("/activity?kind=call", "#rows a[href^='/runs/']");
    let of = |name: &str, path: &str| (name.to_owned(), path.to_owned());
    vec![
        of("approvals", "/approvals"),
        of("request", &request),
        of("activity", "/activity"),
        of("activity-refused", "/activity?code=*&since=7d"),
        of("call", &format!("{call}?raw=show")),
        of("call-refused", &refused),
        of("run", &run),
        of("runs", "/runs"),
        of("sessions", "/sessions"),
        of("charts", "/charts?range=7d"),
        of("people", "/people"),
        of("help", "/help"),
        of("tools", "/tools"),
        of("tool", "/tools/definition?key=tool:pay"),
        of("definition", "/tools/definition?server=clerk&key=tool:describe"),
        of("policy", "/policy?tool=call_home&surface=host&what=api.evil.com"),
        of("idempotency", "/idempotency"),
        of("audit", "/audit"),
        of("entry", "/audit/entries/0"),
        of("verify", "/audit/verify"),
        of("health", "/health"),
        of("nothing", "/nowhere"),
    ]
}

#[test]
fn the_policy_says_which_line_decides_and_the_log_is_verified_and_proven() {
    let (scene, token, _waiting) = lively();
    let browser = scene.browser_of(&token);
    browser.go(&scene.url("/policy"));
    browser.fill("form#question [name=tool]", "call_home");
    browser.run("document.querySelector('form#question [name=surface]').value = 'host'");
    browser.fill("form#question [name=what]", "api.evil.com");
    browser.click("form#question button[type=submit]");
    browser.until("document.querySelector('#answer')");
    browser.sees("HOST_NOT_ALLOWED");
    assert!(
        browser.run("return document.querySelector('#answer').innerHTML.includes('#L')") == json!(true),
        "{}",
        browser.text()
    );

    browser.go(&scene.url("/audit"));
    browser.sees("example.org/console");
    browser.click("form#verify button[type=submit]");
    browser.until("document.querySelector('#verified')");
    browser.sees("Intact");
    let cookie = scene.cookie(&token);
    let proof = scene.get("/audit/proof/0", &cookie);
    assert_eq!(proof.status, 200, "{proof:?}");
    let exported = scene.get("/audit/export", &cookie);
    assert_eq!(exported.status, 200);
    assert!(exported.body.lines().count() > 10, "{}", exported.body);
    for line in exported.body.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
}
