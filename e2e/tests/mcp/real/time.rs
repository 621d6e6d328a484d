//! mcp-server-time: the clock and the time zones are of the machine, and nothing else.

use serde_json::json;

use super::{compare, same, shape};
use crate::mcp::place::{Scene, python};

#[test]
fn every_tool_works_inside() {
    let scene = Scene::example("time", |_| python("py", "mcp-server-time", &["--local-timezone", "UTC"]));
    let convert =
        json!({"source_timezone": "Asia/Tokyo", "time": "08:30", "target_timezone": "Asia/Kolkata"});
    let calls = [
        shape("get_current_time", json!({"timezone": "Europe/Berlin"})),
        shape("get_current_time", json!({"timezone": "UTC"})),
        // The same minute of the same day on both sides of the call, but for one minute a day.
        same("convert_time", convert),
    ];
    compare(&scene, |_| {}, &calls);
}
