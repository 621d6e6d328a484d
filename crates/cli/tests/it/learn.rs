//! `ringfence learn`: what a run used becomes a toolbox, and the command runs with it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use crate::bench::{Bench, command};

/// Learns, checks what was written, and calls it; learns a second round where the first was not enough.
fn converges(bench: &Bench, name: &str, command: &[&str]) -> String {
    let learn = ["learn", "--name", name, "--out", "one.toml", "--"];
    let told = bench.ringfence(&[&learn[..], command].concat());
    assert!(told.ends_with("exit 0"), "{told}");
    let first = called_with(bench, name, "one.toml");
    if first.ends_with("exit 0") {
        return first;
    }
    let again = ["learn", "--name", name, "--from", "one.toml", "--out", "two.toml", "--"];
    let told = bench.ringfence(&[&again[..], command].concat());
    assert!(told.ends_with("exit 0"), "{told}");
    let second = called_with(bench, name, "two.toml");
    assert!(second.ends_with("exit 0"), "{second}\n{}", bench.read("two.toml"));
    second
}

fn called_with(bench: &Bench, name: &str, file: &str) -> String {
    let checked = bench.ringfence(&["--policy", file, "check"]);
    assert!(checked.ends_with("exit 0"), "{checked}\n{}", bench.read(file));
    bench.ringfence(&["--policy", file, "call", name])
}

fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

fn sh(script: &str) -> [&str; 3] {
    ["sh", "-c", script]
}

#[test]
fn writes_the_smallest_toolbox() {
    let bench = Bench::new().file("notes.txt", "the workshop is on Thursday\n").file("other.txt", "");
    let notes = bench.path().join("notes.txt");
    let told = bench.ringfence(&["learn", "--", "cat", notes.to_str().unwrap()]);
    // How wide a column is depends on the folder's name.
    let told =
        told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    insta::assert_snapshot!(told.join("\n"), @r#"
    # Written by `ringfence learn`: what one run used, and no more. Another run may need more: learn again with --from.
    # Which variables a program reads cannot be observed: it has those that were passed with --env.
    # The run: cat [W]/notes.txt

    [personality]
    id = "learnt-cat"
    fs_reach = { read = ["${workspace}/notes.txt"] }
    process = { allow = ["cat"] }

    [[tool]]
    name = "cat"
    description = "Run cat, as it was learnt"
    command = ["cat", "${workspace}/notes.txt"]
    input = { type = "object", additionalProperties = false }
    output = { type = "string" }
    capabilities = { fs_reach = { read = ["${workspace}/notes.txt"] }, process = { allowedBinaries = ["cat"] } }
    the workshop is on Thursday
    DID TIMES WHAT NOTE
    read 1 [W]/notes.txt
    the same as flags: ringfence run --read [W]/notes.txt -- cat [W]/notes.txt
    exit 0
    "#);
}

#[test]
fn what_was_learnt_runs_with_the_toolbox_and_with_the_flags() {
    let bench = Bench::new().file("in/a", "alpha\n").file("in/b", "beta\n").file("secret", "canary\n");
    let script = "cat in/a in/b | tr a-z A-Z > out.txt; cat out.txt";
    let called = converges(&bench, "upper", &sh(script));
    assert!(called.contains("ALPHA\\nBETA"), "{called}");
    let told = bench.ringfence(&["learn", "--json", "--", "sh", "-c", script]);
    let told: Value = serde_json::from_str(told.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
    let line = told["run"].as_str().unwrap();
    let line = line.strip_prefix("ringfence ").unwrap();
    assert!(line.contains("--exec cat") && line.contains("--exec tr"), "{line}");
}

#[test]
fn an_argument_that_is_a_path_needs_no_working_directory() {
    let bench = Bench::new().file("notes.txt", "the workshop is on Thursday\n").file("other.txt", "");
    let called = converges(&bench, "count", &["wc", "-l", "notes.txt"]);
    assert!(called.contains("1 [W]/notes.txt"), "{called}");
    let written = bench.read("one.toml");
    assert!(
        written.contains(r#"capabilities = { fs_reach = { read = ["${workspace}/notes.txt"] }"#),
        "{written}"
    );
    // What a script names by itself is looked for where it works.
    let called = converges(&Bench::new().file("notes.txt", "x"), "cat", &sh("cat notes.txt"));
    assert!(called.contains(r#""value":"x""#), "{called}");
}

#[test]
fn keeps_what_is_sensitive_out() {
    let bench = Bench::new()
        .file("home/.ssh/id_ed25519", "PRIVATE")
        .file("home/.bash_history", "mysql -p hunter2")
        .file("home/w/.env", "TOKEN=hunter2")
        .file("home/w/code.txt", "code");
    let home = bench.path().join("home");
    let script = "cat ~/.ssh/id_ed25519 $1/.ssh/id_ed25519; cat $1/.bash_history $1/w/.env $1/w/code.txt > /dev/null; \
        echo x > $1/planted; (exec 3<>/dev/tcp/203.0.113.9/443); getent hosts collect.example; true";
    let arguments = [
        "--workspace",
        "home/w",
        "learn",
        "--name",
        "thief",
        "--out",
        "one.toml",
        "--",
        "bash",
        "-c",
        script,
        "bash",
        home.to_str().unwrap(),
    ];
    let told = bench.ringfence_in(&[("HOME", home.to_str().unwrap())], &arguments);
    assert!(!told.contains("PRIVATE"), "{told}");
    let written = bench.read("one.toml");
    let granted: String =
        written.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let capabilities = granted.split("capabilities").nth(1).unwrap();
    for never in [".ssh", "history", ".env", "planted", "203.0.113.9", "collect.example", "network"] {
        assert!(!capabilities.contains(never), "{never}: {written}");
    }
    let review = lines(&written, "# review:").join("\n");
    for seen in [
        ".ssh/id_ed25519",
        ".bash_history",
        "${workspace}/.env",
        "write ${home}:",
        "203.0.113.9:443",
        "collect.example",
    ] {
        assert!(review.contains(seen), "{seen}: {review}");
    }
    assert!(!home.join("planted").exists());
}

#[test]
fn a_folder_that_was_listed_brings_nothing_private() {
    let bench = Bench::new()
        .file("w/data/.env", "TOKEN=hunter2")
        .file("w/data/deep/server.key", "PRIVATE")
        .file("w/data/notes.txt", "notes")
        .file("w/plain/one", "1")
        .file("w/plain/.env.example", "TOKEN=");
    let workspace = bench.path().join("w");
    let script = "ls $1/data $1/plain $1/data/deep; cat $1/data/notes.txt";
    let learn = [
        "--workspace",
        "w",
        "learn",
        "--name",
        "lister",
        "--out",
        "one.toml",
        "--",
        "sh",
        "-c",
        script,
        "sh",
    ];
    let told = bench.ringfence(&[&learn[..], &[workspace.to_str().unwrap()]].concat());
    assert!(told.ends_with("exit 0"), "{told}");
    let written = bench.read("one.toml");
    let granted: String = written.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(granted.contains(r#"read = ["${workspace}/data/notes.txt", "${workspace}/plain"]"#), "{written}");
    let review = lines(&written, "# review:").join("\n");
    assert!(
        review.contains("list ${workspace}/data: it holds `.env`, `deep/server.key`, whose names"),
        "{review}"
    );
    assert!(review.contains("list ${workspace}/data/deep: it holds `server.key`"), "{review}");

    // The same where something is made in it, unless somebody agrees to all of it.
    let script = "echo x > $1/data/out";
    let learn = ["--workspace", "w", "learn", "--name", "maker", "--out", "two.toml"];
    let command = ["--", "sh", "-c", script, "sh", workspace.to_str().unwrap()];
    bench.ringfence(&[&learn[..], &command].concat());
    let written = bench.read("two.toml");
    assert!(written.contains("# review: write in ${workspace}/data: it holds `.env`"), "{written}");
    assert!(!written.contains("write = ["), "{written}");
    std::fs::remove_file(workspace.join("data/out")).unwrap();
    let learn = ["--workspace", "w", "learn", "--name", "maker", "--out", "three.toml", "--write", "w/data"];
    bench.ringfence(&[&learn[..], &command].concat());
    let written = bench.read("three.toml");
    assert!(written.contains(r#"write = ["${workspace}/data"]"#), "{written}");
}

#[test]
fn hosts_are_learnt_by_name_and_only_when_they_were_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _request = std::io::Read::read(&mut stream, &mut [0; 4096]);
            let _answer =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
        }
    });
    let script = format!(
        "import urllib.request as r\nprint(r.urlopen('http://notes.test:{port}/').read())\n\
         try: r.urlopen('http://collect.example/')\nexcept OSError: pass"
    );
    let host = format!("notes.test:{port}");
    let learn = [
        "learn",
        "--host",
        &host,
        "--host",
        "unused.test",
        "--private",
        "127.0.0.1",
        "--resolve",
        "notes.test=127.0.0.1",
    ];
    let told = Bench::new().ringfence(&[&learn[..], &["--", "python3", "-c", &script]].concat());
    assert!(told.contains("b'hi'") && told.ends_with("exit 0"), "{told}");
    let allow = format!(r#"network = {{ allow = ["notes.test:{port}"], private = ["127.0.0.1"] }}"#);
    assert!(told.contains(&allow) && !told.contains("resolv.conf"), "{told}");
    assert!(told.contains("# review: reach collect.example:"), "{told}");
}

#[test]
fn loses_nothing_under_load() {
    const FILES: usize = 20_000;
    let bench = Bench::new();
    for number in 0..FILES {
        let folder = bench.path().join(format!("many/{}", number / 200));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(number.to_string()), "").unwrap();
    }
    // Four processes at once, each a quarter.
    let script = "import os, sys\nfor quarter in range(3):\n  if os.fork() == 0: break\nelse: quarter = 3\n\
        for number in range(quarter, 20000, 4): open(f'many/{number // 200}/{number}').close()\n\
        [os.wait() for _ in range(3)] if quarter == 3 else None";
    let told = bench.ringfence(&["learn", "--json", "--limit", "wall=120s", "--", "python3", "-c", script]);
    let told: Value = serde_json::from_str(told.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
    assert_eq!(told["exitCode"], 0, "{told}");
    let read = told["observed"]["paths"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["how"] == "read" && one["path"].as_str().unwrap().starts_with("[W]/many/"));
    assert_eq!(read.count(), FILES);
    assert!(told["toolbox"].as_str().unwrap().contains("\"${workspace}"), "{}", told["toolbox"]);
}

#[test]
fn git_converges() {
    let bench = Bench::new().file("work/file.txt", "one\n");
    let git = "git -c user.name=a -c user.email=a@b";
    let learn = |name: &str, script: String| {
        let script = format!("cd work && {script}");
        for file in ["one.toml", "two.toml"] {
            let _gone = std::fs::remove_file(bench.path().join(file));
        }
        converges(&bench, name, &sh(&script))
    };
    learn("init", "git init -q . 2>&1; git status --short".into());
    learn("add", "git add -A && git status --short".into());
    let called = learn(
        "commit",
        format!("echo $$ >> file.txt && {git} commit -qam more && git log --oneline | wc -l"),
    );
    assert!(called.contains("\"ok\":true"), "{called}");
    learn("log", "git log --stat && git diff HEAD".into());
    learn(
        "clone",
        "copy=$(mktemp -u ../copyXXXXXX) && git clone -q . $copy && git -C $copy log --oneline".into(),
    );
}

#[test]
fn python_converges() {
    let script = "import json, sqlite3, subprocess, pathlib\n\
        data = json.loads(pathlib.Path('in.json').read_text())\n\
        base = sqlite3.connect('data.db'); base.execute('create table if not exists t (x)')\n\
        base.execute('insert into t values (1)'); base.commit()\n\
        rows = base.execute('select count(*) from t').fetchone()[0]\n\
        pathlib.Path('out.json').write_text(json.dumps({'sum': sum(data), 'rows': rows}))\n\
        print(subprocess.run(['wc', '-c', 'out.json'], capture_output=True, text=True).stdout)\n";
    let bench = Bench::new().file("in.json", "[1, 2, 3]").file("sum.py", script);
    let called = converges(&bench, "sum", &["python3", "sum.py"]);
    assert!(called.contains("out.json"), "{called}");
    assert!(bench.read("one.toml").contains("\"wc\""), "{}", bench.read("one.toml"));
}

#[test]
fn node_converges() {
    let script = "const fs = require('fs'); const { execFileSync } = require('child_process');\n\
        fs.mkdirSync('out', { recursive: true });\n\
        fs.writeFileSync('out/list', fs.readdirSync('in').join('\\n'));\n\
        console.log(execFileSync('cat', ['out/list']).toString());\n";
    let bench = Bench::new().file("in/a", "").file("in/b", "").file("list.js", script);
    let called = converges(&bench, "list", &["node", "list.js"]);
    assert!(called.contains("a\\nb"), "{called}");
}

#[test]
fn an_mcp_server_converges() {
    let bench = Bench::new().file("server.py", SERVER).file("notes/today.txt", "the workshop is on Thursday");
    let requests = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_note","arguments":{"name":"today.txt"}}}"#,
        "\n",
    );
    let learn = ["learn", "--server", "--name", "notes", "--out", "one.toml", "--", "python3", "server.py"];
    let told = bench.ringfence_with(&learn, requests.as_bytes());
    assert!(told.contains("Thursday") && told.ends_with("exit 0"), "{told}");
    let checked = bench.ringfence(&["--policy", "one.toml", "check"]);
    assert!(checked.ends_with("exit 0"), "{checked}\n{}", bench.read("one.toml"));
    let wrap = [
        "--policy",
        "one.toml",
        "wrap",
        "--name",
        "notes",
        "--accept",
        "clean",
        "--",
        "python3",
        "server.py",
    ];
    let served = talked(&bench, &wrap, requests);
    assert!(served.contains("Thursday"), "{served}\n{}", bench.read("one.toml"));

    // Without a policy it starts where its own file is, and sees nothing else there.
    let wrap = ["wrap", "--name", "alone", "--accept", "clean", "--", "python3", "server.py"];
    let served = talked(&bench, &wrap, requests);
    assert!(served.contains("read_note") && !served.contains("Thursday"), "{served}");
}

/// Says the first line, waits for the answer, then says the rest, as a client does.
fn talked(bench: &Bench, arguments: &[&str], lines: &str) -> String {
    let mut child = command(&bench.path())
        .args(arguments)
        .env("XDG_STATE_HOME", bench.path().join("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let (first, rest) = lines.split_once('\n').unwrap();
    writeln!(input, "{first}").unwrap();
    let mut said = String::new();
    output.read_line(&mut said).unwrap();
    input.write_all(rest.as_bytes()).unwrap();
    // Two more answers, in any order.
    output.read_line(&mut said).unwrap();
    output.read_line(&mut said).unwrap();
    drop(input);
    child.wait().unwrap();
    said
}

/// As small as a server can be.
const SERVER: &str = r#"
import json, pathlib, sys
tool = {"name": "read_note", "description": "Read a note", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [tool]}
    elif method == "tools/call":
        text = (pathlib.Path("notes") / message["params"]["arguments"]["name"]).read_text()
        result = {"content": [{"type": "text", "text": text}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

#[test]
fn a_second_round_keeps_what_the_first_granted() {
    let bench = Bench::new().file("a.txt", "a").file("b.txt", "b");
    let cat = |file: &str, from: &[&str], to: &str| {
        let path = bench.path().join(file);
        let learn = [&["learn"][..], from, &["--out", to, "--", "cat", path.to_str().unwrap()]].concat();
        let told = bench.ringfence(&learn);
        assert!(told.ends_with("exit 0"), "{told}");
    };
    cat("a.txt", &[], "one.toml");
    cat("b.txt", &["--from", "one.toml"], "two.toml");
    let two = bench.read("two.toml");
    assert!(two.contains(r#"read = ["${workspace}/a.txt", "${workspace}/b.txt"]"#), "{two}");
    // The same file may be widened in place, and no other is written over.
    cat("b.txt", &["--from", "one.toml"], "one.toml");
    insta::assert_snapshot!(bench.ringfence(&["learn", "--out", "one.toml", "--", "true"]), @"
    error: `one.toml` is there already
      hint: name another file, or widen this one with --from FILE --out FILE
    exit 2
    ");
    let without_notes = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("# The command was "));
        lines.collect::<Vec<_>>().join("\n").replace("b.txt", "")
    };
    assert_eq!(without_notes(&bench.read("one.toml")), without_notes(&two));
}

#[test]
fn a_round_with_another_command_writes_that_command() {
    let bench = Bench::new().file("a.txt", "a").file("b.txt", "b");
    let told = bench.ringfence(&["learn", "--out", "one.toml", "--", "cat", "a.txt"]);
    assert!(told.ends_with("exit 0"), "{told}");
    let told = bench.ringfence(&["learn", "--from", "one.toml", "--out", "one.toml", "--", "wc", "b.txt"]);
    assert!(told.ends_with("exit 0"), "{told}");
    let written = bench.read("one.toml");
    assert!(written.contains("name = \"wc\""), "{written}");
    assert!(written.contains("command = [\"wc\", \"${workspace}/b.txt\"]"), "{written}");
    assert!(written.contains("allowedBinaries = [\"wc\", \"cat\"]"), "{written}");
    let flags = lines(&told, "the same as flags:").join("");
    assert!(flags.contains("--exec cat") && !flags.contains("--exec wc"), "{flags}");
    let said =
        "ringfence: The command was `cat '${workspace}/a.txt'` in `one.toml`; it is now that of this run";
    assert!(told.contains(said), "{told}");
}

#[test]
fn what_somebody_wrote_is_never_lost() {
    let bench = Bench::new().file("a.txt", "a");
    let learn = ["learn", "--out", "one.toml", "--", "cat", "a.txt"];
    assert!(bench.ringfence(&learn).ends_with("exit 0"));
    let before = format!("{}\n# mine\n", bench.read("one.toml"));
    std::fs::write(bench.path().join("one.toml"), &before).unwrap();
    let widen = ["learn", "--from", "one.toml", "--out", "one.toml", "--", "cat", "a.txt"];
    let told = bench.ringfence(&widen);
    assert!(told.contains("wrote one.toml; what it said before is in one.toml.bak-ringfence"), "{told}");
    assert_eq!(bench.read("one.toml.bak-ringfence"), before);

    let tool = "[[tool]]\nname = \"other\"\ndescription = \"Print what comes in\"\ncommand = [\"cat\"]\noutput = { type = \"string\" }\n\
        input = { type = \"object\" }\ncapabilities = { process = { allowedBinaries = [\"cat\"] } }\n";
    let both = bench.read("one.toml").replace("[[tool]]", &format!("{tool}\n[[tool]]"));
    let both =
        both.replace("id = \"learnt-cat\"", "id = \"mine\"\napprovals = { tools = { cat = \"dual\" } }");
    for (file, lost) in [
        (both.clone(), "`personality.approvals`, 2 entries of `[[tool]]`"),
        (bench.read("one.toml").replace("[[tool]]", "[[tool]]\nlimits = { wall = \"5s\" }"), "`tool.limits`"),
    ] {
        std::fs::write(bench.path().join("one.toml"), &file).unwrap();
        let told = bench.ringfence(&widen);
        assert!(told.contains("`one.toml` holds what `learn` does not write and would lose: "), "{told}");
        assert!(told.contains(lost) && told.ends_with("exit 2"), "{told}");
        assert!(told.contains("hint: write to another file with --out FILE, and merge"), "{told}");
        assert_eq!(bench.read("one.toml"), file);
    }
    // To another file it may go, which says what it has not.
    std::fs::write(bench.path().join("one.toml"), &both).unwrap();
    let told = bench.ringfence(&["learn", "--from", "one.toml", "--out", "two.toml", "--", "cat", "a.txt"]);
    assert!(told.ends_with("exit 0"), "{told}");
    assert!(
        bench.read("two.toml").contains("# Not taken over from `one.toml`: `personality.approvals`"),
        "{told}"
    );
}

#[test]
fn the_flags_can_be_pasted_whatever_the_arguments_hold() {
    let bench = Bench::new();
    let told = bench.ringfence(&["learn", "--", "printf", "one\ntwo\u{1b}it's\n"]);
    let flags = lines(&told, "the same as flags:").join("");
    assert!(flags.ends_with(r"-- printf $'one\ntwo\033it\'s\n'"), "{flags}");
}

#[test]
fn a_program_of_the_workspace_is_learnt_by_its_path() {
    let bench = Bench::new().file("tool.sh", "#!/bin/sh\necho ran with \"$1\"\n");
    let tool = bench.path().join("tool.sh");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let called = converges(&bench, "outer", &sh("./tool.sh x"));
    assert!(called.contains("ran with x"), "{called}");
}

#[test]
fn a_command_that_fails_is_said_to_have() {
    let bench = Bench::new();
    let told = bench.ringfence(&["learn", "--", "sh", "-c", "exit 7"]);
    assert!(told.contains("# The command ended with 7") && told.ends_with("exit 1"), "{told}");
    insta::assert_snapshot!(bench.ringfence(&["learn", "--", "no-such-program"]), @"
    refused: BINARY_NOT_FOUND: `no-such-program` cannot be started: no program of this name is found, and it is not an absolute path
      hint: install it, or write its whole path
      why: ringfence explain BINARY_NOT_FOUND
    exit 3
    ");
    let told = bench.ringfence_in(&[("HOME", bench.path().to_str().unwrap())], &["learn", "--", "true"]);
    insta::assert_snapshot!(told, @"
    error: `[W]` holds your home, and the command could write there
      hint: go to a folder of its own, or name one with --write DIR or --workspace DIR
    exit 2
    ");
}
