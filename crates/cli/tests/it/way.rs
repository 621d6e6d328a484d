//! The way to a file of ours: what lies on it decides which store, policy or manifest is read next.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench::{Bench, command};

const POLICY: &str = r#"
[personality]
id = "clerk"
fs_reach = { read = ["${workspace}"], write = ["${workspace}"] }
process = { allow = ["sh", "cp", "ln", "mkdir", "mv", "rm"] }

[[tool]]
name = "build"
description = "Build something in the workspace"
class = "write"
command = ["sh", "-c", "cd ${workspace}; . ./do.sh; echo built"]
input = { type = "object" }
output = { type = "string" }
capabilities = { fs_reach = { read = ["${workspace}"], write = ["${workspace}"] }, process = { allowedBinaries = ["sh", "cp", "ln", "mkdir", "mv", "rm"] } }

[[tool]]
name = "look"
description = "Look at a file of the workspace"
command = ["sh", "-c", "true"]
input = { type = "object" }
output = { type = "string" }
capabilities = { fs_reach = { read = ["${workspace}/ledger"] }, process = { allowedBinaries = ["sh"] } }

[[tool]]
name = "note"
description = "Note something in the ledger"
class = "write"
idempotency = { mode = "optional" }
command = ["sh", "-c", "echo paid >> ${workspace}/ledger/paid && echo noted"]
input = { type = "object" }
output = { type = "string" }
capabilities = { fs_reach = { write = ["${workspace}/ledger"] }, process = { allowedBinaries = ["sh"] } }
"#;

/// A workspace `w` with a home beside it, both in one folder.
fn scene() -> Bench {
    let bench = Bench::new().file("w/ledger/x", "").file("h/x", "");
    std::fs::DirBuilder::new().mode(0o700).create(bench.path().join("real")).unwrap();
    bench
}

/// Runs the binary in the workspace.
fn say(bench: &Bench, arguments: &[&str]) -> String {
    let mut command = command(&bench.path().join("w"));
    let output = command.args(arguments).env("HOME", bench.path().join("h")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}exit {:?}", text(&output.stdout), text(&output.stderr), output.status.code())
}

fn link(bench: &Bench, to: &str, at: &str) {
    symlink(to, bench.path().join(at)).unwrap();
}

#[test]
fn a_key_takes_effect_once_whoever_exchanges_a_link_to_its_store() {
    #[rustfmt::skip]
    let cases = [
        // store                       who exchanges the link               with what
        ("data/ringfence.db",          &["call", "--store", "data/ringfence.db", "build", "{}"][..]),
        ("data/ringfence.db",          &["run", "--write", ".", "--exec", "rm", "--exec", "mkdir", "--", "sh", "do.sh"]),
        ("vendor/data/ringfence.db",   &["call", "--store", "vendor/data/ringfence.db", "build", "{}"]),
        ("sub/../data/ringfence.db",   &["call", "--store", "sub/../data/ringfence.db", "build", "{}"]),
    ];
    for (store, exchange) in cases {
        let exchanged = store.strip_suffix("/ringfence.db").unwrap().replace("/../data", "");
        let bench = scene()
            .file("w/ringfence.toml", POLICY)
            .file("w/sub/x", "")
            .file("w/vendor/x", "")
            .file("w/elsewhere/sub/x", "")
            .file(
                "w/do.sh",
                format!(
                    "if [ -L {exchanged} ]; then rm {exchanged}; mkdir -m 700 {exchanged}; \
                     else mv {exchanged} gone; ln -s elsewhere/sub {exchanged}; mkdir -m 700 elsewhere/data; fi"
                ),
            );
        link(&bench, "../real", "w/data");
        link(&bench, "../../real", "w/vendor/data");
        let pay = || say(&bench, &["call", "--store", store, "--idempotency-key", "k", "note", "{}"]);
        let told = pay();
        assert!(told.contains("noted"), "{store}: {told}");
        let told = say(&bench, exchange);
        let again = pay();
        assert_eq!(bench.read("w/ledger/paid"), "paid\n", "{store}: {exchange:?}\n{told}\n{again}");
    }
}

#[test]
fn a_store_that_a_name_led_to_is_accepted_or_found_again() {
    let bench = scene().file(
        "w/ringfence.toml",
        POLICY.replace("write = [\"${workspace}\"]", "write = [\"${workspace}/ledger\"]"),
    );
    link(&bench, "../real", "w/data");
    let store = ["--store", "data/pay.db"];
    let pay = || say(&bench, &[&["call"], &store[..], &["--idempotency-key", "k", "note", "{}"]].concat());
    assert!(pay().contains("noted"));
    let data = bench.path().join("w/data");
    std::fs::remove_file(&data).unwrap();
    std::fs::DirBuilder::new().mode(0o700).create(&data).unwrap();
    let told = pay();
    assert!(told.contains("restore the link, or run `ringfence store accept`"), "{told}");
    let told = say(&bench, &[&["store", "accept"], &store[..]].concat());
    assert!(
        told.contains("acknowledged transactions missing: unknown") && told.ends_with("exit Some(4)"),
        "{told}"
    );
    // The link is back, and with it the store.
    std::fs::rename(&data, bench.path().join("w/away")).unwrap();
    link(&bench, "../real", "w/data");
    assert!(pay().contains("noted"));
    assert_eq!(bench.read("w/ledger/paid"), "paid\n");
    std::fs::remove_file(&data).unwrap();
    std::fs::rename(bench.path().join("w/away"), &data).unwrap();
    let told =
        say(&bench, &[&["store", "accept"], &store[..], &["--by", "ada", "--reason", "moved"]].concat());
    assert!(told.contains("accepted: the audit says so"), "{told}");
    assert!(pay().contains("noted"));
}

#[test]
fn a_tool_does_not_exchange_what_leads_to_its_policy() {
    type Lay = fn(&Bench);
    #[rustfmt::skip]
    let cases: [(&str, Lay, &str); 7] = [
        ("pol.toml",           |bench| link(bench, "real.toml", "w/pol.toml"), "rm pol.toml; cp wide.toml pol.toml"),
        ("pol.toml",           |bench| { link(bench, "real.toml", "w/mid.toml"); link(bench, "mid.toml", "w/pol.toml"); },
                               "rm mid.toml; cp wide.toml mid.toml"),
        ("../pol.toml",        |bench| { link(bench, "real.toml", "w/mid.toml"); link(bench, "w/mid.toml", "pol.toml"); },
                               "rm mid.toml; cp wide.toml mid.toml"),
        ("conf/pol.toml",      |bench| link(bench, "c1", "w/conf"), "rm conf; mkdir conf; cp wide.toml conf/pol.toml"),
        ("conf/ringfence.toml", |bench| link(bench, "c1", "w/conf"), "rm conf; ln -s c2 conf"),
        ("vendor/conf/pol.toml", |bench| link(bench, "../c1", "w/vendor/conf"),
                               "rm vendor/conf; mkdir vendor/conf; cp wide.toml vendor/conf/pol.toml"),
        ("sub/../real.toml",   |_| {}, "mv sub gone; mkdir -p other/sub; cp wide.toml other/real.toml; ln -s other/sub sub"),
    ];
    let wide = POLICY.replace("read = [\"${workspace}\"]", "read = [\"${workspace}\", \"${home}/secret\"]");
    for (policy, lay, exchange) in cases {
        let bench = scene()
            .file("h/secret", "canary\n")
            .file("w/do.sh", exchange)
            .file("w/wide.toml", &wide)
            .file("w/real.toml", POLICY)
            .file("w/c1/pol.toml", POLICY)
            .file("w/c1/ringfence.toml", POLICY)
            .file("w/c2/ringfence.toml", &wide)
            .file("w/vendor/x", "")
            .file("w/sub/x", "");
        lay(&bench);
        let told = say(&bench, &["--policy", policy, "call", "build", "{}"]);
        assert!(told.contains("built"), "{policy}: {told}");
        let bench = bench.file("w/do.sh", "while read line; do echo $line; done < ../h/secret");
        let after = say(&bench, &["--policy", policy, "call", "build", "{}"]);
        assert!(
            after.contains("built") && !after.contains("canary"),
            "{policy}: {exchange}\n{told}\n{after}"
        );
    }
}

#[test]
fn a_sandbox_that_cannot_keep_a_link_in_its_place_starts_nothing() {
    let bench = scene().file("w/real.toml", POLICY).file("w/do.sh", "rm pol.toml; cp real.toml pol.toml");
    link(&bench, "real.toml", "w/pol.toml");
    for (backend, program) in [("bwrap", "/usr/bin/bwrap"), ("firejail", "/usr/bin/firejail")] {
        if !Path::new(program).exists() {
            eprintln!("not tried: there is no {program}");
            continue;
        }
        let told = say(&bench, &["--policy", "pol.toml", "call", "--backend", backend, "build", "{}"]);
        assert!(told.contains(r#""ok":false"#) && !told.contains("built"), "{backend}: {told}");
        assert!(bench.path().join("w/pol.toml").is_symlink(), "{backend}: {told}");
    }
}

#[test]
fn nobody_but_a_command_may_write_a_link_on_the_way() {
    let server = "\n[[server]]\nname = \"s\"\n\
        capabilities = { fs_reach = { read = [\"${workspace}\"], write = [\"${workspace}\"] } }\n";
    let bench = scene().file("real.toml", format!("{POLICY}{server}"));
    link(&bench, "../real.toml", "w/mid.toml");
    link(&bench, "w/mid.toml", "pol.toml");
    let workspace = bench.path().join("w").display().to_string();
    let wrap = |policy: &str| {
        say(
            &bench,
            &["--policy", policy, "wrap", "--name", "s", "--workspace", &workspace, "--", "/bin/true"],
        )
    };
    let told = wrap("../pol.toml");
    assert!(told.contains("may write `../pol.toml`") && told.ends_with("exit Some(2)"), "{told}");
    // A workspace that is left by `..`, or that a link names, is not one that it may exchange.
    let told = wrap("../real.toml");
    assert!(!told.contains("may write"), "{told}");
    link(&bench, "w", "short");
    let short = bench.path().join("short").display().to_string();
    let bench = bench.file("w/ringfence.toml", format!("{POLICY}{server}"));
    let policy = format!("{short}/ringfence.toml");
    let told =
        say(&bench, &["--policy", &policy, "wrap", "--name", "s", "--workspace", &short, "--", "/bin/true"]);
    assert!(!told.contains("may write"), "{told}");

    let builtin = r#"
[personality]
fs_reach = { read = ["${workspace}"], write = ["${workspace}"] }

[[tool]]
name = "write"
description = "Write a file"
builtin = "write_file"
capabilities = { fs_reach = { write = "from-personality" } }
"#;
    let bench = bench.file("w/ringfence.toml", builtin);
    link(&bench, "../real", "w/data");
    let input = r#"{"path": "a.txt", "content": "x"}"#;
    let told = say(&bench, &["call", "--store", "data/ringfence.db", "write", input]);
    assert!(told.contains("`write` may replace a link on the way to the store"), "{told}");
    assert!(
        say(&bench, &["call", "--store", "../real/ringfence.db", "write", input]).ends_with("exit Some(0)")
    );
}

#[test]
fn a_command_of_run_does_not_write_the_policy_of_its_tool() {
    for (tool, more) in [("build", &[][..]), ("look", &["--write", "."])] {
        let bench = scene().file("w/pol.toml", POLICY);
        let script = "echo '# evil' >> pol.toml; echo '{}' > pol.lock.json; echo done > done";
        let arguments = [&["--policy", "pol.toml", "run", "--tool", tool], more, &["--", "sh", "-c", script]];
        let told = say(&bench, &arguments.concat());
        assert_eq!(bench.read("w/done"), "done\n", "{told}");
        assert_eq!(bench.read("w/pol.toml"), POLICY, "{told}");
        assert!(!bench.read("w/pol.lock.json").contains("{}"), "{told}");
    }
}

#[test]
fn a_tool_does_not_make_what_counts_as_accepted() {
    let bench = scene().file("o/pol.toml", POLICY).file("w/pol.toml", POLICY);
    let workspace = bench.path().join("w").display().to_string();
    assert!(
        say(&bench, &["--workspace", &workspace, "--policy", "../o/pol.toml", "manifest"])
            .ends_with("exit Some(0)")
    );
    let script = "cp j pol.lock.json; for end in pins.json seen.json pins.lock lock.json.sig; do echo x > pol.$end; done";
    let bench = bench.file("w/do.sh", script);
    std::fs::copy(bench.path().join("o/pol.lock.json"), bench.path().join("w/j")).unwrap();
    let check = || say(&bench, &["--policy", "pol.toml", "manifest", "--check"]);
    assert!(check().contains("is not there"));
    for _ in 0..2 {
        let told = say(&bench, &["--policy", "pol.toml", "call", "build", "{}"]);
        assert!(told.contains("built"), "{told}");
        assert!(check().contains("is not there"), "{}", check());
    }
    // A person accepts it as before.
    let told = say(&bench, &["--policy", "pol.toml", "manifest"]);
    assert!(told.ends_with("exit Some(0)") && !told.contains("another manifest"), "{told}");
    assert!(check().ends_with("exit Some(0)"));
    assert!(say(&bench, &["--policy", "pol.toml", "call", "build", "{}"]).contains("built"));
    assert!(check().ends_with("exit Some(0)"));
}

#[test]
fn what_is_accepted_while_tools_are_served_is_kept_from_them() {
    let bench = scene().file("w/pol.toml", POLICY).file("w/do.sh", "echo forged > pol.lock.json");
    let mut child = command(&bench.path().join("w"))
        .args(["--policy", "pol.toml", "serve"])
        .env("HOME", bench.path().join("h"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut ask = |line: &str| {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        answer
    };
    let hello =
        r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}"#;
    let told = ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{hello}}}"#));
    assert!(told.contains("protocolVersion"), "{told}");
    for id in 2..4 {
        // What was made for the first call is gone before the second.
        let _removed = std::fs::remove_file(bench.path().join("w/pol.lock.json"));
        if id == 3 {
            assert!(say(&bench, &["--policy", "pol.toml", "manifest"]).ends_with("exit Some(0)"));
        }
        let call = r#""method":"tools/call","params":{"name":"build","arguments":{}}"#;
        let told = ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},{call}}}"#));
        assert!(told.contains("built"), "{told}");
        assert!(!bench.read("w/pol.lock.json").contains("forged"), "{told}");
    }
    drop(input);
    child.wait().unwrap();
    assert!(say(&bench, &["--policy", "pol.toml", "manifest", "--check"]).ends_with("exit Some(0)"));
}

/// Kills a run after it has made a file.
fn kill_a_run(bench: &Bench, made: &str) {
    let script = format!("echo evil > {made}; sleep 30");
    let mut child = command(&bench.path().join("w"))
        .args(["run", "--write", ".", "--exec", "sleep", "--", "sh", "-c", &script])
        .env("HOME", bench.path().join("h"))
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while bench.read(&format!("w/{made}")).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the run does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_killed_run_left_is_told_though_a_store_is_made_whole() {
    let bench = scene();
    std::fs::set_permissions(bench.path().join("w"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    assert!(say(&bench, &["store", "migrate", "--store", "ringfence.db"]).ends_with("exit Some(0)"));
    kill_a_run(&bench, ".bashrc");
    let log = |name: &str| bench.path().join("w").join(name);
    for name in ["ringfence.db-wal", "ringfence.db-shm"] {
        std::fs::remove_file(log(name)).unwrap();
    }
    let told = say(&bench, &["run", "--write", ".", "--", "true"]);
    assert!(told.contains("a run that was killed made") && told.contains(".bashrc"), "{told}");
    assert!(told.ends_with("exit Some(0)") && !log(".bashrc").exists(), "{told}");

    // A log that is new since then may hold what was acknowledged: it stays until the store was opened.
    kill_a_run(&bench, ".bashrc");
    std::fs::remove_file(log("ringfence.db-wal")).unwrap();
    std::fs::write(log("ringfence.db-wal"), "acknowledged").unwrap();
    let told = say(&bench, &["run", "--write", ".", "--", "true"]);
    assert!(told.contains("ringfence.db-wal") && told.contains("`ringfence store check`"), "{told}");
    assert!(told.contains(".bashrc") && !told.ends_with("exit Some(0)"), "{told}");
    assert_eq!(bench.read("w/ringfence.db-wal"), "acknowledged");
    let told = say(&bench, &["store", "migrate", "--store", "ringfence.db"]);
    assert!(told.ends_with("exit Some(0)"), "{told}");
    let told = say(&bench, &["run", "--write", ".", "--", "true"]);
    assert!(told.ends_with("exit Some(0)"), "{told}");
}

#[test]
fn a_folder_for_stores_that_is_moved_is_not_made_anew() {
    let bench = scene().file("w/ringfence.toml", POLICY);
    kill_a_run(&bench, ".bashrc");
    let folder = bench.path().join("w/.ringfence");
    let job = || {
        let _there = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        say(&bench, &["call", "--store", ".ringfence/x.db", "--idempotency-key", "k", "note", "{}"])
    };
    // Whoever looks after the killed run would move it aside, and what was paid would be forgotten.
    let told = job();
    assert!(told.contains("it may be its work") && !told.contains("noted"), "{told}");
    say(&bench, &["run", "--write", ".", "--", "true"]);
    assert!(Path::is_file(&folder));
    let told = job();
    assert!(!told.contains("noted"), "{told}");
    assert!(!bench.path().join("w/ledger/paid").exists());
}

#[test]
fn no_command_writes_a_schema_that_the_policy_names() {
    const NARROW: &str =
        r#"{"type": "object", "properties": {"amount": {"type": "integer", "maximum": 10}}}"#;
    let policy = format!(
        "{}\n[[tool]]\nname = \"pay\"\ndescription = \"Pay\"\ncommand = [\"sh\", \"-c\", \"true\"]\n\
         input = \"schemas/pay.json\"\noutput = {{ type = \"string\" }}\n\
         capabilities = {{ process = {{ allowedBinaries = [\"sh\"] }} }}\n",
        POLICY.replace("read = [\"${workspace}/ledger\"]", "read = [\"${workspace}\"]")
    );
    for attempt in [
        "cp wide.json schemas/pay.json",
        "rm schemas/pay.json; cp wide.json schemas/pay.json",
        "mv schemas gone; mkdir schemas; cp wide.json schemas/pay.json",
        "cp wide.json schemas/next; mv schemas/next schemas/pay.json",
        "rm schemas/pay.json; ln -s ../wide.json schemas/pay.json",
    ] {
        let bench = scene()
            .file("w/ringfence.toml", &policy)
            .file("w/schemas/pay.json", NARROW)
            .file("w/wide.json", NARROW.replace("10", "1000000"))
            .file("w/do.sh", attempt);
        let told = say(&bench, &["call", "build", "{}"]);
        assert_eq!(bench.read("w/schemas/pay.json"), NARROW, "{attempt}: {told}");
        let told = say(&bench, &["call", "pay", r#"{"amount": 1000000}"#]);
        assert!(told.contains("INPUT_INVALID"), "{attempt}: {told}");
    }
    // What the policy reads may be read.
    let bench = scene()
        .file("w/ringfence.toml", &policy)
        .file("w/schemas/pay.json", NARROW)
        .file("w/do.sh", "cp schemas/pay.json copy.json");
    let told = say(&bench, &["call", "build", "{}"]);
    assert_eq!(bench.read("w/copy.json"), NARROW, "{told}");
}

#[test]
fn a_tool_that_is_no_command_is_refused_where_it_may_write_a_schema() {
    let policy = r#"
[personality]
id = "clerk"
fs_reach = { write = ["${workspace}"] }
process = { allow = ["true"] }

[[tool]]
name = "write"
builtin = "write_file"
class = "write"
capabilities = { fs_reach = { write = ["${workspace}"] } }

[[tool]]
name = "pay"
description = "Pay"
command = ["true"]
input = "pay.json"
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["true"] } }
"#;
    let bench = scene().file("w/ringfence.toml", policy).file("w/pay.json", r#"{"type": "object"}"#);
    let told = say(&bench, &["call", "write", r#"{"path": "x", "content": "y"}"#]);
    assert!(told.contains("`write` may write `pay.json`, which the policy reads"), "{told}");
}
