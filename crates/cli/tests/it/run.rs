//! `ringfence run` and what it says.

use crate::bench::Bench;

#[test]
fn passes_the_exit_code_through() {
    let bench = Bench::new();
    insta::assert_snapshot!(bench.ringfence(&["run", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]), @"
    out
    err
    exit 7
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--", "sh", "-c", "kill -TERM $$"]), @"exit 143");
    insta::assert_snapshot!(bench.ringfence(&["run", "--limit", "wall=200ms", "--", "sleep", "9"]), @"
    ringfence: killed after 200ms (limit `wall`)
    exit 124
    ");
}

#[test]
fn grants_nothing_that_is_not_named() {
    let bench = Bench::new().file("notes.txt", "the workshop is on Thursday\n");
    let notes = bench.path().join("notes.txt");
    let notes = notes.to_str().unwrap();
    assert!(!bench.ringfence(&["run", "--", "cat", notes]).contains("Thursday"));
    assert!(bench.ringfence(&["run", "--read", notes, "--", "cat", notes]).contains("Thursday"));
    let write = ["run", "--read", notes, "--", "sh", "-c", "echo gone > \"$1\"", "sh", notes];
    assert!(bench.ringfence(&write).contains("Read-only file system"));
    assert!(!bench.ringfence(&["run", "--", "sh", "-c", "/usr/bin/id"]).contains("uid="));
    assert!(bench.ringfence(&["run", "--exec", "id", "--", "sh", "-c", "/usr/bin/id"]).contains("uid="));
}

#[test]
fn starts_where_it_was_called_if_something_there_is_granted() {
    let bench =
        Bench::new().file("notes.txt", "the workshop is on Thursday\n").file("deep/other.txt", "no\n");
    insta::assert_snapshot!(bench.ringfence(&["run", "--read", "notes.txt", "--", "cat", "notes.txt"]), @"
    the workshop is on Thursday
    exit 0
    ");
    // The folder is there, and nothing of it but what was named.
    insta::assert_snapshot!(bench.ringfence(&["run", "--read", "notes.txt", "--", "ls", "-A"]), @"
    notes.txt
    exit 0
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--read", "notes.txt", "--", "sh", "-c", "pwd"]), @"
    [W]
    exit 0
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--read", "notes.txt", "--", "cat", "deep/other.txt"]), @"
    cat: deep/other.txt: No such file or directory
    ringfence: what may have been in the way of the command, and what would grant it:
    ringfence:   it cannot see `[W]/deep/other.txt`: `--read .`
    exit 1
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--read", "/etc/hostname", "--", "sh", "-c", "pwd"]), @"
    /tmp
    exit 0
    ");
    let plan = bench.run(&["run", "--read", "notes.txt", "--print-plan", "--", "true"], b"").stdout;
    let plan: serde_json::Value = serde_json::from_slice(&plan).unwrap();
    assert_eq!(plan["directory"].as_str(), bench.path().to_str(), "the plan says where it starts");
}

#[test]
fn the_folder_around_what_is_granted_cannot_be_changed() {
    // Not in `/tmp`, which is a scratch space inside.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "the workshop is on Thursday\n").unwrap();
    std::fs::write(folder.path().join("other.txt"), "no\n").unwrap();
    let script = "cat notes.txt; echo mine > new.txt; echo mine > other.txt; rm -f notes.txt; ls -A";
    let grants = ["run", "--read", "notes.txt", "--exec", "cat", "--exec", "rm", "--exec", "ls"];
    let output =
        crate::bench::command(folder.path()).args(grants).args(["--", "sh", "-c", script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "the workshop is on Thursday\nnotes.txt\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("Read-only file system").count(), 3, "{said}");
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["notes.txt", "other.txt"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("other.txt")).unwrap(), "no\n");
}

#[test]
fn refuses_before_it_starts() {
    let bench = Bench::new();
    insta::assert_snapshot!(bench.ringfence(&["run", "--", "no-such-program"]), @"
    refused: BINARY_NOT_FOUND: `no-such-program` cannot be started: no program of this name is found, and it is not an absolute path
      hint: install it, or write its whole path
      why: ringfence explain BINARY_NOT_FOUND
    exit 3
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--read", "/no/such/path", "--", "true"]), @"
    refused: PATH_NOT_REACHABLE: `/no/such/path` cannot be granted: No such file or directory (os error 2)
      hint: only what is there can be granted, and only what is granted can be used: `--read PATH`, `--write PATH`
      why: ringfence explain PATH_NOT_REACHABLE
    exit 3
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--cwd", "/var/lib", "--", "true"]), @"
    refused: PATH_NOT_REACHABLE: `/var/lib` cannot be granted: it is the working directory and is not granted
      hint: only what is there can be granted, and only what is granted can be used: `--read PATH`, `--write PATH`
      why: ringfence explain PATH_NOT_REACHABLE
    exit 3
    ");
    // Its start would run into it while it still shares our memory, and the kernel would kill us too.
    insta::assert_snapshot!(bench.ringfence(&["run", "--limit", "memory=100K", "--", "true"]), @"
    refused: NOT_AVAILABLE: the limit `memory` cannot be enforced here: it is 100K, and the start of this command alone may take 3M
      hint: raise or remove the limit, or delegate a control group to this user
      why: ringfence explain NOT_AVAILABLE
    exit 3
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--limit", "wal=8s", "--", "true"]), @"
    error: there is no limit `wal`
      hint: `ringfence run --help` lists the limits
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--write", "/", "--", "true"]), @"
    refused: NOT_AVAILABLE: the sandbox cannot enforce writing to `/`: grant the folders below it
      hint: `ringfence doctor` shows what can be enforced here
      why: ringfence explain NOT_AVAILABLE
    exit 3
    ");
}

#[test]
fn says_what_it_would_do() {
    let bench = Bench::new().file("in/x", "");
    let told = bench.ringfence(&["run", "--print-plan", "--read", "in", "--", "true"]);
    let plan: serde_json::Value = serde_json::from_str(told.split("\nexit").next().unwrap()).unwrap();
    assert_eq!(plan["backend"], "native");
    assert_eq!(plan["tier"], "full");
    assert_eq!(plan["network"], "loopback");
    let paths: Vec<&str> =
        plan["root"].as_array().unwrap().iter().filter_map(|entry| entry["path"].as_str()).collect();
    assert!(paths.iter().any(|path| path.ends_with("/in")), "{paths:?}");
}

#[test]
fn moves_planted_hooks_aside() {
    let bench = Bench::new().file("work/.git/HEAD", "ref: refs/heads/main\n");
    let script = "mkdir .git/hooks && echo evil > .git/hooks/pre-commit";
    let told = bench
        .ringfence(&["run", "--write", "work", "--cwd", "work", "--exec", "mkdir", "--", "sh", "-c", script]);
    assert!(told.contains("which is protected; it was moved to"), "{told}");
    assert!(!bench.path().join("work/.git/hooks").exists());
    assert!(bench.path().join("work/.git/hooks.quarantined-1/pre-commit").exists());
}

#[test]
fn what_is_too_deep_to_be_searched_is_moved_aside() {
    let bench = Bench::new().file("work/x", "");
    // Longer than any path: nobody can look into it, or name it. What was there before is in the same folder.
    let script = "mkdir -p keep/.git; i=0; n=$(printf '%0200d' 0); cd keep; \
                  while [ $i -lt 25 ]; do mkdir $n && cd $n; i=$((i+1)); done; :";
    let run = ["run", "--write", "work", "--cwd", "work", "--exec", "mkdir", "--", "sh", "-c", script];
    std::fs::create_dir_all(bench.path().join("work/keep/.git")).unwrap();
    std::fs::write(bench.path().join("work/keep/.git/config"), "").unwrap();
    let told = bench.ringfence(&run);
    assert!(bench.path().join("work/keep/.git/config").exists(), "{told}");
    assert!(told.contains("which is protected; it was moved to") && told.ends_with("exit 0"), "{told}");
}

#[test]
fn a_run_that_was_killed_is_looked_after_by_the_next() {
    let bench = Bench::new().file("work/.git/HEAD", "ref: refs/heads/main\n").file("state/x", "");
    let state = bench.path().join("state");
    let script = "mkdir .git/hooks && echo evil > .git/hooks/pre-commit && echo ready && sleep 60";
    let mut child = crate::bench::command(&bench.path())
        .args([
            "run", "--write", "work", "--cwd", "work", "--exec", "mkdir", "--exec", "sleep", "--limit",
            "wall=60s",
        ])
        .args(["--", "sh", "-c", script])
        .env("XDG_STATE_HOME", &state)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 5];
    std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut ready).unwrap();
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap())];
    // Nothing is moved by a run that may not write there.
    let look = ["run", "--write", "work", "--", "true"];
    // As long as it runs it is left alone.
    assert_eq!(bench.ringfence_in(&variables, &look), "exit 0");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(bench.path().join("work/.git/hooks/pre-commit").exists());
    let told = bench.ringfence_in(&variables, &look);
    assert!(told.contains("a run that was killed made") && told.ends_with("exit 0"), "{told}");
    assert!(!bench.path().join("work/.git/hooks").exists());
    assert_eq!(std::fs::read_dir(state.join(".ringfence/runs")).unwrap().count(), 0);
    // A mark that nobody can read stops whoever is granted something, and is named.
    std::fs::write(state.join(".ringfence/runs/x.mark"), "torn").unwrap();
    let told = bench.ringfence_in(&variables, &look);
    assert!(told.contains("x.mark") && told.ends_with("exit 3"), "{told}");
}

/// A policy with one tool, `now`. A shell prints it as it is.
const POLICY: &str = "[personality]\nprocess = { allow = [\"date\"] }\n\n[[tool]]\nname = \"now\"\ndescription = \"The time\"\n\
                      command = [\"date\"]\ninput = { type = \"object\" }\noutput = { type = \"string\" }\n\
                      capabilities = { process = { allowedBinaries = [\"date\"] } }\n";

#[test]
fn nothing_that_a_running_command_makes_decides_what_others_may() {
    let bench = Bench::new().file("work/notes.md", "x").file("state/x", "");
    let state = bench.path().join("state");
    let script = format!(
        "printf '{POLICY}' > ringfence.toml && for n in json pins.json lock.json db; do echo '{{}}' > ringfence.$n; done"
    );
    std::fs::write(bench.path().join("own.toml"), POLICY).unwrap();
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap())];
    let say = |arguments: &[&str]| bench.ringfence_in(&variables, arguments);
    let made = "was not there before: it may be its work";
    while_a_command_runs(&bench, &variables, &script, || {
        for arguments in [
            &["-p", "work/ringfence.toml", "check"][..],
            &["-p", "work/ringfence.toml", "call", "now"],
            &["-p", "work/ringfence.toml", "pins", "list"],
            &["-p", "own.toml", "call", "--store", "work/ringfence.db", "now"],
            &["-p", "own.toml", "call", "--store", "work/.ringfence/new.db", "now"],
            &["manifest", "diff", "work/ringfence.lock.json", "work/ringfence.lock.json"],
            &["-p", "work/ringfence.json", "scan"],
        ] {
            let said = say(arguments);
            assert!(said.contains(made) && !said.ends_with("exit 0"), "{arguments:?}: {said}");
        }
        assert!(!bench.path().join("work/.ringfence").exists(), "nothing was made");
        let said = say(&["-p", "work/ringfence.toml", "doctor"]);
        assert!(said.contains(made), "{said}");
    });
    // What it left was moved away, and what a person writes then counts.
    let said = say(&["-p", "work/ringfence.toml", "check"]);
    assert!(!said.contains(made) && !said.ends_with("exit 0"), "{said}");
    std::fs::write(bench.path().join("work/ringfence.toml"), POLICY).unwrap();
    for note in ["ringfence.pins.json", "ringfence.lock.json"] {
        std::fs::remove_file(bench.path().join("work").join(note)).unwrap();
    }
    let said = say(&["-p", "work/ringfence.toml", "check"]);
    assert!(said.ends_with("exit 0"), "{said}");
}

/// Runs a command that may write to `work` while `meanwhile` is done.
fn while_a_command_runs(bench: &Bench, variables: &[(&str, &str)], script: &str, meanwhile: impl FnOnce()) {
    let mut child = crate::bench::command(&bench.path())
        .args(["run", "--write", "work", "--cwd", "work", "--", "sh", "-c"])
        .arg(format!("{script} && echo ready && read gone"))
        .envs(variables.iter().copied())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 5];
    std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut ready).unwrap();
    meanwhile();
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn what_was_there_before_a_command_is_used_while_it_runs() {
    let bench = Bench::new().file("work/.ringfence/x", "").file("work/real.toml", POLICY).file("state/x", "");
    std::os::unix::fs::symlink("real.toml", bench.path().join("work/ringfence.toml")).unwrap();
    std::os::unix::fs::symlink("none.toml", bench.path().join("work/sub.toml")).unwrap();
    std::fs::create_dir(bench.path().join("work/sub")).unwrap();
    std::os::unix::fs::symlink("../none.toml", bench.path().join("work/sub/ringfence.toml")).unwrap();
    let state = bench.path().join("state");
    let variables = [("XDG_STATE_HOME", state.to_str().unwrap())];
    let say = |arguments: &[&str]| bench.ringfence_in(&variables, arguments);
    let call = ["-p", "work/ringfence.toml", "call", "--store", "work/.ringfence/own.db", "now"];
    let first = say(&call);
    assert!(first.contains("\"ok\":true"), "{first}");
    while_a_command_runs(&bench, &variables, &format!("printf '{POLICY}' > none.toml"), || {
        for _ in 0..2 {
            let said = say(&call);
            assert!(said.contains("\"ok\":true"), "{said}");
        }
        // What a link led nowhere to before is the command's work.
        let said = say(&["-p", "work/sub/ringfence.toml", "check"]);
        assert!(said.contains("it may be its work"), "{said}");
    });
}

#[test]
fn a_policy_is_used_in_a_sandbox_that_hides_where_runs_are_marked() {
    let bench = Bench::new().file("home/work/ringfence.toml", POLICY).file("home/.local/state/x", "");
    let home = bench.path().join("home");
    let own = crate::bench::BINARY;
    let run =
        ["run", "--write", "home", "--cwd", "home/work", "--env", "HOME", "--exec", "*", "--", own, "check"];
    let said = bench.ringfence_in(&[("HOME", home.to_str().unwrap())], &run);
    assert!(said.contains("1 tool fits") && said.ends_with("exit 0"), "{said}");
}

#[test]
fn what_was_accepted_is_not_forgotten_under_another_spelling() {
    let bench = Bench::new().file("data/ringfence/servers/notes/pins.json", "{}");
    let data = bench.path().join("data");
    std::os::unix::fs::symlink("data", bench.path().join("link")).unwrap();
    let list = |folder: &str| {
        let folder = format!("{}/{folder}", bench.path().display());
        bench.ringfence_in(&[("XDG_STATE_HOME", &folder)], &["pins", "list", "--server", "notes"])
    };
    let spellings = ["data", "link", "./data", "link/../data"];
    for folder in spellings {
        let said = list(folder);
        assert!(said.contains("where earlier versions kept them"), "{folder}: {said}");
    }
    std::fs::rename(data.join("ringfence"), data.join(".ringfence")).unwrap();
    for folder in spellings {
        let said = list(folder);
        assert!(said.contains(&format!("/{folder}/.ringfence/servers/notes/pins.json`")), "{folder}: {said}");
    }
}

#[test]
fn a_pipe_in_place_of_a_policy_is_not_waited_for() {
    let bench = Bench::new();
    for name in ["ringfence.toml", "own.pins.json", "own.seen.json"] {
        assert!(
            std::process::Command::new("mkfifo").arg(bench.path().join(name)).status().unwrap().success()
        );
    }
    let bench = bench.file("own.toml", POLICY);
    for arguments in [&["check"][..], &["doctor"], &["scan"], &["-p", "own.toml", "pins", "list"]] {
        let said = bench.ringfence(arguments);
        assert!(said.contains("it is not a regular file"), "{arguments:?}: {said}");
    }
}

#[test]
fn says_which_hard_links_are_read_only() {
    let bench = Bench::new().file("outside", "x").file("work/own", "");
    let (outside, shared) = (bench.path().join("outside"), bench.path().join("work/shared"));
    std::fs::hard_link(&outside, &shared).unwrap();
    let script = "echo good > own; echo bad > shared";
    let told = bench.ringfence(&["run", "--write", "work", "--cwd", "work", "--", "sh", "-c", script]);
    assert!(told.contains("ringfence: 1 file is read-only: hard links that files outside"), "{told}");
    assert!(told.contains("work/shared`"), "{told}");
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "x");
    assert_eq!(std::fs::read_to_string(bench.path().join("work/own")).unwrap(), "good\n");
}

#[test]
fn a_toolbox_runs_commands_in_the_sandbox() {
    let bench =
        Bench::new().file("notes.txt", "the workshop is on Thursday\n").file("ringfence.toml", TOOLBOX);
    insta::assert_snapshot!(bench.ringfence(&["call", "search", r#"{"pattern": "shop"}"#]), @r#"
    {"ok":true,"value":"1:the workshop is on Thursday\n"}
    exit 0
    "#);
    insta::assert_snapshot!(bench.ringfence(&["call", "escape"]), @r#"
    {"ok":false,"code":"execution_failed","error":"exit code 1: cat: /etc/hostname: No such file or directory"}
    exit 1
    "#);
    // The pipeline and the sandbox watch the same limit, and either may be the first to end it.
    let slow = bench.ringfence(&["call", "slow"]);
    let first = "DEADLINE_EXCEEDED: the tool did not end within 0.3 seconds";
    let other = "LIMIT_EXCEEDED: the command ran into its limit `wall`";
    assert!(slow.contains(first) || slow.contains(other), "{slow}");
    assert!(slow.ends_with("exit 1"), "{slow}");
    let audit = ["call", "search", r#"{"pattern": "shop"}"#, "--audit", "audit.jsonl"];
    bench.ringfence(&audit);
    let record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path().join("audit.jsonl")).unwrap()).unwrap();
    let process = &record["processes"][0];
    assert_eq!(process["tier"], "full");
    assert!(process["digest"].as_str().unwrap().starts_with("sha256:"), "{process}");
}

const TOOLBOX: &str = r#"
[personality]
fs_reach = { read = ["${workspace}/notes.txt"] }
process = { allow = ["grep", "cat", "sleep"] }

[[tool]]
name = "search"
description = "Search the notes"
command = ["grep", "-n", "--", "{pattern}", "${workspace}/notes.txt"]
input = { type = "object", properties = { pattern = { type = "string" } }, required = ["pattern"] }
output = { type = "string" }
capabilities = { fs_reach = { read = "from-personality" }, process = { allowedBinaries = ["grep"] } }

[[tool]]
name = "escape"
description = "Read what was not granted"
command = ["cat", "/etc/hostname"]
input = { type = "object" }
output = { type = "string" }
capabilities = { fs_reach = { read = "from-personality" }, process = { allowedBinaries = ["cat"] } }

[[tool]]
name = "slow"
description = "Sleep"
command = ["sleep", "9"]
input = { type = "object" }
output = { type = "string" }
limits = { wall = "300ms" }
capabilities = { process = { allowedBinaries = ["sleep"] } }
"#;

#[test]
fn the_least_memory_holds_the_start_of_a_command() {
    let bench = Bench::new();
    let long = "a".repeat(100_000);
    let mut arguments = vec!["run", "--json", "--limit", "memory=4M", "--", "true"];
    arguments.extend(std::iter::repeat_n(long.as_str(), 14));
    for _ in 0..20 {
        let ran = bench.run(&arguments, b"");
        assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stdout));
    }
}

#[test]
fn output_that_cannot_be_passed_on_is_told() {
    let bench = Bench::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = crate::bench::command(&bench.path());
    let output = command.args(["run", "--", "echo", "lost"]).stdout(full).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("No space left"), "{said}");
}

/// What a sandbox is tried with where there is no shell.
#[test]
fn our_own_program_finds_a_sandbox_that_holds_nothing_back() {
    let text = "ringfence-canary-4d1f";
    let bench = Bench::new().file("canary-1", text).file("canary-1-program", "#!/bin/true\n");
    let path = |name: &str| bench.path().join(name).to_str().unwrap().to_owned();
    let (canary, program) = (path("canary-1"), path("canary-1-program"));
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let own = crate::bench::BINARY;
    insta::assert_snapshot!(bench.ringfence(&["run", "--", own, "--ringfence-probe", &canary, &program]), @"
    tried
    ringfence: what may have been in the way of the command, and what would grant it:
    ringfence:   it ran in `/tmp`, because the current folder is not granted: `--read .` or `--write .`
    ringfence:   it cannot see `[W]/canary-1`: `--read .`
    ringfence:   it cannot see `[W]/canary-1-program`: `--read .`
    exit 125
    ");
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), text);
    insta::assert_snapshot!(bench.ringfence(&["--ringfence-probe", &canary, &program]), @"
    ringfence-canary-4d1f
    started
    tried
    exit 125
    ");
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "broken");
}

#[test]
fn starts_the_program_that_a_shell_would() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench =
        Bench::new().file("own/bin/sh", "#!/bin/sh\necho mine\n").file("own/bin/tool", "#!/bin/sh\nls\n");
    for name in ["sh", "tool"] {
        let path = bench.path().join("own/bin").join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", bench.path().join("own/bin").display());
    let run = |arguments: &[&str]| bench.ringfence_in(&[("PATH", path.as_str())], arguments);
    let told = run(&["run", "-v", "sh", "-c", "echo the system's"]);
    assert!(told.contains("mine\n") && told.contains("own/bin/sh`, confined by"), "{told}");
    // Without `--`, the first word that is no option begins the command, and what follows is its own.
    let told = run(&["run", "echo", "--json", "-v"]);
    assert!(told.contains("--json -v\n"), "{told}");
}

#[test]
fn says_what_was_in_the_way_and_what_would_grant_it() {
    let bench = Bench::new().file("work/in.txt", "x").file("work/sub/.x", "").file("other/data.csv", "1");
    let here = bench.path().join("work");
    let run = |arguments: &[&str]| {
        let output = crate::bench::command(&here).arg("run").args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let data = bench.path().join("other/data.csv").display().to_string();
    #[rustfmt::skip]
    let cases: [(&[&str], &str); 6] = [
        (&["cat", "in.txt"],                                          "it ran in `/tmp`, because the current folder is not granted: `--read .`"),
        (&["cat", "in.txt"],                                          "`--read .`"),
        (&["--read", ".", "cat", &data],                              &format!("`--read {data}`")),
        (&["--read", ".", "sh", "-c", "ls | wc"],                     "it may not start `wc`: `--exec wc`"),
        (&["--read", ".", "--exec", "touch", "sh", "-c", "touch sub/new"], "`--write sub`"),
        (&["curl", "-sS", "http://unknown.example.org/"],             "`--host unknown.example.org`"),
    ];
    for (arguments, wanted) in cases {
        let (code, told) = run(arguments);
        assert_ne!(code, Some(0), "{arguments:?}: {told}");
        assert!(
            told.contains("what may have been in the way") && told.contains(wanted),
            "{arguments:?}: {told}"
        );
    }
    // Nothing is said of a command that did what it should, and no flag is named for what is protected.
    assert_eq!(run(&["--read", ".", "cat", "in.txt"]), (Some(0), String::new()));
    std::fs::create_dir_all(here.join(".ssh")).unwrap();
    std::fs::write(here.join(".ssh/id_ed25519"), "x").unwrap();
    let (_, told) = run(&["--read", ".", "cat", ".ssh/id_ed25519"]);
    assert!(told.contains("is protected (key)") && !told.contains("--read .ssh"), "{told}");
}

#[test]
fn makes_a_folder_that_is_to_be_written() {
    let bench = Bench::new().file("in/a", "");
    let told = bench.ringfence(&["run", "--write", "out", "sh", "-c", "echo x > out/y"]);
    assert!(told.contains("made the folder") && told.ends_with("exit 0"), "{told}");
    assert_eq!(bench.read("out/y"), "x\n");
    // Nothing is made in a folder that is not there.
    assert!(bench.ringfence(&["run", "--write", "no/out", "true"]).ends_with("exit 3"));
}

#[test]
fn has_no_limit_of_time_unless_one_is_set() {
    let bench = Bench::new();
    let plan = |arguments: &[&str]| {
        let told = bench.ringfence(&[&["run", "--print-plan"], arguments, &["true"]].concat());
        let plan: serde_json::Value = serde_json::from_str(told.trim_end_matches("exit 0")).unwrap();
        plan["limits"].clone()
    };
    let limits = plan(&[]);
    assert!(limits["wall"].is_null() && limits["cpu"].is_null() && limits["output"].is_null(), "{limits}");
    let limits =
        plan(&["--limit", "wall=1d", "--limit", "memory=unlimited", "--limit", "processes=unlimited"]);
    assert_eq!(limits["wall"], "86400s");
    assert!(limits["memory"].is_null() && limits["processes"].is_null(), "{limits}");
}

#[test]
fn what_a_project_puts_in_place_of_a_file_is_neither_waited_for_nor_followed() {
    let bench = Bench::new().file(".pyenv/shims/python3", "#!/bin/sh\n").file("w/in", "");
    let here = bench.path().join("w");
    let pipe = |path: &std::path::Path| {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o777.into(), 0).unwrap();
    };
    let shims = bench.path().join(".pyenv/shims");
    std::fs::set_permissions(shims.join("python3"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", shims.display());
    let run = |arguments: &[&str]| {
        let mut command = crate::bench::command(&here);
        let output = command.env("PATH", &path).arg("run").args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    // A version file that is a pipe.
    pipe(&here.join(".python-version"));
    assert_eq!(run(&["python3", "-c", "pass"]).0, Some(0));
    // A script that became a pipe.
    pipe(&here.join("build"));
    assert_eq!(run(&["--write", ".", "./build"]).0, Some(3));
    // A folder is not made through a link, nor by a look at the plan.
    std::fs::create_dir(bench.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", here.join("link")).unwrap();
    assert_eq!(run(&["--write", "link/new", "true"]).0, Some(3));
    assert_eq!(run(&["--print-plan", "--write", "fresh", "true"]).0, Some(3));
    assert!(!bench.path().join("elsewhere/new").exists() && !here.join("fresh").exists());
    // No flag is named for a link to a key.
    std::fs::create_dir_all(bench.path().join(".ssh")).unwrap();
    std::fs::write(bench.path().join(".ssh/id_ed25519"), "x").unwrap();
    std::os::unix::fs::symlink("../.ssh/id_ed25519", here.join("key")).unwrap();
    let (_, told) = run(&["--read", "in", "sh", "-c", "echo key: Permission denied >&2; exit 1"]);
    assert!(
        told.contains("is protected") && !told.contains("--write key") && !told.contains("--read"),
        "{told}"
    );
    // What a command leaves open in a pipe does not swallow our line.
    let (_, told) = run(&["--write", ".", "sh", "-c", "echo x > .bashrc; printf 'x\\033P' >&2"]);
    assert!(told.lines().any(|line| line.starts_with("ringfence: the command made")), "{told:?}");
}

#[test]
fn an_entry_of_the_policy_file_grants_what_its_flags_would() {
    let bench = Bench::new().file("src/in.txt", "hello\n").file("other.txt", "no\n").file(
        "ringfence.toml",
        "[run.build]\nread = [\"${workspace}/src\"]\nwrite = [\"${workspace}/out\"]\nexec = [\"cat\"]\nenv = [\"MODE=fast\"]\nlimits = { wall = \"1h\" }\n",
    );
    let script = "cat src/in.txt; echo $MODE; echo made > out/x; cat other.txt";
    insta::assert_snapshot!(bench.ringfence(&["run", "@build", "--", "sh", "-c", script]), @"
    hello
    fast
    ringfence: made the folder `[W]/out`, which was not there
    cat: other.txt: No such file or directory
    ringfence: what may have been in the way of the command, and what would grant it:
    ringfence:   it cannot see `[W]/other.txt`: `--read .`
    exit 1
    ");
    assert_eq!(bench.read("out/x"), "made\n");
    // Flags add to it, and without `--` it works too.
    let told =
        bench.ringfence(&["run", "--read", "other.txt", "--env", "MODE=slow", "@build", "sh", "-c", script]);
    assert!(told.contains("slow") && told.contains("no\n") && told.ends_with("exit 0"), "{told}");
    insta::assert_snapshot!(bench.ringfence(&["run", "@deploy", "--", "true"]), @"
    error: `ringfence.toml` has no entry `[run.deploy]`; it has `@build`
      hint: add the entry, or name one that is there
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "@build"]), @"
    error: no command follows `@build`
      hint: write `ringfence run @NAME -- COMMAND`
    exit 2
    ");
    let plan = bench.ringfence(&["run", "--print-plan", "@build", "--", "true"]);
    assert!(plan.contains("\"wall\": \"3600s\"") || plan.contains("\"wall\":\"3600s\""), "{plan}");
}

#[test]
fn a_home_of_its_own_stays() {
    let bench = Bench::new();
    let first = ["run", "--home", "home", "--", "sh", "-c", "echo kept > ~/.note; echo $HOME"];
    let told = bench.ringfence(&first);
    assert!(
        told.contains("made the folder") && told.contains("[W]/home") && told.ends_with("exit 0"),
        "{told}"
    );
    let second = ["run", "--home", "home", "--exec", "cat", "--", "sh", "-c", "cat ~/.note"];
    assert_eq!(bench.ringfence(&second), "kept\nexit 0");
}
