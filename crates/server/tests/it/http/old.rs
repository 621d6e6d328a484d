//! The two endpoints of 2024-11-05.

use super::client::legacy;
use super::house::{ALICE, House};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_says_where_to_post_and_carries_the_answers() {
    let house = House::new().await;
    let client = house.client(ALICE);
    let mut stream = client.open("GET", "/sse", "").await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let endpoint = stream.event().await.unwrap();
    assert_eq!(endpoint.kind.as_deref(), Some("endpoint"));
    let path = endpoint.data;
    let id = path.strip_prefix("/messages?session=").unwrap().to_owned();

    let init = legacy(1, "initialize", r#""protocolVersion":"2024-11-05""#);
    assert_eq!(client.send("POST", &path, &init).await.status, 202);
    assert_eq!(stream.message().await["result"]["protocolVersion"], "2024-11-05");
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    assert_eq!(client.send("POST", &path, note).await.status, 202);
    assert_eq!(stream.message().await["method"], "notifications/heard");
    assert_eq!(client.send("POST", &path, &legacy(2, "ask", "")).await.status, 202);
    assert_eq!(stream.message().await["method"], "roots/list");
    let answer = r#"{"jsonrpc":"2.0","id":"q1","result":{"roots":[]}}"#;
    assert_eq!(client.send("POST", &path, answer).await.status, 202);
    assert_eq!(stream.message().await["id"], 2);

    #[rustfmt::skip]
    let cases = [
        ("authorization: Bearer rf_bob", "POST", &*path,                    &*legacy(3, "echo", ""), 404),
        ("-authorization",               "POST", &path,                     &legacy(3, "echo", ""),  401),
        ("",                             "POST", "/messages",               &legacy(3, "echo", ""),  404),
        ("",                             "POST", "/messages?session=x",     &legacy(3, "echo", ""),  404),
        ("",                             "POST", &path,                     "{",                     400),
        ("",                             "POST", &path,                     "[]",                    400),
        ("content-type: text/plain",     "POST", &path,                     &legacy(3, "echo", ""),  415),
        ("",                             "GET",  &path,                     "",                      405),
        ("",                             "POST", "/sse",                    "",                      405),
        ("accept: application/json",     "GET",  "/sse",                    "",                      406),
        ("host: evil.example",           "GET",  "/sse",                    "",                      403),
        ("-authorization",               "GET",  "/sse",                    "",                      401),
    ];
    for (headers, method, path, body, status) in cases {
        let reply = client.clone().headers(headers).send(method, path, body).await;
        assert_eq!(reply.status, status, "{headers} {method} {path} {body}");
    }
    let streamable = client.clone().header("mcp-session-id", &id);
    assert_eq!(
        streamable.post(&legacy(4, "echo", "")).await.status,
        404,
        "it is a session of these two endpoints"
    );

    // The session is as long as its stream.
    drop(stream);
    house.seen.until(|seen| &seen.closed, 1).await;
    assert_eq!(client.send("POST", &path, &legacy(5, "echo", "")).await.status, 404);
    house.stop().await;
}
