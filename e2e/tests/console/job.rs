//! Ten jobs of somebody who works in the console, with a hundred thousand records, each by keyboard in at most six steps.
//!
//! A step is a key, a text that is typed, or the answer to a question of the browser.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::console::browser::Browser;
use crate::console::history::{self, CALLS, SOUGHT, YESTERDAY};
use crate::console::page::lively_with;
use crate::console::scene::{Scene, Setting};
use crate::durable::postgres;

const ENTER: &str = "\u{E007}";
const ESCAPE: &str = "\u{E00C}";
const MOST: usize = 6;

/// A job that somebody does.
struct Job<'a> {
    browser: &'a Browser,
    what: &'static str,
    steps: Vec<String>,
}

impl<'a> Job<'a> {
    /// Begins on the page of approvals, with nothing in focus.
    fn begin(scene: &Scene, browser: &'a Browser, what: &'static str) -> Self {
        browser.go(&scene.url("/approvals"));
        browser.until("document.readyState === 'complete'");
        Self { browser, what, steps: Vec::new() }
    }

    /// Presses a key, and waits until a script says that it did what it should.
    fn key(&mut self, key: &str, until: &str) {
        self.steps.push(match key {
            ENTER => "Enter".to_owned(),
            ESCAPE => "Escape".to_owned(),
            other => other.to_owned(),
        });
        self.browser.press(key);
        self.browser.until(&format!("document.readyState === 'complete' && ({until})"));
    }

    /// Types a text into what has the focus.
    fn text(&mut self, text: &str) {
        self.steps.push(format!("`{text}`"));
        for character in text.chars() {
            self.browser.press(&character.to_string());
        }
        let typed = format!("document.activeElement.value.endsWith({})", json!(text));
        self.browser.until(&typed);
    }

    fn done(self) {
        println!("{}: {} steps: {}", self.what, self.steps.len(), self.steps.join(" "));
        assert!(self.steps.len() <= MOST, "{}: {:?}", self.what, self.steps);
    }
}

/// Waits until the whole log is counted.
pub(crate) fn counted(scene: &Scene, token: &str) {
    let (cookie, begun) = (scene.cookie(token), Instant::now());
    while scene.get("/charts", &cookie).body.contains("still being counted") {
        assert!(begun.elapsed() < Duration::from_secs(120), "the log is never counted");
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("counted after {:.1?}", begun.elapsed());
}

fn at(path: &str) -> String {
    format!("location.pathname === {}", json!(path))
}

const IN_FIELD: &str = "document.activeElement.matches('input')";

#[test]
fn ten_jobs_take_at_most_six_steps_each() {
    do_ten_jobs(&Scene::start_on(history::fill));
}

#[test]
fn ten_jobs_take_at_most_six_steps_each_on_postgresql() {
    // With all tests: it takes minutes, and the pages are the same.
    if ringfence_e2e::Tier::current().pick(true, true, false) {
        return;
    }
    let database = Some(postgres::other_url("console_jobs"));
    do_ten_jobs(&Scene::start_with(Setting { database, ..Setting::default() }, history::fill));
}

fn do_ten_jobs(scene: &Scene) {
    let (ada, _) = (scene.person("ada", "admin"), scene.person("bob", "approver"));
    let browser = scene.browser_of(&ada);
    counted(scene, &ada);

    let mut job = Job::begin(scene, &browser, "find yesterday's refused run by half its name");
    job.key("3", &at("/runs"));
    job.key("r", "location.search.includes('result=refused')");
    job.key("/", IN_FIELD);
    job.text("reconc");
    job.key(ENTER, "location.search.includes('text=reconc')");
    browser.sees(YESTERDAY);
    assert!(!browser.text().contains("nightly-reconciliation-0418"), "that run was not refused anything");
    job.key("o", &at(&format!("/runs/{YESTERDAY}")));
    job.done();

    let calls: Vec<_> = (1..=5)
        .map(|invoice| {
            let arguments =
                json!({ "invoice": format!("2026-{invoice}"), "amount": invoice * 10, "memo": "" });
            scene.agent().begin("pay", &arguments)
        })
        .collect();
    browser.go(&scene.url("/approvals"));
    browser.until("document.querySelectorAll('[name=pick]').length === 5");
    let mut job = Job::begin(scene, &browser, "approve three of five payments");
    job.key("1", "document.querySelectorAll('[name=pick]').length === 5");
    for count in 1..=3 {
        job.key("x", &format!("document.querySelectorAll('[name=pick]:checked').length === {count}"));
    }
    let wanted = browser.run("return [...document.querySelectorAll('[name=pick]:checked')].map(own => own.closest('article').innerText)");
    job.key("a", "document.activeElement.value === 'approve'");
    assert_eq!(scene.paid(), "", "no key decides by itself");
    job.key(ENTER, "document.querySelector('#decided')");
    browser.sees("3 of 3 approved");
    job.done();
    let begun = Instant::now();
    while scene.paid().lines().count() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", scene.paid());
        std::thread::sleep(Duration::from_millis(50));
    }
    for line in scene.paid().lines() {
        let invoice = line.split(' ').next().unwrap();
        assert!(
            wanted.as_array().unwrap().iter().any(|own| own.as_str().unwrap().contains(invoice)),
            "{line}: {wanted}"
        );
    }

    let mut job = Job::begin(scene, &browser, "deny a request with a reason");
    job.key("1", "document.querySelectorAll('[name=pick]').length === 2");
    job.key("o", "document.querySelector('#reason')");
    job.key("d", "document.activeElement.id === 'reason'");
    job.text("not this month");
    job.key(ENTER, "document.querySelector('#state')?.innerText.trim() === 'denied'");
    job.done();
    browser.sees("not this month");

    let mut job = Job::begin(scene, &browser, "export the week as CSV");
    job.key("2", &at("/activity"));
    job.key("w", "location.search.includes('since=7d')");
    job.key("e", "document.activeElement.innerText === 'CSV'");
    job.key(ENTER, "true");
    job.done();
    let begun = Instant::now();
    while !scene.on_store("audit", &["search", "--kind", "console"]).contains("since=7d") {
        assert!(begun.elapsed() < Duration::from_secs(60), "no export was kept in the audit");
        std::thread::sleep(Duration::from_millis(100));
    }
    let csv = scene.get("/activity/export.csv?since=7d", &scene.cookie(&ada));
    let week = usize::try_from(CALLS / 6).unwrap();
    assert!((week - 100..week + 100).contains(&csv.body.lines().count()), "{}", csv.body.lines().count());

    let mut job = Job::begin(scene, &browser, "see what grew");
    job.key("4", &at("/charts"));
    job.key("w", "location.search.includes('range=7d')");
    job.done();
    let changed = browser.run("return document.querySelector('#changes').innerText");
    assert!(
        changed.as_str().unwrap().contains("TOOL_UNKNOWN") || changed.as_str().unwrap().contains("UNKNOWN"),
        "{changed}"
    );

    let mut job = Job::begin(scene, &browser, "find a session");
    job.key("s", &at("/sessions"));
    job.key("/", IN_FIELD);
    job.text("acme");
    job.key(ENTER, "location.search.includes('text=acme')");
    job.key("o", &format!("location.search === '?session={SOUGHT}'"));
    job.done();

    let mut job = Job::begin(scene, &browser, "find all refusals of one code");
    job.key("2", &at("/activity"));
    job.key("c", "document.activeElement.id === 'code'");
    job.text("TOOL_");
    job.key(ENTER, "location.search.includes('code=TOOL_')");
    job.done();
    let codes = browser
        .run("return [...document.querySelectorAll('#rows td.result code')].map(own => own.innerText)");
    let codes = codes.as_array().unwrap();
    assert!(
        codes.len() >= 100 && codes.iter().all(|code| code.as_str().unwrap().starts_with("TOOL_")),
        "{codes:?}"
    );

    let mut job = Job::begin(scene, &browser, "revoke somebody");
    job.key("9", &at("/people"));
    job.key("/", IN_FIELD);
    job.text("bob");
    job.key(ENTER, "document.activeElement.innerText.startsWith('Revoke')");
    job.steps.push("Enter".to_owned());
    browser.press(ENTER);
    job.steps.push("Enter".to_owned());
    browser.accept();
    browser.until("location.pathname === '/people' && location.search === ''");
    job.done();
    let listed = scene.get("/api/v1/people?text=bob", &scene.cookie(&ada)).body;
    assert!(listed.contains("\"revoked_ms\":1"), "{listed}");

    let mut job = Job::begin(scene, &browser, "open help");
    job.key("?", "document.querySelector('#help').open");
    job.done();
    browser.press(ESCAPE);
    browser.until("!document.querySelector('#help').open");

    let mut job = Job::begin(scene, &browser, "see health");
    job.key("0", &at("/health"));
    job.done();
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    scene.stop();
    for call in calls {
        let _ended = call.join();
    }
}

#[test]
fn pages_are_answered_quickly_with_a_hundred_thousand_records() {
    let (scene, ada, _waiting) = lively_with(Setting::default(), history::fill);
    let cookie = scene.cookie(&ada);
    counted(&scene, &ada);
    let paths = [
        "/approvals",
        "/activity",
        "/activity?since=7d",
        "/activity?code=*",
        "/activity?run=nightly-rec",
        "/activity?run=batch-&tool=look",
        "/runs",
        "/runs?text=reconc&result=refused",
        "/sessions?text=acme",
        "/charts?range=30d",
        "/audit",
        "/people",
        "/api/v1/names?field=run&text=led",
    ];
    let mut all = Vec::new();
    for path in paths {
        let mut times: Vec<Duration> = (0..20)
            .map(|_| {
                let begun = Instant::now();
                let answer = scene.get(path, &cookie);
                assert_eq!(answer.status, 200, "{path}: {answer:?}");
                begun.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("{path}: median {:.1?}, p95 {:.1?}", times[10], times[18]);
        all.extend(times);
    }
    all.sort_unstable();
    let p95 = all[all.len() * 95 / 100];
    println!("all pages: p95 {p95:.1?}");
    // Debug builds of a busy machine; a release build is many times faster.
    assert!(p95 < Duration::from_secs(2), "{p95:?}");
}
