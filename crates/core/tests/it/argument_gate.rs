//! The argument gate in its three modes, and what wakes it.

use std::sync::Arc;

use ringfence::{Backends, GateMode, HostFiles, Registry, Run, tool};
use serde_json::{Value, json};

use crate::it::stage::{Stage, code, personality};

fn stage(mode: Option<GateMode>, reach: Option<Value>) -> Stage {
    let mut builder = Registry::builder()
        .personality(personality(json!({"fs_reach": {"read": ["/srv/in"], "write": ["/srv/out"]}})))
        .backends(Backends::none().files(HostFiles::new()));
    if let Some(mode) = mode {
        builder = builder.gate(mode);
    }
    let capabilities = reach.map_or(json!({}), |reach| json!({"fs_reach": reach}));
    Stage::of(builder).with(
        tool("files")
            .capabilities(serde_json::from_value(capabilities).unwrap())
            .input_schema(json!({
                "properties": {
                    "from": {"type": "string", "format": "path", "direction": "read"},
                    "to": {"type": "string", "format": "path", "direction": "write"},
                },
            }))
            .output_schema(json!(true))
            .run(|_: Value, _| async { Ok(json!("ran")) })
            .unwrap(),
    )
}

fn both() -> Option<Value> {
    Some(json!({"read": ["/srv/in"], "write": ["/srv/out"]}))
}

#[tokio::test]
async fn each_mode_does_what_it_says() {
    let outside = json!({"deep": [{"er": "/etc/passwd"}]});
    #[rustfmt::skip]
    let cases: [(Option<GateMode>, &str, &[&str]); 4] = [
        (None,                     "PATH_NOT_REACHABLE", &["refused files PATH_NOT_REACHABLE"]),
        (Some(GateMode::Enforce),  "PATH_NOT_REACHABLE", &["refused files PATH_NOT_REACHABLE"]),
        (Some(GateMode::Observe),  "",                   &["observed files PATH_NOT_REACHABLE", "called files"]),
        (Some(GateMode::Off),      "",                   &["called files"]),
    ];
    for (mode, expected, events) in cases {
        let stage = stage(mode, both());
        assert_eq!(code(&stage.call("files", outside.clone()).await), expected, "{mode:?}");
        assert_eq!(stage.log.lines(), events, "{mode:?}");
    }
}

#[tokio::test]
async fn it_wakes_with_a_declared_stance_and_sleeps_without() {
    let path = json!({"x": "/srv/in/a"});
    assert_eq!(code(&stage(None, None).call("files", json!({"x": "/etc/passwd"})).await), "");
    assert_eq!(code(&stage(None, both()).call("files", path.clone()).await), "");
    let none = Some(json!({"read": [], "write": []}));
    assert_eq!(code(&stage(None, none).call("files", path.clone()).await), "PATH_NOT_REACHABLE");
    assert_eq!(code(&stage(None, Some(json!({}))).call("files", path).await), "PATH_NOT_REACHABLE");
}

#[tokio::test]
async fn marked_fields_are_judged_in_their_direction_from_the_working_directory() {
    let mut stage = stage(None, both());
    #[rustfmt::skip]
    let cases = [
        (json!({"from": "/srv/in/a"}),   true),
        (json!({"from": "/srv/out/a"}),  false),
        (json!({"to": "/srv/out/a"}),    true),
        (json!({"to": "/srv/in/a"}),     false),
        (json!({"from": "a/b"}),         true),
        (json!({"from": "../x"}),        false),
        (json!({"to": "a/b"}),           false),
    ];
    stage.run = Run::builder("run-1", "session-1").in_directory("/srv/in").start();
    for (arguments, reachable) in cases.clone() {
        assert_eq!(stage.call("files", arguments.clone()).await.outcome.is_done(), reachable, "{arguments}");
    }
    stage.run = Run::new("run-2", "session-1");
    let relative = stage.call("files", json!({"from": "a/b"})).await;
    assert_eq!(code(&relative), "PATH_NOT_REACHABLE", "without a working directory nothing is relative");
}

#[tokio::test]
async fn file_urls_are_found_however_they_are_disguised() {
    let stage = stage(None, both());
    #[rustfmt::skip]
    let urls = [
        "file:///etc/passwd", "FILE:///etc/passwd", "file:/etc/passwd", " \tfile:///etc/passwd",
        "fi\tle:///etc/passwd", "file\n:///etc/passwd", "\u{1}file:///etc/passwd", "file:///srv/in/%2e%2e/%2e%2e/etc",
        "file://localhost/etc/passwd", "file:\\\\\\etc\\passwd", "file:///%2fetc/passwd", "file:etc/passwd",
    ];
    for url in urls {
        assert_eq!(code(&stage.call("files", json!({"url": url})).await), "PATH_NOT_REACHABLE", "{url:?}");
    }
    for harmless in ["profile: x", "file", "a file:///etc", "https://x/file:///etc"] {
        assert_eq!(code(&stage.call("files", json!({"text": harmless})).await), "", "{harmless}");
    }
    assert_eq!(Arc::strong_count(&stage.registry), 1);
}
