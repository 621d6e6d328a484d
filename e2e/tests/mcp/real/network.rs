//! mcp-server-fetch: the hosts that are granted, and no others.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::same;
use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::{Scene, python};

/// A small web server on loopback: `/robots.txt` is absent, `/away` sends to `away`, everything else is a page.
struct Web {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Web {
    fn start(away: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        // It ends with the tests.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let _closed = serve(stream, away);
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn serve(mut stream: TcpStream, away: u16) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    let mut request = [0; 4096];
    let count = stream.read(&mut request)?;
    let request = String::from_utf8_lossy(&request[..count]).into_owned();
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    let (status, extra, body) = match path {
        "/robots.txt" => ("404 Not Found", String::new(), "no"),
        "/away" => ("302 Found", format!("Location: http://127.0.0.1:{away}/page\r\n"), ""),
        _ => (
            "200 OK",
            String::new(),
            "<html><head><title>Fences</title></head><body><h1>Fences</h1><p>They stand.</p></body></html>",
        ),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The example, with one loopback address in place of its hosts.
fn scene(port: u16) -> Scene {
    let scene = Scene::example("fetch", |_| python("py", "mcp-server-fetch", &["--allow-private-ips"]));
    let text = std::fs::read_to_string(scene.policy_file()).unwrap();
    let network = r#"network = { allow = ["docs.python.org", "*.wikipedia.org"] }"#;
    assert!(text.contains(network), "{text}");
    let (text, _examples) = text.split_once("[[personality.example]]").unwrap();
    let here = format!("network = {{ allow = [\"127.0.0.1:{port}\"], private = [\"127.0.0.1/32\"] }}");
    scene.policy(&text.replace(network, &here));
    scene
}

#[test]
fn every_tool_works_inside() {
    let web = Web::start(0);
    let mut scene = scene(web.port);
    // Where it finds Node, it reads pages with it; inside there is none.
    scene.variables.push(("PATH", "/nonexistent".to_owned()));
    let calls = [
        same("fetch", json!({"url": web.url("/page")})),
        same("fetch", json!({"url": web.url("/page"), "raw": true, "max_length": 20, "start_index": 5})),
    ];
    super::compare(&scene, |_| {}, &calls);
    // Two requests a call, with `/robots.txt`, on both sides.
    assert_eq!(web.asked(), 8);
}

#[test]
fn a_prompt_that_fetches_is_fenced_in_too() {
    let (web, other) = (Web::start(0), Web::start(0));
    let scene = scene(web.port);
    let mut client = Client::connect(scene.wrapped(), LEGACY, Answers::default());
    let prompt =
        client.ask("prompts/get", json!({"name": "fetch", "arguments": {"url": web.url("/page")}})).unwrap();
    assert!(prompt.to_string().contains("They stand."), "{prompt}");
    let refused =
        client.ask("prompts/get", json!({"name": "fetch", "arguments": {"url": other.url("/page")}}));
    assert!(!format!("{refused:?}").contains("They stand."), "{refused:?}");
    assert_eq!(other.asked(), 0);
}

#[test]
fn hosts_that_are_not_granted_are_not_reached() {
    let other = Web::start(0);
    let web = Web::start(other.port);
    let scene = scene(web.port);
    let mut client = Client::connect(scene.wrapped(), LEGACY, Answers::default());
    for url in [
        other.url("/page"),
        web.url("/away"),
        format!("http://localhost:{}/page", other.port),
        format!("http://[::1]:{}/page", other.port),
        format!("http://2130706433:{}/page", other.port),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://example.com/".to_owned(),
    ] {
        let reply = client.call("fetch", json!({"url": url}));
        let failed = reply.as_ref().map_or(true, |result| result["isError"] == true);
        assert!(failed, "{url}: {reply:?}");
    }
    assert_eq!(other.asked(), 0, "somebody reached the other server");
    assert!(web.asked() > 0, "the redirect was never followed so far");
    // And without a fence the redirect does lead there.
    let mut alone = Client::connect(scene.direct(), LEGACY, Answers::default());
    assert!(alone.text("fetch", json!({"url": web.url("/away")})).contains("They stand."));
    assert!(other.asked() > 0);
}
