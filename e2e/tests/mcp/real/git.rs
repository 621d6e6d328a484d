//! mcp-server-git: a repository, and none of the programs that a hostile repository asks for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{compare, same, shape};
use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY};
use crate::mcp::place::{Scene, python};

/// Runs git on the host, without anybody's configuration.
fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("/usr/bin/git")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin"), ("GIT_CONFIG_NOSYSTEM", "1"), ("HOME", "/nonexistent")])
        .envs([
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@b"),
            ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@b"),
            ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn prepare(workspace: &Path) {
    git(workspace, &["init", "--quiet", "--initial-branch", "main"]);
    fs::write(workspace.join("a.txt"), "one\n").unwrap();
    git(workspace, &["add", "."]);
    git(workspace, &["commit", "--quiet", "--message", "first"]);
    fs::write(workspace.join("a.txt"), "one\ntwo\n").unwrap();
}

fn scene() -> Scene {
    let mut scene = Scene::example("git", |workspace| {
        python("py", "mcp-server-git", &["--repository", workspace.to_str().unwrap()])
    });
    for (name, value) in [("NAME", "An agent"), ("EMAIL", "agent@localhost")] {
        let names: [&'static str; 2] = match name {
            "NAME" => ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"],
            _ => ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"],
        };
        scene.variables.extend(names.map(|name| (name, value.to_owned())));
    }
    scene
}

#[test]
fn every_tool_works_inside() {
    let scene = scene();
    let repo = scene.workspace();
    let calls = [
        same("git_status", json!({"repo_path": repo})),
        same("git_diff_unstaged", json!({"repo_path": repo})),
        same("git_add", json!({"repo_path": repo, "files": ["a.txt"]})),
        same("git_diff_staged", json!({"repo_path": repo})),
        same("git_reset", json!({"repo_path": repo})),
        same("git_add", json!({"repo_path": repo, "files": ["a.txt"]})),
        shape("git_commit", json!({"repo_path": repo, "message": "second"})),
        shape("git_log", json!({"repo_path": repo, "max_count": 2})),
        same("git_create_branch", json!({"repo_path": repo, "branch_name": "side"})),
        same("git_checkout", json!({"repo_path": repo, "branch_name": "side"})),
        shape("git_diff", json!({"repo_path": repo, "target": "HEAD~1"})),
        shape("git_show", json!({"repo_path": repo, "revision": "HEAD"})),
        same("git_branch", json!({"repo_path": repo, "branch_type": "local"})),
    ];
    compare(&scene, prepare, &calls);
}

/// Programs that the repository itself asks for: every one would write the canary.
fn hostile(workspace: &Path, canary: &Path) {
    prepare(workspace);
    let script = workspace.join("evil.sh");
    fs::write(
        &script,
        format!("#!/bin/sh\necho ran >> {}\ncat \"$1\" 2>/dev/null\nexit 0\n", canary.display()),
    )
    .unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    for hook in [
        "pre-commit",
        "post-commit",
        "post-checkout",
        "prepare-commit-msg",
        "reference-transaction",
        "post-index-change",
    ] {
        fs::copy(&script, workspace.join(".git/hooks").join(hook)).unwrap();
    }
    let evil = script.to_str().unwrap();
    fs::write(workspace.join(".gitattributes"), "*.txt diff=evil filter=evil\n").unwrap();
    for (name, value) in [
        ("core.fsmonitor", evil),
        ("diff.evil.textconv", evil),
        ("filter.evil.clean", evil),
        ("filter.evil.smudge", evil),
        ("diff.external", evil),
        ("core.pager", evil),
        ("core.editor", evil),
        ("gpg.program", evil),
    ] {
        git(workspace, &["config", name, value]);
    }
    assert!(!canary.exists(), "the preparation ran it");
}

#[test]
fn what_a_hostile_repository_asks_for_does_not_run() {
    let scene = scene();
    // In the workspace, where the script could write it: it is the running that must fail.
    let canary = scene.workspace().join("canary");
    let act = |command| {
        let mut client = Client::connect(command, LEGACY, Answers::default());
        let repo = scene.workspace();
        for (tool, arguments) in [
            ("git_status", json!({"repo_path": repo})),
            ("git_diff_unstaged", json!({"repo_path": repo})),
            ("git_add", json!({"repo_path": repo, "files": ["a.txt"]})),
            ("git_diff_staged", json!({"repo_path": repo})),
            ("git_commit", json!({"repo_path": repo, "message": "second"})),
            ("git_create_branch", json!({"repo_path": repo, "branch_name": "side"})),
            ("git_checkout", json!({"repo_path": repo, "branch_name": "side"})),
            ("git_log", json!({"repo_path": repo})),
            ("git_show", json!({"repo_path": repo, "revision": "HEAD"})),
        ] {
            // Whether git then goes on or gives up is its own affair.
            let _reply = client.call(tool, arguments);
        }
        // The session is well all the same.
        assert!(!client.tools().is_empty());
    };
    hostile(&scene.workspace(), &canary);
    act(scene.wrapped());
    assert!(!canary.exists(), "ran: {}", fs::read_to_string(&canary).unwrap_or_default());
    scene.clear();
    hostile(&scene.workspace(), &canary);
    act(scene.direct());
    assert!(canary.exists(), "without a fence it must run");
}
