//! Text of others in every field that shows some: it stays text, and what is hidden in it is seen.

use serde_json::json;

use crate::console::scene::Scene;

/// What breaks out where it can: of elements, attributes, scripts, comments, styles and templates.
const MARKUP: &str =
    "\"><script>window.owned=1</script><img src=x onerror=\"window.owned=1\">'-->{{7*7}}</textarea></title>";
/// What cannot be seen, or turns what can.
const HIDDEN: &str = "pay\u{202e}gpj.exe\u{2066}\u{e0041}\u{200b}end";

#[test]
fn foreign_text_is_text_everywhere() {
    let scene = Scene::start();
    let ada = scene.person("ada", "admin");
    scene.describe(&format!("Describes {MARKUP} and {HIDDEN}"));
    let agent = scene.agent();
    agent.tools();
    let foreign = format!("{MARKUP} {HIDDEN}");
    agent.call("note", &json!({ "text": foreign }));
    agent.call("note", &json!({ "text": foreign, "more": MARKUP }));
    agent.call(&foreign, &json!({ "text": foreign }));
    agent.call("call_home", &json!({}));
    let waiting = agent.begin("pay", &json!({ "invoice": foreign, "amount": 1, "memo": foreign }));

    let browser = scene.browser_of(&ada);
    browser.until("document.querySelector('a.request')");
    let mut pages = vec![
        "/approvals".to_owned(),
        "/activity".to_owned(),
        "/tools".to_owned(),
        "/tools/definition?server=clerk&key=tool:describe".to_owned(),
        format!("/policy?tool={0}&surface=host&what={0}", encoded(&foreign)),
        "/idempotency".to_owned(),
        format!("/audit?text={}", encoded("window.owned")),
        format!("/activity?tool={0}&run={0}", encoded(&foreign)),
        format!("/login?next={}", encoded(&format!("/{foreign}"))),
        format!("/nowhere/{}", encoded(&foreign)),
        "/health".to_owned(),
        "/runs".to_owned(),
        "/sessions".to_owned(),
        "/charts".to_owned(),
        format!("/runs?text={0}&agent={0}&session={0}", encoded(&foreign)),
        format!("/people?text={}", encoded(&foreign)),
    ];
    browser.go(&scene.url("/approvals"));
    pages.extend(links(&browser, "a.request"));
    browser.go(&scene.url("/activity"));
    pages.extend(links(&browser, "#rows a[href^='/calls/']"));
    pages.extend(links(&browser, "#rows a[href^='/runs/']"));
    pages.extend(links(&browser, "#rows a[href^='/entries/']"));
    pages.sort();
    pages.dedup();
    assert!(pages.iter().any(|page| page.starts_with("/calls/")), "{pages:?}");
    assert!(pages.iter().any(|page| page.starts_with("/runs/")), "{pages:?}");
    let mut seen = 0;
    for page in &pages {
        let page = if page.starts_with("/calls/") { format!("{page}?raw=show") } else { page.clone() };
        browser.go(&scene.url(&page));
        assert_eq!(browser.run("return window.owned === undefined"), json!(true), "{page}");
        assert_eq!(
            browser.run("return document.querySelectorAll('img[src=\"x\"], script:not([src])').length"),
            json!(0),
            "{page}"
        );
        let html = browser.run("return document.documentElement.outerHTML").as_str().unwrap().to_owned();
        for hidden in ['\u{202e}', '\u{2066}', '\u{e0041}', '\u{200b}'] {
            assert!(!html.contains(hidden), "{page} hides {hidden:?}");
        }
        seen += usize::from(html.contains("window.owned=1"));
    }
    assert!(seen >= 6, "the text was to be seen on many pages, and was on {seen}");
    // The live feed shows it, too.
    browser.go(&scene.url("/activity"));
    agent.call("note", &json!({ "text": foreign }));
    agent.call(&foreign, &json!({}));
    browser.until("document.querySelector('tr.fresh')");
    assert_eq!(browser.run("return window.owned === undefined"), json!(true));
    assert_eq!(browser.run("return document.querySelectorAll('img[src=\"x\"]').length"), json!(0));
    let complaints = browser.complaints();
    let violations: Vec<_> = complaints
        .iter()
        .filter(|own| own.contains("Content Security Policy") || own.contains("TrustedHTML"))
        .collect();
    assert!(violations.is_empty(), "{violations:?}");
    drop(scene);
    let _ended = waiting.join();
}

/// The addresses of links, without the host.
fn links(browser: &crate::console::browser::Browser, selector: &str) -> Vec<String> {
    let script =
        format!("return [...document.querySelectorAll({selector:?})].map(a => a.getAttribute('href'))");
    let found = browser.run(&script);
    found.as_array().unwrap().iter().map(|own| own.as_str().unwrap().to_owned()).collect()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
