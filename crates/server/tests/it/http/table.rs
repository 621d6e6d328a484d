//! What is answered to what: one row for every rule.

use super::client::{legacy, modern};
use super::house::{ALICE, BOB, House};

/// One request that speaks for itself: its headers, beside the ones that every request has.
const M: &str = "mcp-protocol-version: 2026-07-28 | mcp-method: ";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_rule_has_its_answer() {
    let house = House::new().await;
    let new = house.session(ALICE, "2025-11-25").await;
    let batch = house.session(ALICE, "2025-03-26").await;
    let bobs = house.session(BOB, "2025-11-25").await;
    let client = house.client(ALICE);
    let init = legacy(1, "initialize", r#""protocolVersion":"2025-11-25""#);
    let echo = legacy(1, "echo", "");
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let claim = modern(1, "echo", "");
    let with = |extra: &str| format!("{M}{extra}");
    let echoed = with("echo");
    let listed = with("tools/list");
    let list = modern(1, "tools/list", "");
    let call = modern(1, "tools/call", r#""name":"x","arguments":{}"#);
    let called = with("tools/call | mcp-name: x");
    let regional = modern(1, "tools/call", r#""name":"regional","arguments":{"region":"eu"}"#);
    let read = modern(1, "resources/read", r#""uri":"test://ü""#);
    let other = claim.replace("2026-07-28", "2099-01-01");
    let no_meta = r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#;
    let half_meta = r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let odd_meta = r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"_meta":7}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let two = format!("[{echo},{note}]");
    let notes = format!("[{note},{note}]");
    let error = |code: i64| modern(1, "error", &format!(r#""code":{code}"#));
    let errored = with("error");
    let large =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":{{"x":"{}"}}}}"#, "a".repeat(5 << 20));

    #[rustfmt::skip]
    let rows = [
        // who      method   path        headers beside the usual ones                     body        status code
        // Host and Origin come before everything.
        (&client,   "POST",  "/mcp",     "host: evil.example",                             &*init,     403, 0),
        (&client,   "POST",  "/mcp",     "host: evil.example | -authorization",            &init,      403, 0),
        (&client,   "POST",  "/mcp",     "host: localhost.evil.example:80",                &init,      403, 0),
        (&client,   "POST",  "/mcp",     "origin: http://evil.example",                    &init,      403, 0),
        (&client,   "POST",  "/mcp",     "origin: null",                                   &init,      403, 0),
        (&client,   "POST",  "/mcp",     "-host",                                          &init,      403, 0),
        (&client,   "POST",  "/mcp",     "+host: localhost",                               &init,      403, 0),
        (&client,   "POST",  "http://evil.example/mcp", "",                                &init,      403, 0),
        (&client,   "GET",   "/sse",     "sec-fetch-site: cross-site",                     "",         403, 0),
        (&client,   "GET",   "/healthz", "sec-fetch-site: same-origin",                    "",         200, 0),
        (&client,   "POST",  "/mcp",     "sec-fetch-site: cross-site | origin: http://localhost", &init, 200, 0),
        (&client,   "GET",   "/healthz", "host: evil.example",                             "",         403, 0),
        (&client,   "POST",  "/mcp",     "host: localhost:1 | origin: http://localhost:2", &init,      200, 0),
        (&client,   "POST",  "/mcp",     "host: [::1]:9 | origin: https://127.0.0.1",      &init,      200, 0),
        // Then the token.
        (&client,   "POST",  "/mcp",     "-authorization",                                 &init,      401, 0),
        (&client,   "POST",  "/mcp",     "authorization: Bearer rf_nobody",                &init,      401, 0),
        (&client,   "POST",  "/mcp",     "authorization: Bearer",                          &init,      401, 0),
        (&client,   "POST",  "/mcp",     "authorization: Basic rf_alice",                  &init,      401, 0),
        (&client,   "POST",  "/mcp",     "+authorization: Bearer rf_bob",                  &init,      401, 0),
        (&client,   "POST",  "/mcp",     "authorization: bearer rf_alice",                 &init,      200, 0),
        (&client,   "POST",  "/other",   "-authorization",                                 &init,      401, 0),
        (&client,   "GET",   "/healthz", "-authorization",                                 "",         200, 0),
        // Then the path and the method.
        (&client,   "POST",  "/other",   "",                                               &init,      404, 0),
        (&client,   "PUT",   "/mcp",     "",                                               &init,      405, 0),
        (&client,   "OPTIONS", "/mcp",   "",                                               "",         405, 0),
        (&client,   "POST",  "/healthz", "",                                               "",         405, 0),
        // Then the types and the body.
        (&client,   "POST",  "/mcp",     "content-type: text/plain",                       &init,      415, 0),
        (&client,   "POST",  "/mcp",     "-content-type",                                  &init,      415, 0),
        (&client,   "POST",  "/mcp",     "content-encoding: gzip",                         &init,      415, 0),
        (&client,   "POST",  "/mcp",     "accept: application/json",                       &init,      406, 0),
        (&client,   "POST",  "/mcp",     "accept: text/event-stream",                      &init,      406, 0),
        (&client,   "POST",  "/mcp",     "-accept",                                        &init,      406, 0),
        (&client,   "POST",  "/mcp",     "accept: */*",                                    &init,      200, 0),
        (&client,   "POST",  "/mcp",     "",                                               &large,     413, 0),
        (&client,   "POST",  "/mcp",     "content-length: 99999999",                       "",         413, 0),
        (&client,   "POST",  "/mcp",     "",                                               "{",        400, -32700),
        (&client,   "POST",  "/mcp",     "",                                               "",         400, -32700),
        (&client,   "POST",  "/mcp",     "",                                               "7",        400, -32600),
        (&client,   "POST",  "/mcp",     "",                                               "[]",       400, -32600),
        (&client,   "POST",  "/mcp",     "",                                               "{\"id\":1}", 400, -32600),
        (&client,   "POST",  "/mcp",     "",      r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#, 400, -32602),
        // Sessions.
        (&client,   "POST",  "/mcp",     "",                                               &init,      200, 0),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2026-07-28",               &init,      200, 0),
        (&client,   "POST",  "/mcp",     "",                                               &echo,      400, -32600),
        (&client,   "POST",  "/mcp",     "",                                               note,       400, -32600),
        (&client,   "GET",   "/mcp",     "",                                               "",         400, -32600),
        (&client,   "DELETE", "/mcp",    "",                                               "",         400, -32600),
        (&client,   "POST",  "/mcp",     "mcp-session-id: 0123456789abcdef",               &echo,      404, -32001),
        (&client,   "GET",   "/mcp",     "mcp-session-id: 0123456789abcdef",               "",         404, -32001),
        (&client,   "DELETE", "/mcp",    "mcp-session-id: 0123456789abcdef",               "",         404, -32001),
        (&new,      "POST",  "/mcp",     "",                                               &echo,      200, 0),
        (&new,      "POST",  "/mcp",     "mcp-protocol-version: 2025-11-25",               &echo,      200, 0),
        (&new,      "POST",  "/mcp",     "mcp-protocol-version: 2025-06-18",               &echo,      200, 0),
        (&new,      "POST",  "/mcp",     "mcp-protocol-version: 1999-01-01",               &echo,      400, -32602),
        (&new,      "POST",  "/mcp",     "mcp-protocol-version: 2025-11-25 | +mcp-protocol-version: 2025-11-25", &echo, 400, -32020),
        (&new,      "POST",  "/mcp",     "",                                               note,       202, 0),
        (&new,      "POST",  "/mcp",     "",                                               answer,     202, 0),
        (&new,      "POST",  "/mcp",     "",                             &legacy(1, "unknown", ""),    200, -32601),
        (&new,      "POST",  "/mcp",     "",                             &legacy(1, "nothing", ""),    200, 0),
        (&new,      "POST",  "/mcp",     "",                               &legacy(1, "panic", ""),    200, -32603),
        (&new,      "POST",  "/mcp",     "accept: application/json",                       &echo,      406, 0),
        (&new,      "GET",   "/mcp",     "accept: application/json",                       "",         406, 0),
        (&new,      "GET",   "/mcp",     "last-event-id: x",                               "",         400, 0),
        (&new,      "GET",   "/mcp",     "last-event-id: 99-1",                            "",         200, 0),
        (&new,      "POST",  "/mcp",     "authorization: Bearer rf_bob",                   &echo,      404, -32001),
        (&new,      "DELETE", "/mcp",    "authorization: Bearer rf_bob",                   "",         404, -32001),
        (&bobs,     "POST",  "/mcp",     "authorization: Bearer rf_alice",                 &echo,      404, -32001),
        (&bobs,     "POST",  "/mcp",     "",                                               &echo,      200, 0),
        // Several at once, in one version only.
        (&new,      "POST",  "/mcp",     "",                                               &two,       400, -32600),
        (&batch,    "POST",  "/mcp",     "",                                               &two,       200, 0),
        (&batch,    "POST",  "/mcp",     "",                                               &notes,     202, 0),
        (&batch,    "POST",  "/mcp",     "",                                 &format!("[{init}]"),     400, -32600),
        (&client,   "POST",  "/mcp",     "",                                               &two,       400, -32600),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2026-07-28",               &two,       400, -32600),
        // Requests that speak for themselves.
        (&client,   "POST",  "/mcp",     &echoed,                                          &claim,     200, 0),
        (&client,   "POST",  "/mcp",     &listed,                                          &list,      200, 0),
        (&new,      "POST",  "/mcp",     &echoed,                                          &claim,     200, 0),
        (&client,   "GET",   "/mcp",     "mcp-protocol-version: 2026-07-28",               "",         405, 0),
        (&client,   "DELETE", "/mcp",    "mcp-protocol-version: 2026-07-28",               "",         405, 0),
        (&client,   "POST",  "/mcp",     &echoed,                                          no_meta,    400, -32602),
        (&client,   "POST",  "/mcp",     &echoed,                                          half_meta,  400, -32602),
        (&client,   "POST",  "/mcp",     &echoed,                                          odd_meta,   400, -32602),
        (&client,   "POST",  "/mcp",     "",                                               half_meta,  400, -32602),
        (&client,   "POST",  "/mcp",     "mcp-method: echo",                               &claim,     400, -32020),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2025-11-25 | mcp-method: echo", &claim, 400, -32020),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2026-07-28",               &claim,     400, -32020),
        (&client,   "POST",  "/mcp",     &with("Echo"),                                    &claim,     400, -32020),
        (&client,   "POST",  "/mcp",     &with("  echo  "),                                &claim,     200, 0),
        (&client,   "POST",  "/mcp",     &with("echo | +mcp-method: echo"),                &claim,     400, -32020),
        (&client,   "POST",  "/mcp",     &with("=?base64?ZWNobw==?="),                     &claim,     400, -32020),
        (&client,   "POST",  "/mcp",     &echoed,                                          &other,     400, -32020),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2099-01-01 | mcp-method: echo", &other, 400, -32022),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2099-01-01",               &other,     400, -32020),
        (&client,   "POST",  "/mcp",     &with("tools/call"),                              &call,      400, -32020),
        (&client,   "POST",  "/mcp",     &with("tools/call | mcp-name: y"),                &call,      400, -32020),
        (&client,   "POST",  "/mcp",     &called,                                          &call,      200, 0),
        (&client,   "POST",  "/mcp",     &with("tools/call | mcp-name: =?base64?eA==?="),  &call,      200, 0),
        (&client,   "POST",  "/mcp",     &with("tools/call | mcp-name: =?base64?eA?="),    &call,      400, -32020),
        (&client,   "POST",  "/mcp",     &with("resources/read | mcp-name: =?base64?dGVzdDovL8O8?="), &read, 200, 0),
        (&client,   "POST",  "/mcp",     &with("resources/read | mcp-name: test://ü"),     &read,      400, -32020),
        (&client,   "POST",  "/mcp",     &with("tools/call | mcp-name: regional"),         &regional,  400, -32020),
        (&client,   "POST",  "/mcp",     &with("tools/call | mcp-name: regional | mcp-param-region: us"), &regional, 400, -32020),
        (&client,   "POST",  "/mcp",     &with("tools/call | mcp-name: regional | mcp-param-region: eu"), &regional, 200, 0),
        (&client,   "POST",  "/mcp",     &with("initialize"),          &modern(1, "initialize", ""),   404, -32601),
        (&client,   "POST",  "/mcp",     &with("ping"),                &modern(1, "ping", ""),         404, -32601),
        (&client,   "POST",  "/mcp",     &with("logging/setLevel"),    &modern(1, "logging/setLevel", ""), 404, -32601),
        (&client,   "POST",  "/mcp",     &with("unknown"),             &modern(1, "unknown", ""),      404, -32601),
        (&client,   "POST",  "/mcp",     &errored,                                         &error(-32602), 200, -32602),
        (&client,   "POST",  "/mcp",     &errored,                                         &error(-32603), 200, -32603),
        (&client,   "POST",  "/mcp",     &errored,                                         &error(-32021), 400, -32021),
        (&client,   "POST",  "/mcp",     &with("nothing"),             &modern(1, "nothing", ""),      200, -32603),
        (&client,   "POST",  "/mcp",     &with("panic"),               &modern(1, "panic", ""),        200, -32603),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2026-07-28",               note,       202, 0),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2099-01-01",               note,       400, -32022),
        (&client,   "POST",  "/mcp",     &with("notifications/other"),                     note,       400, -32020),
        (&client,   "POST",  "/mcp",     "mcp-protocol-version: 2026-07-28",               answer,     400, -32600),
    ];
    for (row, (who, method, path, headers, body, status, code)) in rows.into_iter().enumerate() {
        let reply = who.clone().headers(headers).send(method, path, body).await;
        let shown: String = body.chars().take(200).collect();
        assert_eq!(
            (reply.status, reply.code()),
            (status, code),
            "row {row}: {method} {path} [{headers}] {shown}: {}",
            reply.body
        );
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "row {row}");
        if status == 401 {
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "row {row}");
        }
        assert!(!reply.body.contains("rf_"), "row {row}: no token is repeated");
    }
    house.stop().await;
}

#[tokio::test]
async fn errors_carry_the_id_where_there_is_one() {
    let house = House::new().await;
    let client = house.client(ALICE);
    let cases = [
        ("{", "null"),
        (r#"{"jsonrpc":"2.0","id":"a","method":"x","params":[]}"#, "\"a\""),
        (&legacy(7, "echo", ""), "7"),
        (&modern(8, "echo", ""), "8"),
    ];
    for (body, id) in cases {
        let reply = client.post(body).await;
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.json()["id"].to_string(), id, "{}", reply.body);
        assert_eq!(reply.header("content-type"), Some("application/json"), "{body}");
    }
    let reply = client
        .clone()
        .headers("mcp-protocol-version: 2099-01-01 | mcp-method: echo")
        .post(&modern(9, "echo", "").replace("2026-07-28", "2099-01-01"))
        .await;
    let data = reply.json()["error"]["data"].to_string();
    assert_eq!(data, r#"{"supported":["2026-07-28"],"requested":"2099-01-01"}"#);
    house.stop().await;
}

#[tokio::test]
async fn a_room_knows_whose_it_is() {
    let house = House::new().await;
    for (token, name) in [(ALICE, "alice"), (BOB, "bob")] {
        let session = house.session(token, "2025-06-18").await;
        assert_eq!(session.post(&legacy(1, "echo", "")).await.json()["result"]["agent"], name);
        let single = house.client(token).headers("mcp-protocol-version: 2026-07-28 | mcp-method: echo");
        let reply = single.post(&modern(1, "echo", "")).await;
        assert_eq!(reply.json()["result"]["agent"], name);
        assert_eq!(reply.header("mcp-session-id"), None);
    }
    house.stop().await;
}

#[tokio::test]
async fn a_notification_that_speaks_for_itself_goes_nowhere() {
    let house = House::new().await;
    let client = house.client(ALICE).headers("mcp-protocol-version: 2026-07-28");
    let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(client.post(note).await.status, 202);
    assert!(house.seen.notified.lock().unwrap().is_empty());
    house.stop().await;
}
