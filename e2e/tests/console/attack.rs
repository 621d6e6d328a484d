//! Pages of others, stolen and planted sessions, frames and forms: everything that a browser can be talked into.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::console::approval::form_of;
use crate::console::browser::Browser;
use crate::console::scene::Scene;
use crate::console::wire::send;

/// How long a test waits for what is certain to happen. Only a broken build waits that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A page of somebody else, on another port of this machine.
fn hostile_page(page: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let _read = stream.read(&mut request);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                page.len()
            );
            let _sent = stream.write_all(format!("{head}{page}").as_bytes());
        }
    });
    address
}

/// An open request and somebody who could decide it.
fn waiting(scene: &Scene) -> (String, mpsc::Receiver<()>) {
    let call = scene.agent().begin("pay", &json!({ "invoice": "X", "amount": 1, "memo": "" }));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _answer = call.join();
        let _nobody = sender.send(());
    });
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let listed = scene.on_store("approvals", &["list", "--json"]);
        if let Some(line) = listed.lines().next() {
            let filed: serde_json::Value = serde_json::from_str(line).unwrap();
            return (filed["id"].as_str().unwrap().to_owned(), receiver);
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("no request was filed");
}

#[test]
fn no_other_page_decides_anything() {
    let scene = Scene::start();
    let ada = scene.person("ada", "approver");
    let (id, done) = waiting(&scene);
    let browser = scene.browser_of(&ada);
    let target = scene.url(&format!("/approvals/{id}/decide"));
    // A form of another port has the same site, so that the cookie comes along; and it may even guess at the token.
    let page = format!(
        "<form id=f method=post action=\"{target}\"><input name=word value=approve><input name=_form value=guess></form>\
         <script>f.submit()</script>"
    );
    let address = hostile_page(page);
    browser.go(&format!("http://{address}/"));
    browser.sees("not known");
    // Nor by script, with or without the cookie.
    let fetching = format!(
        "<script>fetch({target:?}, {{ method: 'POST', credentials: 'include', mode: 'no-cors', \
         headers: {{ 'Content-Type': 'application/x-www-form-urlencoded' }}, body: 'word=approve&_form=x' }})\
         .then(() => document.title = 'sent', () => document.title = 'sent')</script>"
    );
    let address = hostile_page(fetching);
    browser.go(&format!("http://{address}/"));
    browser.until("document.title === 'sent'");
    // Nor is anything read across origins.
    let url = scene.url("/approvals");
    let read = browser.run_until(&format!(
        "const done = arguments[0]; fetch({url:?}, {{ credentials: 'include' }}).then(r => r.text()).then(done, () => done('refused'))"
    ));
    assert_eq!(read, json!("refused"));
    assert!(done.try_recv().is_err(), "nobody has decided");
    assert_eq!(scene.paid(), "");

    // A form without its token, with another session's, from nowhere, or of a strange type is refused.
    let cookie = scene.cookie(&ada);
    let other = scene.cookie(&scene.person("bob", "approver"));
    let theirs = form_of(&scene.get("/approvals", &other).body);
    let path = format!("/approvals/{id}/decide");
    let refused = [
        scene.post(&path, "word=approve", &[("Cookie", &cookie)]),
        scene.post(&path, &format!("word=approve&_form={theirs}"), &[("Cookie", &cookie)]),
        scene.post(&path, "word=approve&_form=", &[("Cookie", &cookie)]),
    ];
    for answer in refused {
        assert_eq!(answer.status, 403, "{answer:?}");
    }
    let own = form_of(&scene.get("/approvals", &cookie).body);
    let form = format!("word=approve&_form={own}");
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    for headers in [
        vec![("Cookie", cookie.as_str()), kind],
        vec![("Cookie", cookie.as_str()), kind, ("Origin", "null")],
        vec![("Cookie", cookie.as_str()), kind, ("Origin", "http://evil.example")],
        vec![("Cookie", cookie.as_str()), kind, ("Origin", "https://127.0.0.1")],
    ] {
        let answer = send(&scene.console, "POST", &path, &headers, &form);
        assert_eq!(answer.status, 403, "{headers:?}: {answer:?}");
    }
    assert_eq!(scene.paid(), "");
    // With its own token from its own origin it is taken: the tests above failed for what they were to fail for.
    let answer = scene.post(&path, &form, &[("Cookie", &cookie)]);
    assert_eq!(answer.status, 303, "{answer:?}");
    done.recv_timeout(PATIENCE).unwrap();
    assert_eq!(scene.paid(), "X 1\n");
}

#[test]
fn no_page_is_framed_sniffed_or_kept() {
    let scene = Scene::start();
    let ada = scene.person("ada", "admin");
    let cookie = scene.cookie(&ada);
    for path in [
        "/approvals",
        "/activity",
        "/tools",
        "/policy",
        "/idempotency",
        "/audit",
        "/health",
        "/login",
        "/nowhere",
    ] {
        let answer = scene.get(path, &cookie);
        let policy = answer.header("content-security-policy").unwrap_or_else(|| panic!("{path}: {answer:?}"));
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert!(
            !answer.body.contains("<script>")
                && !answer.body.contains(" style=")
                && !answer.body.contains(" onclick="),
            "{path}"
        );
    }
    let page = format!(
        "<iframe id=frame src=\"{}\"></iframe><script>frame.onload = () => document.title = 'loaded'</script>",
        scene.url("/login")
    );
    let browser = Browser::start((1280, 900), false);
    browser.go(&format!("http://{}/", hostile_page(page)));
    browser.until("document.title === 'loaded'");
    let complaints = browser.complaints().join("\n");
    assert!(complaints.contains("frame-ancestors") || complaints.contains("X-Frame-Options"), "{complaints}");
}

#[test]
fn a_name_of_somebody_else_that_leads_here_is_refused() {
    let scene = Scene::start();
    let ada = scene.person("ada", "admin");
    let cookie = scene.cookie(&ada);
    let port = scene.console.split(':').nth(1).unwrap();
    for host in
        ["evil.example".to_owned(), format!("evil.example:{port}"), format!("127.0.0.1.evil.example:{port}")]
    {
        for path in ["/login", "/approvals", "/api/v1/me", "/metrics", "/live"] {
            let answer = send(&scene.console, "GET", path, &[("Host", &host), ("Cookie", &cookie)], "");
            assert_eq!(answer.status, 403, "{host}{path}");
        }
    }
    let browser = Browser::start((1280, 900), false);
    browser.go(&format!("http://evil.example:{port}/login"));
    browser.sees("not known");
}

#[test]
fn a_session_that_somebody_planted_or_stole_is_worth_nothing_after_the_login() {
    let scene = Scene::start();
    let ada = scene.person("ada", "approver");
    let browser = Browser::start((1280, 900), false);
    browser.go(&scene.url("/login"));
    browser.set_cookie("ringfence", "planted-by-somebody");
    scene.enter(&browser, &ada);
    let cookies = browser.cookies();
    let own = cookies.iter().find(|own| own["name"] == "ringfence").unwrap();
    assert_ne!(own["value"], "planted-by-somebody");
    assert_eq!(own["httpOnly"], true, "{own}");
    assert_eq!(own["sameSite"], "Strict", "{own}");
    assert_eq!(browser.run("return document.cookie"), json!(""));
    assert_eq!(scene.get("/approvals", "ringfence=planted-by-somebody").status, 303);

    // A second login ends the first session of that browser; a logout ends the second.
    let first = format!("ringfence={}", own["value"].as_str().unwrap());
    assert_eq!(scene.get("/approvals", &first).status, 200);
    scene.enter(&browser, &ada);
    assert_eq!(scene.get("/approvals", &first).status, 303, "a login begins a session of a new name");
    let cookies = browser.cookies();
    let own = cookies.iter().find(|own| own["name"] == "ringfence").unwrap();
    let second = format!("ringfence={}", own["value"].as_str().unwrap());
    browser.click(".who button");
    browser.until("location.pathname === '/login'");
    assert_eq!(scene.get("/approvals", &second).status, 303);

    // Whoever is revoked is out at once.
    let cookie = scene.cookie(&ada);
    assert_eq!(scene.get("/approvals", &cookie).status, 200);
    scene.on_store("approver", &["revoke", "ada"]);
    assert_eq!(scene.get("/approvals", &cookie).status, 303);
    assert_eq!(scene.post("/login", &format!("token={ada}"), &[]).status, 403);
}

#[test]
fn who_comes_back_is_somebody_else_and_a_logout_ends_the_stream() {
    let scene = Scene::start();
    let eve = scene.person("eve", "viewer");
    let cookie = scene.cookie(&eve);
    // Nobody asks for anything between the two.
    scene.on_store("approver", &["revoke", "eve"]);
    let eve = scene.person("eve", "admin");
    assert_eq!(scene.get("/approvals", &cookie).status, 303, "an old session is not a new person's");

    for ends in ["logout", "revoke"] {
        let cookie = scene.cookie(&eve);
        let mut stream = std::net::TcpStream::connect(&scene.console).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, path) = (&scene.console, "/live?from=0");
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut piece = [0; 512];
        assert!(stream.read(&mut piece).unwrap() > 0);
        if ends == "logout" {
            let form = form_of(&scene.get("/approvals", &cookie).body);
            assert_eq!(scene.post("/logout", &format!("_form={form}"), &[("Cookie", &cookie)]).status, 303);
        } else {
            scene.on_store("approver", &["revoke", "eve"]);
        }
        // A stream that goes on shows every few seconds that it is alive.
        let end = Instant::now() + PATIENCE;
        while stream.read(&mut piece).unwrap_or_else(|error| panic!("after {ends}: {error}")) > 0 {
            assert!(Instant::now() < end, "after {ends} the stream goes on");
        }
    }
}

#[test]
fn a_login_takes_little_and_waits_for_nobody() {
    let scene = Scene::start();
    let large = format!("token={}", "x".repeat(20_000));
    assert_eq!(scene.post("/login", &large, &[]).status, 400);
    // Whoever begins a form and does not go on is not waited for.
    let mut slow = std::net::TcpStream::connect(&scene.console).unwrap();
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    let host = &scene.console;
    let head = format!(
        "POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: 100\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\nt"
    );
    slow.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 64];
    let count = slow.read(&mut answer).unwrap();
    assert!(
        String::from_utf8_lossy(&answer[..count]).contains(" 400 "),
        "{:?}",
        String::from_utf8_lossy(&answer)
    );
}

#[test]
fn guessing_is_slow() {
    let scene = Scene::start();
    let guessed = |guess: usize| scene.post("/login", &format!("token=rfa_{guess:064}"), &[]).status;
    assert_eq!(guessed(0), 403);
    // Now and then one more is let in, so a slow machine needs more guesses until both are refused in a row.
    let is_slowed = |guess: usize| {
        let bearer =
            || send(&scene.console, "GET", "/api/v1/me", &[("Authorization", "Bearer rfa_guess")], "");
        guessed(guess) == 429 && bearer().status == 429
    };
    assert!((1..400).any(is_slowed));
}
