//! Several servers behind one endpoint: whose is what, what is said of tasks, and what servers may ask.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence::policy::Constraints;
use ringfence_server::{Accept, ToolRule};
use serde_json::{Value, json};

use super::fake::{Fake, Setup, legacy, text, tool};
use super::limit::pass;
use crate::it::wait::wait_until;

#[expect(clippy::needless_pass_by_value, reason = "each caller writes it where it stands")]
fn result(message: &Value, result: Value) -> Option<Value> {
    Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}

/// A server that says something to models.
fn saying(instructions: &'static str) -> Arc<Fake> {
    legacy(json!([tool("one")]), move |message, _| match message["method"].as_str() {
        Some("initialize") => result(
            message,
            json!({
                "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "fake", "version": "1" }, "instructions": instructions,
            }),
        ),
        _ => None,
    })
}

#[tokio::test]
async fn what_servers_say_to_models_is_passed_on_by_a_gateway() {
    let (first, second) = (saying("Call `one` first."), saying("Use metric units."));
    let setup = Setup { more: vec![("other", second)], ..Setup::new(&first) };
    let said = setup.modern(json!({})).ask("server/discover", json!({})).await;
    assert_eq!(
        said["result"]["instructions"],
        json!("Server `fake`:\nCall `one` first.\n\nServer `other`:\nUse metric units."),
        "{said}"
    );
    let client = super::fake::Client::new(setup.house().session(&ringfence_server::Agent::default()));
    let said = client.hello(json!({})).await;
    assert_eq!(
        said["result"]["instructions"],
        json!("Server `fake`:\nCall `one` first.\n\nServer `other`:\nUse metric units."),
        "{said}"
    );
    // What nobody has accepted is not passed on.
    let withheld =
        Setup { accept: Accept::Review, more: vec![("other", saying("New"))], ..Setup::new(&first) };
    let said = withheld.modern(json!({})).ask("server/discover", json!({})).await;
    assert_eq!(said["result"].get("instructions"), None, "{said}");
}

/// A server that says who it is when the test lets it.
fn slow(released: &Arc<AtomicBool>, instructions: &'static str) -> Arc<Fake> {
    let released = Arc::clone(released);
    legacy(json!([tool("one")]), move |message, _| {
        if message["method"] != json!("initialize") {
            return None;
        }
        while !released.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        result(
            message,
            json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
                "serverInfo": { "name": "fake", "version": "1" }, "instructions": instructions,
            }),
        )
    })
}

#[tokio::test]
async fn several_silent_servers_are_waited_for_together() {
    let released = Arc::new(AtomicBool::new(false));
    let silent = ["b", "c", "d"].map(|name| (name, slow(&released, "Never heard.")));
    let setup = Setup { more: silent.to_vec(), ..Setup::new(&saying("Call `one` first.")) };
    let client = super::fake::Client::new(setup.house().session(&ringfence_server::Agent::default()));
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let id = client.begin("initialize", params);
    wait_until("all servers are started", || {
        silent.iter().all(|(_, server)| server.started.load(Ordering::SeqCst) == 1)
    })
    .await;
    let has_spoken = || setup.book.pins.lock().unwrap().to_json().contains("instructions");
    wait_until("the server that speaks was heard", has_spoken).await;
    // Less than one of them alone has to say who it is.
    pass(Duration::from_secs(6)).await;
    let said = client.answer(id).await;
    assert_eq!(said["result"]["instructions"], json!("Server `fake`:\nCall `one` first."), "{said}");
    for (method, member) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
        let id = client.begin(method, json!({}));
        tokio::time::sleep(Duration::from_millis(100)).await;
        pass(Duration::from_secs(11)).await;
        let listed = client.answer(id).await;
        assert_eq!(listed["result"][member], json!([]), "{listed}");
    }
    released.store(true, Ordering::SeqCst);
}

#[tokio::test]
async fn a_resource_stays_with_the_first_server_that_has_it() {
    let server = |name: &'static str| {
        legacy(json!([]), move |message, _| match message["method"].as_str() {
            Some("resources/list") => {
                let own = format!("a:{name}");
                result(
                    message,
                    json!({ "resources": [{ "uri": "a:both", "name": name }, { "uri": own, "name": name }] }),
                )
            }
            Some("resources/templates/list") => {
                let template = if name == "first" { "t:long/{x}" } else { "t:{x}" };
                result(message, json!({ "resourceTemplates": [{ "uriTemplate": template, "name": name }] }))
            }
            Some("resources/read") => result(
                message,
                json!({ "contents": [{ "uri": message["params"]["uri"], "text": format!("of {name}") }] }),
            ),
            _ => None,
        })
    };
    let setup = Setup { more: vec![("second", server("second"))], ..Setup::new(&server("first")) };
    let client = setup.legacy(json!({})).await;
    for _ in 0..2 {
        let listed = client.ask("resources/list", json!({})).await;
        let mut named: Vec<String> = listed["result"]["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| format!("{} {}", one["uri"].as_str().unwrap(), one["name"].as_str().unwrap()))
            .collect();
        named.sort_unstable();
        assert_eq!(named, ["a:both first", "a:first first", "a:second second"]);
    }
    for (uri, of) in [
        ("a:both", "of first"),
        ("a:second", "of second"),
        ("t:long/1", "of first"),
        ("t:short", "of second"),
    ] {
        let read = client.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["result"]["contents"][0]["text"], json!(of), "{uri}: {read}");
    }
}

#[tokio::test]
async fn tasks_are_not_shown_where_they_cannot_be_used() {
    let with = |name: &str, support: &str| {
        let mut tool = tool(name);
        tool["execution"] = json!({ "taskSupport": support });
        tool
    };
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&heard);
    let server = legacy(
        json!([with("may", "optional"), with("must", "required"), with("never", "forbidden")]),
        move |message, _| {
            (message["method"] == json!("tools/call")).then(|| {
                seen.lock().unwrap().push(message["params"].clone());
                text(message, "ran")
            })?
        },
    );
    let setup = Setup { more: vec![("other", legacy(json!([]), |_, _| None))], ..Setup::new(&server) };
    let client = setup.legacy(json!({})).await;
    let listed = client.ask("tools/list", json!({})).await["result"]["tools"].clone();
    let listed = listed.as_array().unwrap();
    let named: Vec<&str> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(named, ["fake__may", "fake__never", "ringfence_policy"]);
    assert!(listed.iter().all(|tool| tool.get("execution").is_none()), "{listed:?}");
    let params = json!({ "name": "fake__may", "arguments": {}, "task": { "ttl": 1000 } });
    let answer = client.ask("tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], json!("ran"), "{answer}");
    assert_eq!(heard.lock().unwrap()[0].get("task"), None);
    // One server alone answers for its tasks itself.
    let alone = Setup::new(&server).legacy(json!({})).await;
    let listed = alone.ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][1]["execution"], json!({ "taskSupport": "required" }), "{listed}");
}

#[tokio::test]
async fn a_tool_that_no_model_may_call_is_not_listed() {
    let server = legacy(json!([tool("one"), tool("two")]), |_, _| None);
    let rule = ToolRule {
        constraints: Constraints { forbidden: true, ..Constraints::default() },
        ..ToolRule::default()
    };
    let rules = BTreeMap::from([("two".to_owned(), rule)]);
    let client = Setup { rules, ..Setup::new(&server) }.legacy(json!({})).await;
    assert_eq!(client.tools().await, ["one", "ringfence_policy"]);
}

/// A server that asks something in the course of a call, and answers with what it was told.
fn asking(method: &'static str, params: Value) -> Arc<Fake> {
    let waiting: Arc<Mutex<Option<Value>>> = Arc::default();
    legacy(json!([tool("one")]), move |message, out| {
        if message["method"] == json!("initialize") {
            *waiting.lock().unwrap() = Some(message["params"]["capabilities"].clone());
            return None;
        }
        if message["method"] == json!("tools/call") {
            let question = json!({ "jsonrpc": "2.0", "id": "q", "method": method, "params": params });
            writeln!(out, "{question}").unwrap();
            let told = waiting.lock().unwrap().replace(message["id"].clone());
            // What it was told that the client can do.
            let log = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": told } });
            writeln!(out, "{log}").unwrap();
            return None;
        }
        if message["id"] == json!("q") {
            let id = waiting.lock().unwrap().clone();
            return text(&json!({ "id": id }), &message.to_string());
        }
        None
    })
}

#[tokio::test]
async fn what_a_server_may_not_ask_it_is_not_told_of() {
    let everything = json!({ "sampling": {}, "elicitation": { "url": {} }, "roots": {} });
    for (method, permitted) in [
        ("sampling/createMessage", true),
        ("sampling/createMessage", false),
        ("elicitation/create", true),
        ("elicitation/create", false),
    ] {
        let server = asking(method, json!({ "messages": [] }));
        let setup = Setup { asks: permitted, ..Setup::new(&server) };
        let client = setup.legacy(everything.clone()).await;
        let id = client.begin("tools/call", json!({ "name": "one", "arguments": {} }));
        let mut asked = None;
        let answer = loop {
            let heard = client.hear().await;
            if heard["method"] == json!(method) {
                asked = Some(heard["params"].clone());
                client
                    .tell(&json!({ "jsonrpc": "2.0", "id": heard["id"], "result": { "action": "decline" } }))
                    .await;
            } else if heard["method"] == json!("notifications/message") {
                let told = heard["params"]["data"].as_object().unwrap().len();
                assert_eq!(told, if permitted { 3 } else { 1 }, "{heard}");
            } else if heard["id"] == json!(id) {
                break heard;
            }
        };
        assert_eq!(asked.is_some(), permitted, "{method}: {answer}");
        let said = answer.to_string();
        assert_eq!(said.contains("the operator does not let this server ask that"), !permitted, "{said}");
        if let (Some(asked), "elicitation/create") = (asked, method) {
            assert_eq!(
                asked["message"],
                json!("Server `fake` asks:"),
                "a question without a message is labelled"
            );
        }
    }
}

#[tokio::test]
async fn no_question_opens_what_is_not_of_the_web() {
    for url in ["javascript:alert(1)", " JAVASCRIPT:alert(1)", "file:///etc/passwd", "data:text/html,x"] {
        let server = asking("elicitation/create", json!({ "mode": "url", "url": url, "message": "Open" }));
        let client = Setup::new(&server).legacy(json!({ "elicitation": { "url": {} } })).await;
        let answer = client.call("one", json!({})).await;
        assert!(answer.to_string().contains("must be `http` or `https`"), "{url}: {answer}");
    }
}

#[tokio::test]
async fn icons_that_are_no_pictures_are_left_out_everywhere() {
    let icons = json!([{ "src": "https://a.test/i.png" }, { "src": "javascript:alert(1)" }, { "src": "file:///i.png" }]);
    let mut with_icons = tool("one");
    with_icons["icons"] = json!([{ "src": "https://a.test/i.png" }, { "src": "file:///i.png" }]);
    let server = legacy(json!([with_icons]), move |message, _| {
        let icons = icons.clone();
        // A definition with a script in it is withheld as a whole.
        let defined = json!([{ "src": "https://a.test/i.png" }, { "src": "file:///i.png" }]);
        match message["method"].as_str() {
            Some("initialize") => result(
                message,
                json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
                    "serverInfo": { "name": "fake", "version": "1", "icons": icons, "websiteUrl": "javascript:x" },
                }),
            ),
            Some("prompts/list") => {
                result(message, json!({ "prompts": [{ "name": "p", "icons": defined }] }))
            }
            Some("resources/list") => {
                result(message, json!({ "resources": [{ "uri": "a:b", "name": "r", "icons": defined }] }))
            }
            Some("tools/call") => result(
                message,
                json!({ "content": [{ "type": "resource_link", "uri": "a:b", "name": "r", "icons": icons }] }),
            ),
            _ => None,
        }
    });
    let setup = Setup::new(&server);
    let client = super::fake::Client::new(setup.house().session(&ringfence_server::Agent::default()));
    let greeted = client.hello(json!({})).await;
    assert_eq!(greeted["result"]["serverInfo"].get("websiteUrl"), None, "{greeted}");
    for (answer, place) in [
        (greeted, "/result/serverInfo/icons"),
        (client.ask("tools/list", json!({})).await, "/result/tools/0/icons"),
        (client.ask("prompts/list", json!({})).await, "/result/prompts/0/icons"),
        (client.ask("resources/list", json!({})).await, "/result/resources/0/icons"),
        (client.call("one", json!({})).await, "/result/content/0/icons"),
    ] {
        assert_eq!(
            answer.pointer(place),
            Some(&json!([{ "src": "https://a.test/i.png" }])),
            "{place}: {answer}"
        );
    }
}
