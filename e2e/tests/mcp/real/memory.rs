//! server-memory: its file, and no other.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{compare, same};
use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::{Scene, npm};

fn prepare(workspace: &Path) {
    fs::create_dir(workspace.join("memory")).unwrap();
}

#[test]
fn every_tool_works_inside() {
    // By itself it is told of its file the same way as the example does it.
    let mut scene = Scene::example("memory", |_| npm("server-memory", &[]));
    let file = scene.workspace().join("memory/memory.jsonl");
    scene.variables.push(("MEMORY_FILE_PATH", file.display().to_string()));
    let ann = json!({"name": "Ann", "entityType": "person", "observations": ["likes fences"]});
    let bob = json!({"name": "Bob", "entityType": "person", "observations": []});
    let knows = json!([{"from": "Ann", "to": "Bob", "relationType": "knows"}]);
    let calls = [
        same("create_entities", json!({"entities": [ann, bob]})),
        same("create_relations", json!({"relations": knows})),
        same(
            "add_observations",
            json!({"observations": [{"entityName": "Bob", "contents": ["digs holes", "is late"]}]}),
        ),
        same("read_graph", json!({})),
        same("search_nodes", json!({"query": "fences"})),
        same("open_nodes", json!({"names": ["Bob"]})),
        same(
            "delete_observations",
            json!({"deletions": [{"entityName": "Bob", "observations": ["is late"]}]}),
        ),
        same("delete_relations", json!({"relations": knows})),
        same("delete_entities", json!({"entityNames": ["Ann"]})),
        same("read_graph", json!({})),
    ];
    compare(&scene, prepare, &calls);
    assert!(fs::read_to_string(file).unwrap().contains("digs holes"), "it really kept it");
}

#[test]
fn a_file_elsewhere_cannot_be_written() {
    let mut scene = Scene::example("memory", |_| npm("server-memory", &[]));
    prepare(&scene.workspace());
    let elsewhere = scene.outside("elsewhere.jsonl");
    let text = fs::read_to_string(scene.policy_file()).unwrap();
    let moved = text.replace("${workspace}/memory/memory.jsonl", elsewhere.to_str().unwrap());
    assert_ne!(moved, text);
    scene.policy(&moved);
    let entities = json!({"entities": [{"name": "x", "entityType": "y", "observations": []}]});
    let mut client = Client::connect(scene.wrapped(), LEGACY, Answers::default());
    let reply = client.call("create_entities", entities.clone());
    // Below `/tmp` the server writes to a scratch space of its own, and nobody else sees it.
    let is_scratch = elsewhere.starts_with("/tmp");
    let is_refused = reply.is_err() || reply.as_ref().is_ok_and(|result| result["isError"] == true);
    assert!(is_scratch || is_refused, "{reply:?}");
    assert!(!elsewhere.exists());

    scene.variables.push(("MEMORY_FILE_PATH", elsewhere.display().to_string()));
    let mut alone = Client::connect(scene.direct(), LEGACY, Answers::default());
    alone.call("create_entities", entities).unwrap();
    assert!(elsewhere.exists(), "without a fence it writes there");
}
