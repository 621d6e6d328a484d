use ringfence_egress::{Method, Request, Response, StatusCode};
use ringfence_policy::Code;

use crate::it::server::{Server, client, ok, redirect, scope};

async fn send(allow: &[&str], request: Request) -> Result<Response, ringfence_egress::EgressError> {
    client().send(&scope(allow, &["127.0.0.0/8"]), request).await
}

#[tokio::test]
async fn chains_are_followed_inside_the_grant_only() {
    let last = Server::start("127.0.0.2", |_| ok("two")).await;
    let two = format!("http://two.acme.io:{}/", last.port());
    let literal = format!("http://127.0.0.2:{}/", last.port());
    let first = Server::start("127.0.0.1", move |request| match request.split(' ').nth(1).unwrap() {
        "/same" => redirect("302 Found", "/end"),
        "/relative" => redirect("307 Temporary Redirect", "end?x"),
        "/two" => redirect("301 Moved Permanently", &two),
        "/literal" => redirect("302 Found", &literal),
        "/loopback" => redirect("302 Found", "http://localhost:22/"),
        "/metadata" => redirect("302 Found", "http://0xa9fea9fe/latest/"),
        "/file" => redirect("302 Found", "file:///etc/shadow"),
        "/script" => redirect("302 Found", "javascript:alert(1)"),
        "/slashes" => redirect("302 Found", "//evil.net/x"),
        "/backslashes" => redirect("302 Found", "\\\\evil.net\\x"),
        "/user" => redirect("302 Found", "http://a:b@one.acme.io/"),
        "/broken" => redirect("302 Found", "http://[::1/"),
        "/two-places" => redirect("302 Found", "/end\r\nlocation: /other"),
        "/loop" => redirect("302 Found", "/loop"),
        "/nowhere" => b"HTTP/1.1 302 Found\r\ncontent-length: 4\r\n\r\nstay".to_vec(),
        _ => ok("end"),
    })
    .await;
    #[rustfmt::skip]
    let cases = [
        ("/same",         Ok("end")),
        ("/relative",     Ok("end")),
        ("/two",          Ok("two")),
        ("/nowhere",      Ok("stay")),
        ("/literal",      Err(Code::HostNotAllowed)),
        ("/loopback",     Err(Code::HostNotAllowed)),
        ("/metadata",     Err(Code::HostNotAllowed)),
        ("/file",         Err(Code::HostNotAllowed)),
        ("/script",       Err(Code::HostNotAllowed)),
        ("/slashes",      Err(Code::HostNotAllowed)),
        ("/backslashes",  Err(Code::HostNotAllowed)),
        ("/user",         Err(Code::HostNotAllowed)),
        ("/broken",       Err(Code::HostNotAllowed)),
        ("/two-places",   Err(Code::HostNotAllowed)),
        ("/loop",         Err(Code::LimitExceeded)),
    ];
    for (path, expected) in cases {
        let request = Request::get(&format!("http://one.acme.io:{}{path}", first.port())).unwrap();
        let got = match send(&["*.acme.io"], request).await {
            Ok(response) => Ok(response.text().await.unwrap()),
            Err(error) => Err(error.code()),
        };
        assert_eq!(got.as_deref().map_err(|code| *code), expected, "{path}");
    }
    assert_eq!(last.seen().len(), 1);
    assert_eq!(first.seen().iter().filter(|request| request.contains("/loop ")).count(), 11);
}

#[tokio::test]
async fn a_redirect_that_is_kept_is_a_response_like_others() {
    let server = Server::start("127.0.0.1", |request| match request.split(' ').nth(1).unwrap() {
        "/metadata" => redirect("302 Found", "http://0xa9fea9fe/latest/"),
        "/same" => redirect("307 Temporary Redirect", "/end"),
        _ => ok("end"),
    })
    .await;
    for (path, status, location) in [
        ("/same", 307, Some("/end")),
        ("/metadata", 302, Some("http://0xa9fea9fe/latest/")),
        ("/end", 200, None),
    ] {
        let request = Request::get(&format!("http://one.acme.io:{}{path}", server.port())).unwrap();
        let response = send(&["*.acme.io"], request.keeping_redirects()).await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{path}");
        let found = response.headers().get("location").map(|location| location.to_str().unwrap());
        assert_eq!(found, location, "{path}");
    }
    assert_eq!(server.seen().len(), 3, "nothing was followed");
    // The first request is judged as any other.
    let request = Request::get("http://evil.net/").unwrap().keeping_redirects();
    assert_eq!(send(&["*.acme.io"], request).await.unwrap_err().code(), Code::HostNotAllowed);
}

#[tokio::test]
async fn headers_beyond_the_safe_list_stay_at_their_origin() {
    let last = Server::start("127.0.0.2", |_| ok("two")).await;
    let two = format!("http://two.acme.io:{}/", last.port());
    let first = Server::start("127.0.0.1", move |request| match request.split(' ').nth(1).unwrap() {
        "/away" => redirect("302 Found", &two),
        "/near" => redirect("302 Found", "/end"),
        _ => ok("one"),
    })
    .await;
    for path in ["away", "near"] {
        let request = Request::post(&format!("http://one.acme.io:{}/{path}", first.port()))
            .and_then(|request| request.header("authorization", "Bearer secret"))
            .and_then(|request| request.header("cookie", "id=secret"))
            .and_then(|request| request.header("x-api-key", "secret"))
            .and_then(|request| request.header("accept-language", "de"))
            .and_then(|request| request.json("content"));
        let _response = send(&["*.acme.io"], request.unwrap()).await.unwrap();
    }
    let away = last.seen().remove(0);
    assert!(away.starts_with("GET / HTTP/1.1\r\n") && away.contains("accept-language: de"), "{away}");
    assert!(!away.contains("secret") && !away.contains("content"), "{away}");
    let near = first.seen().pop().unwrap();
    assert!(near.starts_with("GET /end HTTP/1.1\r\n") && near.contains("Bearer secret"), "{near}");
    assert!(!near.contains("content-type") && !near.ends_with("content"), "{near}");
}

#[test]
fn methods_and_bodies_follow_the_status() {
    #[rustfmt::skip]
    let cases = [
        // status  method             location                  then
        (301, Method::POST,   "/next",                   Some((Method::GET, false))),
        (302, Method::POST,   "https://two.acme.io/",    Some((Method::GET, false))),
        (302, Method::PUT,    "/next",                   Some((Method::PUT, true))),
        (302, Method::PUT,    "https://two.acme.io/",    None),
        (303, Method::PUT,    "https://two.acme.io/",    Some((Method::GET, false))),
        (307, Method::POST,   "/next",                   Some((Method::POST, true))),
        (307, Method::POST,   "https://two.acme.io/",    None),
        (308, Method::POST,   "https://one.acme.io:8/",  None),
        (308, Method::POST,   "https://ONE.acme.io/x",   Some((Method::POST, true))),
        (307, Method::GET,    "http://one.acme.io/",     None),
        (302, Method::GET,    "HTTP:\\one.acme.io",      None),
        (302, Method::GET,    "ws://one.acme.io/",       None),
        (302, Method::GET,    "data:text/plain,x",       None),
    ];
    for (status, method, location, then) in cases {
        let request = Request::new(method.clone(), "https://one.acme.io/first").unwrap();
        let request = if method == Method::GET { request } else { request.json("x").unwrap() };
        let next = request.redirected(StatusCode::from_u16(status).unwrap(), location);
        let got = next
            .as_ref()
            .ok()
            .map(|next| (next.method().clone(), next.headers().contains_key("content-type")));
        assert_eq!(got, then, "{status} {method} {location}");
        if let Err(error) = next {
            assert_eq!(error.code(), Code::HostNotAllowed, "{location}");
        }
    }
}
