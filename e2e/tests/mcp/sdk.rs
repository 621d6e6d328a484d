//! Real clients: the MCP Inspector, the Python SDKs and rmcp see through the fence what they see without.

use std::process::{Command, Stdio};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};

use crate::mcp::era;
use crate::mcp::place::{Scene, file, installed, newer_node, npm, python};

fn everything() -> Scene {
    Scene::example("everything", |_| npm("server-everything", &[]))
}

/// The program and the arguments of a command, as somebody's configuration has them.
fn words(command: &Command) -> Vec<String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_str().unwrap().to_owned()).collect()
}

/// Runs a client to its end, which must be a good one, and returns what it printed.
fn printed(mut client: Command) -> String {
    let output = client.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{client:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).unwrap()
}

/// What a script of `e2e/mcp` saw of a server, without the tool of the gateway.
fn script(scene: &Scene, interpreter: &[String], server: &Command) -> Value {
    let mut client = scene.host("timeout");
    client.arg("600").args(interpreter).args(words(server));
    let text = printed(client);
    let mut seen: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap();
    seen["tools"].as_array_mut().unwrap().retain(|name| name != "ringfence_policy");
    seen
}

#[test]
fn the_python_sdk_of_sessions_sees_the_same() {
    let scene = everything();
    let client = python("py", "python", &[&file("sdk1.py")]);
    let fenced = script(&scene, &client, &scene.wrapped());
    assert_eq!(fenced, script(&scene, &client, &scene.direct()));
    assert_eq!(fenced["echo"], "Echo: hello from the SDK");
}

#[test]
fn the_python_sdk_of_the_stateless_era_sees_the_same() {
    let scene = everything();
    let client = |mode: &str| python("py2", "python", &[&file("sdk2.py"), mode]);
    let direct = script(&scene, &client("auto"), &scene.direct());
    assert_eq!(direct["version"], "2025-11-25", "the server is of the era before");
    let legacy = script(&scene, &client("legacy"), &scene.wrapped());
    assert_eq!(legacy, direct);
    // Through the fence the client speaks its own era, and still sees the same.
    let mut modern = script(&scene, &client("auto"), &scene.wrapped());
    assert_eq!(modern["version"], "2026-07-28");
    modern["version"] = direct["version"].clone();
    assert_eq!(modern, direct);
}

#[test]
fn the_inspector_sees_the_same() {
    let scene = everything();
    let inspect = |server: &Command, arguments: &[&str]| -> Value {
        let words = words(server);
        let config = scene.outside("config.json");
        let entry = json!({"mcpServers": {"it": {"command": words[0], "args": words[1..]}}});
        std::fs::write(&config, entry.to_string()).unwrap();
        let mut client = scene.host("timeout");
        client
            .arg("600")
            .arg(newer_node())
            .arg(installed().join("inspector/node_modules/.bin/mcp-inspector"));
        client.args(["--cli", "--config"]).arg(&config).args(["--server", "it"]).args(arguments);
        let text = printed(client);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    for arguments in [
        &["--method", "tools/list"][..],
        &["--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=2", "b=40"],
        &["--method", "prompts/list"],
        &["--method", "resources/list"],
    ] {
        let mut fenced = inspect(&scene.wrapped(), arguments);
        if let Some(tools) = fenced.get_mut("tools").and_then(Value::as_array_mut) {
            tools.retain(|tool| tool["name"] != "ringfence_policy");
        }
        assert_eq!(fenced, inspect(&scene.direct(), arguments), "{arguments:?}");
    }
}

/// What rmcp sees: the version, the tools and an answer.
async fn rmcp(
    server: Command,
    lifecycle: ClientLifecycleMode,
    tool: &'static str,
    arguments: Value,
) -> (String, Vec<String>, String) {
    let mut server = tokio::process::Command::from(server);
    let mut child = server
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let transport = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let client = ().serve_with_lifecycle(transport, lifecycle).await.unwrap();
    let version = client.peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default();
    let tools = client.list_all_tools().await.unwrap();
    let names = tools
        .into_iter()
        .map(|tool| tool.name.to_string())
        .filter(|name| name != "ringfence_policy")
        .collect();
    let params = CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
    let called = client.call_tool(params).await.unwrap();
    let answer = serde_json::to_value(&called.content).unwrap().to_string();
    client.cancel().await.unwrap();
    (version, names, answer)
}

#[test]
fn rmcp_sees_the_same() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let modern = || ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let bounded = |scene: &Scene, lifecycle, tool, arguments: Value| {
        let both = [scene.direct(), scene.wrapped()];
        let work = async {
            let [direct, wrapped] = both;
            let fenced = rmcp(wrapped, lifecycle, tool, arguments.clone()).await;
            (rmcp(direct, ClientLifecycleMode::Initialize, tool, arguments).await, fenced)
        };
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), work).await }).unwrap()
    };
    for scene in [everything(), era::both()] {
        let tool = if scene.name == "everything" {
            ("get-sum", json!({"a": 2, "b": 40}))
        } else {
            ("test_simple_text", json!({}))
        };
        let (direct, fenced) = bounded(&scene, ClientLifecycleMode::Initialize, tool.0, tool.1.clone());
        assert_eq!(direct, fenced, "{}", scene.name);
        let (direct, fenced) = bounded(&scene, modern(), tool.0, tool.1);
        assert_eq!((direct.1, direct.2), (fenced.1, fenced.2), "{}", scene.name);
        assert_eq!(fenced.0, "2026-07-28", "{}", scene.name);
    }
}
