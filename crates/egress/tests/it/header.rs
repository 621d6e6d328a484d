use ringfence_egress::{Method, Request};
use ringfence_policy::Code;

use crate::it::server::{Server, client, ok, scope};

#[test]
fn headers_that_route_or_frame_belong_to_the_client() {
    let request = || Request::post("https://one.acme.io/").unwrap();
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "connection",
        "Keep-Alive",
        "Proxy-Authorization",
        "proxy-connection",
        "UPGRADE",
        "te",
        "Trailer",
        "Expect",
    ] {
        let error = request().header(name, "x").unwrap_err();
        assert_eq!(error.code(), Code::InputInvalid, "{name}");
        assert!(error.to_string().contains(&format!("`{}`", name.to_lowercase())));
    }
    for (name, value) in [("x-y", "a\r\nhost: evil.net"), ("x y", "a"), ("x:y", "a"), ("", "a"), ("x", "a\0")]
    {
        assert_eq!(request().header(name, value).unwrap_err().code(), Code::InputInvalid, "{name:?}");
    }
}

#[test]
fn requests_that_this_client_does_not_send() {
    #[rustfmt::skip]
    let cases = [
        (Method::GET,     "ftp://one.acme.io/"),
        (Method::GET,     "file:///etc/passwd"),
        (Method::GET,     "wss://one.acme.io/"),
        (Method::GET,     "ws://one.acme.io/"),
        (Method::GET,     "https://user:word@one.acme.io/"),
        (Method::GET,     "https://user@one.acme.io/"),
        (Method::GET,     "https://"),
        (Method::GET,     "one.acme.io"),
        (Method::CONNECT, "https://one.acme.io/"),
        (Method::TRACE,   "https://one.acme.io/"),
    ];
    for (method, url) in cases {
        let error = Request::new(method, url).unwrap_err();
        assert_eq!(error.code(), Code::InputInvalid, "{url}");
        assert!(!error.to_string().contains("word"), "{error}");
    }
}

#[tokio::test]
async fn the_wire_carries_what_was_asked_and_no_more() {
    let server = Server::start("127.0.0.1", |_| ok("")).await;
    let url = format!("http://ONE.acme.io.:{}/a b?q=ü#part", server.port());
    let request = Request::post(&url).unwrap().header("X-Note", "hello").unwrap().body("content");
    let response = client().send(&scope(&["*.acme.io"], &["127.0.0.0/8"]), request).await.unwrap();
    assert_eq!(response.status(), 200);
    let seen = server.seen();
    let mut lines = seen[0].lines();
    assert_eq!(lines.next(), Some("POST /a%20b?q=%C3%BC HTTP/1.1"));
    let mut headers: Vec<_> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    headers.sort_unstable();
    let host = format!("host: one.acme.io:{}", server.port());
    let agent = format!("user-agent: ringfence/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        headers,
        [
            "accept-encoding: gzip, deflate, br",
            "accept: */*",
            "connection: close",
            "content-length: 7",
            &host,
            &agent,
            "x-note: hello",
        ]
    );
    assert_eq!(lines.next(), Some("content"));
}
