//! What passes between a client and a server, in both eras on both sides.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use ringfence::policy::SafetyClass;
use ringfence_server::{Room as _, ToolRule};
use serde_json::{Value, json};

use super::fake::{Fake, Setup, code, legacy, text, tool};
use crate::it::wait::wait_until;

fn is(message: &Value, method: &str) -> bool {
    message["method"] == json!(method)
}

#[tokio::test]
async fn definitions_and_results_stay_as_they_were_written() {
    let server = legacy(json!([tool("one")]), |message, out| {
        if !is(message, "tools/call") {
            return None;
        }
        // Written by hand: numbers, spaces and unknown members as no serialiser would write them.
        let id = &message["id"];
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{ "content":[{{"type":"x-new","n":1.50}}],"structuredContent":{{"big":12345678901234567890}} ,"x":1e3}}}}"#
        );
        writeln!(out, "{line}").unwrap();
        None
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    let listed = client.ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0], tool("one"));
    let id = client.begin("tools/call", json!({ "name": "one", "arguments": { "n": 1 } }));
    let answer = client.answer(id).await.to_string();
    for kept in ["x-new", "1.5", "12345678901234567890"] {
        assert!(answer.contains(kept), "{answer}");
    }
}

#[tokio::test]
async fn answers_are_never_confused() {
    // Collects calls and answers them in the wrong order, with answers that nobody asked for between.
    let held: Mutex<Vec<Value>> = Mutex::default();
    let server = legacy(json!([tool("one")]), move |message, out| {
        if !is(message, "tools/call") {
            return None;
        }
        let mut held = held.lock().unwrap();
        held.push(message.clone());
        if held.len() == 50 {
            for one in held.drain(..).rev() {
                let n = &one["params"]["arguments"]["n"];
                writeln!(out, r#"{{"jsonrpc":"2.0","id":999999,"result":{{"content":[]}}}}"#).unwrap();
                writeln!(out, r#"{{"jsonrpc":"2.0","id":"{}","result":{{"content":[]}}}}"#, one["id"])
                    .unwrap();
                writeln!(out, "{}", text(&one, &n.to_string()).unwrap()).unwrap();
                writeln!(out, "{}", text(&one, "twice").unwrap()).unwrap();
            }
        }
        None
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    assert_eq!(client.tools().await, ["one", "ringfence_policy"]);
    for _ in 0..4 {
        let ids: Vec<(usize, usize)> = (0..50)
            .map(|n| (client.begin("tools/call", json!({ "name": "one", "arguments": { "n": n } })), n))
            .collect();
        for _ in 0..50 {
            let answer = client.hear().await;
            let (_, n) = ids.iter().find(|(id, _)| answer["id"] == json!(id)).expect("an answer to nothing");
            assert_eq!(answer["result"]["content"][0]["text"], json!(n.to_string()), "{answer}");
        }
    }
}

#[tokio::test]
async fn progress_and_cancellation_go_under_the_clients_own_names() {
    let cancelled = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&cancelled);
    let server = legacy(json!([tool("one")]), move |message, out| {
        if is(message, "notifications/cancelled") {
            seen.lock().unwrap().push(message["params"]["requestId"].clone());
        }
        if is(message, "tools/call") {
            let token = &message["params"]["_meta"]["progressToken"];
            assert_eq!(*token, message["id"], "a token of our own");
            seen.lock().unwrap().push(json!({ "asked": message["id"] }));
            let progress = json!({ "progressToken": token, "progress": 1, "message": "\u{1b}[1mhalf" });
            let line = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress });
            writeln!(out, "{line}").unwrap();
        }
        None
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    let params = json!({ "name": "one", "arguments": {}, "_meta": { "progressToken": "mine" } });
    let id = client.begin("tools/call", params);
    let progress = client.hear().await;
    assert_eq!(progress["params"]["progressToken"], json!("mine"), "{progress}");
    assert_eq!(progress["params"]["message"], json!("half"), "it is cleaned");
    client
        .tell(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
        )
        .await;
    wait_until("the server is told", || cancelled.lock().unwrap().len() == 2).await;
    let all = cancelled.lock().unwrap().clone();
    assert_eq!(all[0]["asked"], all[1]);
}

#[tokio::test]
async fn junk_is_dropped_and_a_dead_server_is_started_again() {
    let server = legacy(json!([tool("one")]), |message, out| {
        if !is(message, "tools/call") {
            return None;
        }
        match message["params"]["arguments"]["n"].as_u64() {
            Some(1) => {
                writeln!(out, "Debugger listening\n{{\"half\": \n[]\n\"x\"\n{{}}\n\u{7f}").unwrap();
                out.write_all(b"\xff\xfe\n").unwrap();
                text(message, "fine")
            }
            Some(2) => {
                write!(out, r#"{{"jsonrpc":"2.0","id":{},"result":"#, message["id"]).unwrap();
                Some(json!("die"))
            }
            _ => text(message, "fine"),
        }
    });
    // What may have had an effect is not tried again.
    let rule = ToolRule { class: Some(SafetyClass::Write), ..ToolRule::default() };
    let setup = Setup { rules: BTreeMap::from([("one".to_owned(), rule)]), ..Setup::new(&server) };
    let client = setup.legacy(json!({})).await;
    assert_eq!(client.call("one", json!({ "n": 1 })).await["result"]["content"][0]["text"], json!("fine"));
    let dead = client.call("one", json!({ "n": 2 })).await;
    assert!(
        dead["result"]["content"][0]["text"].as_str().unwrap().contains("ended while it worked"),
        "{dead}"
    );
    assert_eq!(client.call("one", json!({ "n": 3 })).await["result"]["content"][0]["text"], json!("fine"));
    assert_eq!(server.started.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_server_that_hangs_costs_its_own_call() {
    let server =
        legacy(json!([tool("one"), tool("two")]), |message, _| match message["params"]["name"].as_str() {
            Some("two") => text(message, "fine"),
            _ => None,
        });
    let setup = Setup { wall: Some("60s".parse().unwrap()), ..Setup::new(&server) };
    let client = setup.legacy(json!({})).await;
    let id = client.begin("tools/call", json!({ "name": "one", "arguments": {} }));
    assert_eq!(client.call("two", json!({})).await["result"]["content"][0]["text"], json!("fine"));
    // From here on nothing answers any more, and the clock jumps to the end of the server's `wall`.
    tokio::time::pause();
    assert_eq!(code(&client.answer(id).await), "DEADLINE_EXCEEDED");
}

#[tokio::test]
async fn outputs_errors_resources_and_prompts_are_cleaned() {
    let server = legacy(json!([tool("one")]), |message, _| {
        let dirty = "\u{1b}[31mred\u{200b}";
        let id = &message["id"];
        let result = |result: Value| Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        match message["method"].as_str() {
            Some("tools/call") => match message["params"]["arguments"]["n"].as_u64() {
                Some(1) => text(message, dirty),
                Some(2) => {
                    result(json!({ "content": [{ "type": "text", "text": dirty }], "isError": true, "x": 1 }))
                }
                Some(3) => result(json!({ "content": [], "structuredContent": { "deep": [dirty] } })),
                _ => Some(
                    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": dirty, "data": dirty } }),
                ),
            },
            Some("resources/read") => result(json!({ "contents": [{ "uri": "a:b", "text": dirty }] })),
            Some("prompts/get") => result(
                json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": dirty } }] }),
            ),
            Some("x/unknown") => result(json!({ "said": dirty, "kept": message["params"] })),
            _ => None,
        }
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    #[rustfmt::skip]
    let cases = [
        ("tools/call",     json!({ "name": "one", "arguments": { "n": 1 } }),  "/result/content/0/text"),
        ("tools/call",     json!({ "name": "one", "arguments": { "n": 2 } }),  "/result/content/0/text"),
        ("tools/call",     json!({ "name": "one", "arguments": { "n": 3 } }),  "/result/structuredContent/deep/0"),
        ("tools/call",     json!({ "name": "one", "arguments": { "n": 4 } }),  "/error/message"),
        ("tools/call",     json!({ "name": "one", "arguments": { "n": 4 } }),  "/error/data"),
        ("resources/read", json!({ "uri": "a:b" }),                            "/result/contents/0/text"),
        ("prompts/get",    json!({ "name": "p" }),                             "/result/messages/0/content/text"),
        ("x/unknown",      json!({ "a": [1] }),                                "/result/said"),
    ];
    for (method, params, place) in cases {
        let answer = client.ask(method, params).await;
        assert_eq!(answer.pointer(place), Some(&json!("red")), "{method} {place}: {answer}");
    }
    let failed = client.call("one", json!({ "n": 2 })).await;
    assert!(failed["result"]["isError"] == json!(true) && failed["result"]["x"] == json!(1), "{failed}");
    assert_eq!(client.ask("x/unknown", json!({ "a": [1] })).await["result"]["kept"], json!({ "a": [1] }));
}

#[tokio::test]
async fn what_two_readers_would_see_differently_does_not_pass() {
    let server = legacy(json!([tool("one")]), |message, out| {
        if is(message, "tools/call") {
            let id = &message["id"];
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"content":[{{"type":"text","text":"x"}}]}}}}"#).unwrap();
        }
        None
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    let answer = client.call("one", json!({})).await;
    assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
    let raw = r#"{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":"one","arguments":{"n":1,"n":2}}}"#;
    let messages = ringfence_server::message::Message::parse(raw).unwrap();
    let (outlet, mut lines) = ringfence_server::Outlet::new(8);
    for message in messages {
        Arc::clone(&client.session).handle(message, outlet.clone()).await;
    }
    let answer: Value = serde_json::from_str(&lines.recv().await.unwrap()).unwrap();
    assert_eq!(code(&answer), "INPUT_INVALID", "{answer}");
}

#[tokio::test]
async fn the_input_and_output_schemas_hold() {
    let mut typed = tool("typed");
    typed["outputSchema"] = json!({ "type": "object", "properties": { "sum": { "$ref": "#/$defs/n" } }, "required": ["sum"], "$defs": { "n": { "type": "number" } } });
    let server = legacy(json!([typed]), |message, _| {
        if !is(message, "tools/call") {
            return None;
        }
        let result = match message["params"]["arguments"]["n"].as_u64() {
            Some(1) => json!({ "content": [], "structuredContent": { "sum": 3 } }),
            Some(2) => json!({ "content": [], "structuredContent": { "sum": "three" } }),
            Some(3) => json!({ "content": [] }),
            _ => json!({ "task": { "taskId": "t" } }),
        };
        Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    for (n, expected) in [
        (json!(1), ""),
        (json!(2), "OUTPUT_INVALID"),
        (json!(3), "OUTPUT_INVALID"),
        (json!(4), ""),
        (json!("x"), "INPUT_INVALID"),
    ] {
        let answer = client.call("typed", json!({ "n": n })).await;
        assert_eq!(code(&answer), expected, "{n}: {answer}");
    }
}

#[tokio::test]
async fn a_modern_client_is_asked_by_its_answers_what_a_legacy_server_wants() {
    let server = legacy(json!([tool("one")]), {
        let call: Mutex<Option<Value>> = Mutex::default();
        move |message, out| {
            if is(message, "tools/call") {
                *call.lock().unwrap() = Some(message.clone());
                assert!(message["params"].get("_meta").is_none(), "the envelope is for us: {message}");
                let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": { "message": "Name?" } });
                writeln!(out, "{ask}").unwrap();
            }
            if message["id"] == json!("q") {
                let call = call.lock().unwrap().take().unwrap();
                return text(&call, &message["result"].to_string());
            }
            None
        }
    });
    let client = Setup::new(&server).modern(json!({ "elicitation": {} }));
    let discovered = client.ask("server/discover", json!({})).await;
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]), "{discovered}");
    let asked = client.call("one", json!({})).await;
    assert_eq!(asked["result"]["resultType"], json!("input_required"), "{asked}");
    assert_eq!(
        asked["result"]["inputRequests"]["ask-1"]["params"]["message"],
        json!("Server `fake` asks: Name?")
    );
    let state = &asked["result"]["requestState"];
    // Without the answer it is asked again; with it, the very call goes on.
    let again = client
        .ask(
            "tools/call",
            json!({ "name": "one", "arguments": {}, "requestState": state, "inputResponses": {} }),
        )
        .await;
    assert_eq!(again["result"]["resultType"], json!("input_required"), "{again}");
    let state = &again["result"]["requestState"];
    let name = again["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let responses = json!({ name: { "action": "accept", "content": { "name": "Al" } } });
    let params =
        json!({ "name": "one", "arguments": {}, "requestState": state, "inputResponses": responses });
    let done = client.ask("tools/call", params.clone()).await;
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("Al"), "{done}");
    assert_eq!(done["result"]["resultType"], json!("complete"));
    let replayed = client.ask("tools/call", params).await;
    assert_eq!(replayed["error"]["code"], json!(-32602), "a state is good once: {replayed}");
}

#[tokio::test]
async fn a_legacy_client_is_asked_what_a_modern_server_wants() {
    let server = Fake::new(|message, _| {
        let result = |result: Value| Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
        let meta = &message["params"]["_meta"];
        match message["method"].as_str() {
            Some("initialize") => Some(json!({
                "jsonrpc": "2.0", "id": message["id"],
                "error": { "code": -32022, "message": "no", "data": { "supported": ["2026-07-28"], "requested": "x" } },
            })),
            Some("server/discover") => result(json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                "ttlMs": 0, "cacheScope": "private", "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "new", "version": "2" } },
            })),
            Some("tools/list") => {
                assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], json!("2026-07-28"));
                result(
                    json!({ "resultType": "complete", "tools": [tool("one")], "ttlMs": 0, "cacheScope": "private" }),
                )
            }
            Some("tools/call") => {
                assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({ "elicitation": {} }));
                match message["params"]["inputResponses"].get("who") {
                    None => result(json!({
                        "resultType": "input_required", "requestState": "s",
                        "inputRequests": { "who": { "method": "elicitation/create", "params": { "message": "Name?" } } },
                    })),
                    Some(who) => {
                        assert_eq!(message["params"]["requestState"], json!("s"));
                        result(
                            json!({ "resultType": "complete", "content": [{ "type": "text", "text": who.to_string() }] }),
                        )
                    }
                }
            }
            _ => None,
        }
    });
    let client = Setup::new(&server).legacy(json!({ "elicitation": {} })).await;
    let id = client.begin("tools/call", json!({ "name": "one", "arguments": {} }));
    let asked = client.hear().await;
    assert_eq!(asked["method"], json!("elicitation/create"), "{asked}");
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept", "content": { "n": "Al" } } });
    client.tell(&answer).await;
    let done = client.answer(id).await;
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("Al"), "{done}");
    assert!(done["result"].get("resultType").is_none(), "a legacy client does not know that: {done}");
}

#[tokio::test]
async fn modern_requests_say_who_they_are() {
    let server = legacy(json!([tool("one")]), |_, _| None);
    let mut client = Setup::new(&server).modern(json!({}));
    let meta = client.meta.take().unwrap();
    let mut other = meta.clone();
    other["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let mut bare = meta.clone();
    bare.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    #[rustfmt::skip]
    let cases = [
        ("server/discover",  json!({}),                -32602),
        ("server/discover",  json!({ "_meta": bare }), -32602),
        ("tools/list",       json!({ "_meta": other }), -32022),
        ("ping",             json!({ "_meta": meta }), -32601),
        ("logging/setLevel", json!({ "_meta": meta }), -32601),
    ];
    for (method, params, expected) in cases {
        let answer = client.ask(method, params.clone()).await;
        assert_eq!(answer["error"]["code"], json!(expected), "{method} {params}: {answer}");
    }
}

#[tokio::test]
async fn nothing_is_started_for_a_session_that_is_over() {
    let server = legacy(json!([tool("one")]), |message, _| {
        is(message, "tools/call").then(|| text(message, "x")).flatten()
    });
    let client = Setup::new(&server).legacy(json!({})).await;
    Arc::clone(&client.session).close().await;
    let answer = client.call("one", json!({})).await;
    assert!(answer.get("result").is_none_or(|result| result["isError"] == json!(true)), "{answer}");
    assert_eq!(server.started.load(Ordering::SeqCst), 1);
}
