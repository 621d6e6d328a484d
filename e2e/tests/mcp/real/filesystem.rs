//! server-filesystem: the kernel checks its paths, also where it does not.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{compare, same, shape};
use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::{Scene, npm};

fn prepare(workspace: &Path) {
    fs::create_dir(workspace.join("notes")).unwrap();
    fs::write(workspace.join("notes/a.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(workspace.join("b.txt"), "other\n").unwrap();
    fs::write(workspace.join("dot.png"), b"\x89PNG\r\n\x1a\n").unwrap();
}

#[test]
fn every_tool_works_inside() {
    let scene =
        Scene::example("filesystem", |workspace| npm("server-filesystem", &[workspace.to_str().unwrap()]));
    let workspace = scene.workspace();
    let path = |name: &str| workspace.join(name).display().to_string();
    let calls = [
        same("list_allowed_directories", json!({})),
        same("read_file", json!({"path": path("notes/a.txt")})),
        same("read_text_file", json!({"path": path("notes/a.txt"), "head": 1})),
        same("read_media_file", json!({"path": path("dot.png")})),
        same("read_multiple_files", json!({"paths": [path("b.txt"), path("notes/a.txt")]})),
        same("write_file", json!({"path": path("new.txt"), "content": "written\n"})),
        same(
            "edit_file",
            json!({"path": path("new.txt"), "edits": [{"oldText": "written", "newText": "edited"}]}),
        ),
        same("read_text_file", json!({"path": path("new.txt")})),
        same("create_directory", json!({"path": path("deep/er")})),
        same("move_file", json!({"source": path("new.txt"), "destination": path("deep/er/moved.txt")})),
        same("list_directory", json!({"path": path("")})),
        shape("list_directory_with_sizes", json!({"path": path("notes")})),
        same("directory_tree", json!({"path": path("")})),
        same("search_files", json!({"path": path(""), "pattern": "**/*.txt"})),
        shape("get_file_info", json!({"path": path("b.txt")})),
    ];
    compare(&scene, prepare, &calls);
    assert_eq!(
        fs::read_to_string(workspace.join("deep/er/moved.txt")).unwrap(),
        "edited\n",
        "it really wrote"
    );
}

#[test]
fn nothing_outside_is_reached_though_the_server_would_allow_it() {
    // Its own check is given the whole machine; the policy grants the workspace.
    let scene = Scene::example("filesystem", |_| npm("server-filesystem", &["/"]));
    prepare(&scene.workspace());
    let secret = scene.outside("secret.txt");
    fs::write(&secret, "the secret of the host").unwrap();
    std::os::unix::fs::symlink(&secret, scene.workspace().join("link.txt")).unwrap();
    let target = scene.outside("written.txt");
    let inside = scene.workspace().join("b.txt").display().to_string();
    let probe = |command| {
        let mut client = Client::connect(command, LEGACY, Answers::default());
        assert_eq!(client.text("read_text_file", json!({"path": inside})), "other\n");
        let mut got = Vec::new();
        for (tool, arguments) in [
            ("read_text_file", json!({"path": secret})),
            ("read_text_file", json!({"path": scene.workspace().join("link.txt")})),
            ("read_text_file", json!({"path": scene.workspace().join("../secret.txt")})),
            ("read_text_file", json!({"path": format!("/proc/self/root{}", secret.display())})),
            ("read_multiple_files", json!({"paths": [secret, inside]})),
            ("search_files", json!({"path": scene.outside("."), "pattern": "**/secret*"})),
            ("directory_tree", json!({"path": scene.outside(".")})),
            ("get_file_info", json!({"path": secret})),
            ("move_file", json!({"source": secret, "destination": scene.workspace().join("stolen.txt")})),
            ("write_file", json!({"path": target, "content": "x"})),
        ] {
            let reply = client.call(tool, arguments.clone());
            got.push((tool, arguments, format!("{reply:?}")));
        }
        got
    };
    let reached = |got: &[(&'static str, serde_json::Value, String)]| {
        let told = |text: &str| text.contains("the secret of the host") || text.contains("size: 22");
        let seen = |text: &str| text.contains("secret.txt") && !text.contains("rror");
        got.iter().filter(|(_, _, text)| told(text) || seen(text)).map(|(tool, ..)| *tool).collect::<Vec<_>>()
    };

    let got = probe(scene.wrapped());
    assert!(reached(&got).is_empty(), "{got:#?}");
    assert!(!target.exists() && secret.exists() && !scene.workspace().join("stolen.txt").exists());
    // The same without a fence, to know that these would have worked.
    let got = probe(scene.direct());
    assert!(reached(&got).len() >= 6, "{got:#?}");
    assert!(target.exists(), "without a fence it writes anywhere");
}
