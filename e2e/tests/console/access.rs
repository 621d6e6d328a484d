//! Everybody can use it: everything by keyboard, and without a script.

use serde_json::json;

use crate::console::page::lively;
use crate::console::scene::Scene;

#[test]
fn everything_is_reached_by_keyboard() {
    let (scene, token, _waiting) = lively();
    let browser = scene.browser_of(&token);
    // A digit opens each page.
    let paths = [
        "/approvals",
        "/activity",
        "/runs",
        "/charts",
        "/tools",
        "/policy",
        "/idempotency",
        "/audit",
        "/people",
        "/health",
    ];
    for (digit, path) in paths.iter().enumerate() {
        browser.press(&((digit + 1) % 10).to_string());
        browser.until(&format!("location.pathname === '{path}' && document.readyState === 'complete'"));
    }
    // The first stop leads past the list of pages, and every stop is seen.
    browser.go(&scene.url("/approvals"));
    browser.press("\u{e004}");
    assert_eq!(browser.run("return document.activeElement.className"), json!("skip"));
    let mut stops = Vec::new();
    for _ in 0..40 {
        let stop = browser.run(
            "const e = document.activeElement; const s = getComputedStyle(e); \
             return [e.tagName, e.getAttribute('href') || e.name || e.id || '', s.outlineStyle !== 'none' && s.outlineWidth !== '0px']",
        );
        if stop[0] == "BODY" {
            break;
        }
        assert_eq!(stop[2], json!(true), "the focus is not seen on {stop}");
        stops.push(stop[1].as_str().unwrap_or_default().to_owned());
        browser.press("\u{e004}");
    }
    assert!(stops.iter().any(|stop| stop.starts_with("/approvals/")), "{stops:?}");
    // Agreeing without a mouse.
    browser.run("[...document.querySelectorAll('a.request')].find(own => own.innerText === 'pay').focus()");
    browser.press("\u{e007}");
    browser.until("document.querySelector('button[value=approve]')");
    browser.run("document.querySelector('button[value=approve]').focus()");
    browser.press("\u{e007}");
    browser.until("['approved', 'taken'].includes(document.querySelector('#state')?.innerText.trim())");
}

#[test]
fn reading_and_deciding_need_no_script() {
    let scene = Scene::start();
    let ada = scene.person("ada", "approver");
    let call = scene.agent().begin("pay", &json!({ "invoice": "plain", "amount": 3, "memo": "" }));
    let cookie = scene.cookie(&ada);
    // What a browser without scripts would do: read the list, follow the link, send the form.
    let mut list = String::new();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while std::time::Instant::now() < end {
        list = scene.get("/approvals", &cookie).body;
        if list.contains("class=\"request\"") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let at = list.find("href=\"/approvals/").unwrap_or_else(|| panic!("{list}"));
    let path = list.split_at(at + 6).1.split('"').next().unwrap().to_owned();
    let page = scene.get(&path, &cookie).body;
    assert!(page.contains("plain"), "{page}");
    let form = crate::console::approval::form_of(&page);
    let answer = scene.post(
        &format!("{path}/decide"),
        &format!("_form={form}&word=approve&reason="),
        &[("Cookie", &cookie)],
    );
    assert_eq!(answer.status, 303, "{answer:?}");
    assert_eq!(crate::console::agent::text(&call.join().unwrap()).trim(), "paid 3");
}
