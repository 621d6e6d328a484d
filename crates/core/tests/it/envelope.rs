//! Results travel in the envelope of the source documents, byte for byte.

use ringfence::policy::{Code, Refusal};
use ringfence::{Backends, HostFiles, Registry, ToolError, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, personality};

async fn envelope(stage: &Stage, tool: &str, arguments: Value) -> String {
    serde_json::to_string(&stage.call(tool, arguments).await.outcome).unwrap()
}

#[tokio::test]
async fn outcomes_serialise_exactly() {
    let any = json!(true);
    let made = |name: &str| tool(name).input_schema(json!({"type": "string"})).output_schema(json!(true));
    let stage = Stage::of(
        Registry::builder()
            .personality(personality(json!({"fs_reach": {"read": ["/srv/data"]}})))
            .backends(Backends::none().files(HostFiles::new())),
    )
    .with(made("text").run(|text, _| async move { Ok(text) }).unwrap())
    .with(made("structure").run(|_, _| async move { Ok(json!({"b": 1, "a": [null]})) }).unwrap())
    .with(made("nothing").run(|_, _| async move { Ok(json!(null)) }).unwrap())
    .with(made("fails").run(|_, _| async move { Err(ToolError::new("disk full")) }).unwrap())
    .with(
        made("refused_inside")
            .run(|_, _| async move {
                let refusal =
                    Refusal::new(Code::HostNotAllowed, "api.stripe.com is not in the declared allowedHosts");
                Err(refusal.into())
            })
            .unwrap(),
    )
    .with(made("reader").read(["/srv/data"]).run(|text, _| async move { Ok(text) }).unwrap())
    .with(made("keeper").secrets(["KEY"]).run(|text, _| async move { Ok(text) }).unwrap());

    #[rustfmt::skip]
    let cases = [
        ("text",           json!("hi"), r#"{"ok":true,"value":"hi"}"#),
        ("structure",      json!("x"),  r#"{"ok":true,"value":"{\"b\":1,\"a\":[null]}","structured":{"b":1,"a":[null]}}"#),
        ("nothing",        json!("x"),  r#"{"ok":true,"value":"null","structured":null}"#),
        ("fails",          json!("x"),  r#"{"ok":false,"code":"execution_failed","error":"disk full"}"#),
        ("refused_inside", json!("x"),  r#"{"ok":false,"code":"execution_failed","error":"HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts","refusal":"HOST_NOT_ALLOWED"}"#),
        ("reader",         json!("/etc/passwd"), r#"{"ok":false,"code":"refused","error":"PATH_NOT_REACHABLE: read not permitted for /etc/passwd","refusal":"PATH_NOT_REACHABLE"}"#),
        ("text",           json!(7),    r#"{"ok":false,"code":"input_invalid","error":"INPUT_INVALID: value is not of type \"string\"","refusal":"INPUT_INVALID"}"#),
        ("keeper",         json!("x"),  r#"{"ok":false,"code":"not_available","error":"Tool keeper declares `secrets` but no backend for it is configured: a secret source","refusal":"NOT_AVAILABLE"}"#),
        ("nobody",         any,         r#"{"ok":false,"code":"refused","error":"TOOL_UNKNOWN: no tool is named `nobody`","refusal":"TOOL_UNKNOWN"}"#),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(envelope(&stage, tool, arguments).await, expected, "{tool}");
    }
}

#[tokio::test]
async fn a_failure_of_a_tool_drives_no_terminal() {
    let stage = Stage::bare().with(
        tool("fails")
            .input_schema(json!(true))
            .output_schema(json!(true))
            .run(|_: Value, _| async move { Err::<Value, _>(ToolError::new("\u{1b}[2Jgone")) })
            .unwrap(),
    );
    let report = stage.call("fails", json!(1)).await;
    assert_eq!(report.outcome.error().as_deref(), Some("gone"));
}
