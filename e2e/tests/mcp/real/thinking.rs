//! server-sequential-thinking: a server that needs nothing, and gets nothing.

use serde_json::json;

use super::{compare, same};
use crate::mcp::place::{Scene, npm};

#[test]
fn every_tool_works_inside() {
    let scene = Scene::example("sequential-thinking", |_| npm("server-sequential-thinking", &[]));
    let thought = |number: u32, more: bool| {
        let text = format!("thought {number}");
        json!({"thought": text, "nextThoughtNeeded": more, "thoughtNumber": number, "totalThoughts": 2})
    };
    let calls = [same("sequentialthinking", thought(1, true)), same("sequentialthinking", thought(2, false))];
    compare(&scene, |_| {}, &calls);
}
