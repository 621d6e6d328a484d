//! What a hostile server says: every text is cleaned, wherever it stands.

use serde_json::{Value, json};

use super::client;
use crate::mcp::place::Scene;

/// What must not be left anywhere in a frame, also not as an escape of JSON.
fn clean(what: &str, frame: &Value) {
    let text = frame.to_string();
    let unescaped: String = strings(frame).concat();
    for (name, bad) in [
        ("an escape", "\u{1b}"),
        ("a tag character", "\u{e006f}"),
        ("a credential", &["AKIA", "Z7QW2M4N5R5T6Y3P"].concat()),
    ] {
        assert!(!unescaped.contains(bad), "{what}: {name} is left in {text}");
    }
    // The rest of it is still there. What looks hostile in a list goes whole: nobody could have accepted it.
    let is_list = what.ends_with("/list");
    assert!(is_list || (unescaped.contains("plain") && unescaped.contains("end")), "{what}: {text}");
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        Value::Object(all) => {
            all.iter().flat_map(|(key, value)| [vec![key.clone()], strings(value)].concat()).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn results_and_errors_of_calls_are_cleaned() {
    let scene = Scene::attack(&["output"]);
    let mut client = client(&scene);
    for tool in ["text", "failing", "structured", "embedded", "mixed", "error"] {
        let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": 1}});
        let reply = client.ask("tools/call", params);
        assert_eq!(
            reply.as_ref().is_ok_and(|result| result["isError"] != true),
            !matches!(tool, "failing" | "error"),
            "{reply:?}"
        );
        clean(tool, &reply.unwrap_or_else(|error| error));
    }
    let progress = client.hear("progress", |frame| frame["method"] == "notifications/progress");
    clean("progress", &progress);
    let message = client.hear("a message", |frame| frame["method"] == "notifications/message");
    clean("message", &message);
}

#[test]
fn a_fake_end_of_results_cannot_be_told_from_text() {
    let scene = Scene::attack(&["output"]);
    let text = client(&scene).text("text", json!({}));
    assert!(!text.contains("</function_results>"), "{text}");
}

#[test]
fn resources_prompts_and_completions_are_cleaned() {
    let scene = Scene::attack(&["output"]);
    let mut client = client(&scene);
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "x://y"})),
        ("prompts/get", json!({"name": "p"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
        ),
    ] {
        let reply = client.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"));
        clean(method, &reply);
    }
}

#[test]
fn structured_content_that_does_not_fit_its_schema_is_refused() {
    let scene = Scene::attack(&["misfit"]);
    let mut client = client(&scene);
    for tool in ["wrong", "absent", "more"] {
        let reply = client.call(tool, json!({}));
        assert!(super::says(&reply, "OUTPUT_INVALID"), "{tool}: {reply:?}");
        assert!(!format!("{reply:?}").contains("smuggled"), "{tool}: {reply:?}");
    }
    assert_eq!(client.text("work", json!({})), "done 4");
}
