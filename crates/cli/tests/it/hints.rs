//! What a newcomer does wrong: each mistake is answered with what to do next.

use std::net::TcpListener;

use crate::bench::Bench;

const TOOLBOX: &str = "[personality]\nid = \"reader\"\nfs_reach = { read = [\"${workspace}\"] }\n\n\
    [[tool]]\nname = \"read_file\"\nbuiltin = \"read_file\"\ncapabilities = { fs_reach = { read = \"from-personality\" } }\n";

/// Says whether an answer tells what to do: a hint of ours, the fix of a problem, or the usage of the command.
fn helps(said: &str) -> bool {
    let ours = ["  hint: ", "  fix: ", "\"hint\":\"", "\"fix\":\""];
    let clap = ["For more information, try '--help'.", "Usage: ringfence"];
    ours.iter().chain(&clap).any(|part| said.contains(part))
}

fn assert_helps(bench: &Bench, mistakes: &[&[&str]]) {
    for arguments in mistakes {
        let said = bench.ringfence(arguments);
        assert!(helps(&said), "{arguments:?} is left alone with:\n{said}");
        assert!(!said.ends_with("exit 0") && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[test]
fn without_a_toolbox() {
    assert_helps(
        &Bench::new(),
        &[
            &["check"],
            &["tools"],
            &["call", "read_file"],
            &["serve"],
            &["gateway"],
            &["manifest"],
            &["manifest", "verify"],
            &["pins", "accept"],
            &["scan"],
            &["scan", "tools.json"],
            &["audit", "replay", "today"],
            &["check", "--policy", "absent.toml"],
            &["check", "--policy", "."],
            &["run", "--tool", "grep", "--", "ls"],
            &["install", "--name", "git", "--", "uvx", "mcp-server-git"],
        ],
    );
}

#[test]
fn without_a_store() {
    let bench =
        Bench::new().file("ringfence.toml", TOOLBOX).file("notes.db", "not a database at all, only text\n");
    assert_helps(
        &bench,
        &[
            &["approvals", "list"],
            &["approver", "list"],
            &["audit", "tail"],
            &["idempotency", "list"],
            &["store", "check"],
            &["audit", "tail", "--store", "notes.db"],
            &["call", "--store", "notes.db", "read_file", "{}"],
            &["store", "check", "--store", "mysql://db/x"],
            &["store", "copy", "notes.db", "elsewhere.db"],
            &["store", "check", "--store", "postgres://127.0.0.1:1/x"],
            &["approvals", "approve", "12345678"],
        ],
    );
}

#[test]
fn with_wrong_words() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    assert_helps(
        &bench,
        &[
            &[],
            &["chek"],
            &["check", "--jsn"],
            &["run"],
            &["run"],
            &["run", "--", "no-such-program"],
            &["run", "--exec", "no-such-program", "--", "ls"],
            &["run", "--limit", "walls=8s", "--", "ls"],
            &["run", "--limit", "wall", "--", "ls"],
            &["run", "--env", "=x", "--", "ls"],
            &["run", "--secret", "x", "--", "ls"],
            &["run", "--secret", "NO_SUCH=X", "--", "ls"],
            &["run", "--cwd", "/no/such/folder", "--", "ls"],
            &["run", "--host", "*.*", "--", "ls"],
            &["run", "--image", "tools", "--", "ls"],
            &["call", "read_file", "notes.txt"],
            &["call", "nosuch"],
            &["call", "plugin.wasm"],
            &["call", "read_file", r#"{"file": "notes.txt"}"#],
            &["pins", "accept", "nosuch"],
            &["pins", "diff", "--server", "nosuch"],
            &["manifest", "accept"],
            &["manifest", "diff", "old.json", "new.json"],
            &["component", "show", "plugin.wasm"],
            &["import", "mcp.json"],
            &["wrap", "--", "no-such-program"],
            &["wrap"],
            &["install", "--", "no-such-program"],
            &["audit", "verify", "--trust", "nonsense"],
            &["audit", "check-proof", "proof", "--trust", "nonsense"],
            &["audit", "checkpoint", "--key", "log.key"],
            &["audit", "keygen", "acme.io/log", "no/such/folder/key"],
            &["completions", "csh"],
            &["man", "nosuch"],
            &["init", "--mcp"],
        ],
    );
}

#[test]
fn with_a_store_and_wrong_names() {
    let bench = Bench::new().file("ringfence.toml", TOOLBOX).file("notes.txt", "x");
    assert!(bench.ringfence(&["store", "migrate", "--store", "s.db"]).ends_with("exit 0"));
    assert_helps(
        &bench,
        &[
            &["approvals", "--store", "s.db", "show", "12345678"],
            &["approver", "--store", "s.db", "revoke", "nobody"],
            &["audit", "--store", "s.db", "show", "99"],
            &["audit", "--store", "s.db", "replay", "nosuch"],
            &["idempotency", "--store", "s.db", "settle", "k", "--not-done", "--by", "ada", "--reason", "r"],
            &["store", "--store", "s.db", "backup", "notes.txt"],
            &["store", "--store", "s.db", "backup", "no/such/folder/s.db"],
        ],
    );
}

#[test]
fn where_a_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let bench = Bench::new().file("ringfence.toml", TOOLBOX);
    for command in ["serve", "gateway"] {
        let said = bench.ringfence(&[command, "--listen", &address, "--anonymous"]);
        assert!(said.contains("cannot listen on") && helps(&said) && said.ends_with("exit 2"), "{said}");
    }
}

#[test]
fn where_nobody_may_write() {
    // Whatever user runs this, nobody makes files there.
    let bench = Bench::new();
    let said = bench.ringfence(&["init", "--policy", "/proc/ringfence.toml", "--command", "--", "cat"]);
    assert!(helps(&said) && !said.ends_with("exit 0"), "{said}");
    let said = bench.ringfence(&["man", "--out", "/proc/man"]);
    assert!(helps(&said) && !said.ends_with("exit 0"), "{said}");
}
