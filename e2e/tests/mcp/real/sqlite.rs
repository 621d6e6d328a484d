//! mcp-server-sqlite: its database, and no other file.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{compare, same};
use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::{Scene, python};

fn scene() -> Scene {
    Scene::example("sqlite", |workspace| {
        python("py", "mcp-server-sqlite", &["--db-path", workspace.join("data/app.db").to_str().unwrap()])
    })
}

fn prepare(workspace: &Path) {
    fs::create_dir(workspace.join("data")).unwrap();
}

#[test]
fn every_tool_works_inside() {
    let scene = scene();
    let calls = [
        same("create_table", json!({"query": "CREATE TABLE fence (id INTEGER PRIMARY KEY, height REAL)"})),
        same("write_query", json!({"query": "INSERT INTO fence (height) VALUES (1.5), (2.25)"})),
        same("read_query", json!({"query": "SELECT * FROM fence ORDER BY id"})),
        same("list_tables", json!({})),
        same("describe_table", json!({"table_name": "fence"})),
        same("append_insight", json!({"insight": "fences are high"})),
    ];
    compare(&scene, prepare, &calls);
    assert!(scene.workspace().join("data/app.db").exists());
}

#[test]
fn another_database_cannot_be_attached() {
    let scene = scene();
    prepare(&scene.workspace());
    let elsewhere = scene.outside("elsewhere.db");
    // It takes one statement a call; `VACUUM INTO` is one that writes a file anywhere.
    let query = json!({"query": format!("VACUUM INTO '{}'", elsewhere.display())});
    let make = json!({"query": "CREATE TABLE t (x)"});
    let mut client = Client::connect(scene.wrapped(), LEGACY, Answers::default());
    client.call("create_table", make).unwrap();
    let reply = client.call("write_query", query.clone());
    assert!(!elsewhere.exists(), "{reply:?}");
    drop(client);
    let mut alone = Client::connect(scene.direct(), LEGACY, Answers::default());
    let reply = alone.call("write_query", query);
    assert!(elsewhere.exists(), "without a fence it writes there: {reply:?}");
}
