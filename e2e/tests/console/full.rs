//! Every page of a full store, on a phone, a desk and a wall, light and dark: it fits, axe-core finds nothing, and a picture is taken.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::console::browser::Browser;
use crate::console::history;
use crate::console::job::counted;
use crate::console::page::{lively_with, pages};
use crate::console::scene::{Scene, Setting, installed};
use crate::console::wire::send;
use crate::durable::postgres;

const PHONE: (u32, u32) = (390, 844);
const DESK: (u32, u32) = (1280, 900);
const WALL: (u32, u32) = (1920, 1080);

#[test]
fn every_page_fits_and_axe_finds_nothing_with_a_hundred_thousand_records() {
    look_at_every_page(Setting::default(), &[PHONE, DESK, WALL], "full");
}

#[test]
fn every_page_fits_and_axe_finds_nothing_on_postgresql() {
    // With all tests: it takes minutes, and the pages are the same.
    if ringfence_e2e::Tier::current().pick(true, true, false) {
        return;
    }
    let database = Some(postgres::other_url("console_pages"));
    look_at_every_page(Setting { database, ..Setting::default() }, &[DESK], "postgresql");
}

fn look_at_every_page(setting: Setting<'_>, sizes: &[(u32, u32)], prefix: &str) {
    let axe = fs::read_to_string(installed().join("axe/node_modules/axe-core/axe.min.js")).unwrap();
    let (scene, ada, _waiting) = lively_with(setting, history::fill);
    // One request is decided, one waits, and there are keys.
    scene.agent().call("file_away", &json!({ "number": 7 }));
    approve(&scene, &ada, "pay");
    counted(&scene, &ada);
    let (mut faults, mut looked) = (Vec::new(), 0);
    for &size in sizes {
        for dark in [false, true] {
            let suffix = format!("{}{}", size.0, if dark { "-dark" } else { "" });
            let browser = Browser::start(size, dark);
            let mut look = |name: &str, path: &str| {
                browser.go(&scene.url(path));
                browser.until("document.readyState === 'complete'");
                browser.picture(&format!("{prefix}-{name}-{suffix}"));
                faults.extend(
                    find_faults(&browser, &axe).into_iter().map(|fault| format!("{name}-{suffix}: {fault}")),
                );
                looked += 1;
            };
            look("login", "/login");
            scene.enter(&browser, &ada);
            let is_dark = browser.run("return matchMedia('(prefers-color-scheme: dark)').matches");
            assert_eq!(is_dark, json!(dark), "the browser shows the wrong colours");
            for (name, path) in pages(&scene, &browser) {
                look(&name, &path);
            }
            let complaints = browser.complaints().into_iter().filter(|own| !own.contains("/nowhere"));
            faults.extend(complaints.map(|own| format!("{suffix}: {own}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    println!("{looked} pages looked at");
}

/// What is wrong with the page that is shown.
fn find_faults(browser: &Browser, axe: &str) -> Vec<String> {
    let headings = browser.run("return document.querySelectorAll('h1').length");
    let mut faults = Vec::new();
    if headings != json!(1) {
        faults.push(format!("{headings} headings"));
    }
    let wide = browser.overflow();
    faults.extend(wide.as_array().unwrap().iter().map(|own| own.as_str().unwrap().to_owned()));
    browser.run(axe);
    let found = browser.run_until(
        "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] }).then(r => done(r.violations), e => done(String(e)))",
    );
    let found = found.as_array().unwrap_or_else(|| panic!("axe-core failed: {found}"));
    faults.extend(found.iter().map(|one| format!("{}: {} {}", one["id"], one["help"], targets(one))));
    faults
}

fn targets(one: &Value) -> String {
    let nodes = one["nodes"].as_array().unwrap().iter().take(4);
    nodes.map(|node| format!("{} {}", node["target"], node["html"])).collect::<Vec<_>>().join("; ")
}

/// Approves the open request of a tool, and waits until the call ran.
fn approve(scene: &Scene, token: &str, tool: &str) {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let begun = Instant::now();
    let id = loop {
        let open = format!("/api/v1/approvals?state=open&tool={tool}");
        let open = send(&scene.console, "GET", &open, &headers, "").body;
        let open: Value = serde_json::from_str(&open).unwrap_or_else(|error| panic!("{error}: {open}"));
        if let Some(id) = open["requests"][0]["id"].as_str() {
            break id.to_owned();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody asked for {tool}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let path = format!("/api/v1/approvals/{id}/decision");
    let decided = send(&scene.console, "POST", &path, &headers, r#"{"word":"approve"}"#);
    assert_eq!(decided.status, 200, "{decided:?}");
    while !scene.paid().contains("2026-31 1250") {
        assert!(begun.elapsed() < Duration::from_secs(120), "{}", scene.paid());
        std::thread::sleep(Duration::from_millis(50));
    }
}
