//! `ringfence demo`: the first thing a newcomer runs.

use crate::bench::Bench;

#[test]
fn plays_allowed_and_hostile_calls() {
    let said = Bench::new().ringfence(&["demo"]);
    // Where nobody stays, there is no console to look at, and no link into one.
    assert!(!said.contains("/login"), "{said}");
    let said = said.replace(env!("CARGO_BIN_EXE_ringfence"), "[RINGFENCE]");
    insta::assert_snapshot!(said, @"
    An agent works in a workspace under the policy of examples/demo/ringfence.toml.

    #   THE AGENT ASKS TO                   VERDICT  DECIDED BY
    1   read its notes                      allowed  The workshop is on Thursday.
    2   read /etc/passwd                    refused  PATH_NOT_REACHABLE line 6 fs_reach.read
    3   climb out with ../..                refused  PATH_NOT_REACHABLE
    4   read through a link that leads out  refused  PATH_NOT_REACHABLE line 6 fs_reach.read
    5   write a report                      allowed  wrote 9 bytes
    6   overwrite its notes                 refused  PATH_NOT_REACHABLE line 33 fs_reach.write
    7   plant a git hook                    refused  PATH_NOT_REACHABLE line 6 fs_reach.write
    8   send a number as a path             refused  INPUT_INVALID line 22 input
    9   write the report again              allowed  wrote 8 bytes
    10  write it a third time               refused  CONSTRAINT_VIOLATED line 34 constraints.maxInvocations
    11  fetch the cloud's metadata          refused  HOST_NOT_ALLOWED line 5 network
    12  the same, spelled 0xa9fea9fe        refused  HOST_NOT_ALLOWED line 5 network
    13  send notes to evil.example          refused  HOST_NOT_ALLOWED line 5 network
    14  use the weather key                 allowed  sunny (asked with a key of 13 characters)
    15  use the payment key instead         refused  SECRET_NOT_DECLARED line 7 secrets
    16  let a program count its words       allowed  5 notes.txt
    17  let it count /etc/passwd            refused  PATH_NOT_REACHABLE line 6 fs_reach.read
    18  call a tool with a poisoned text    refused  TOOL_QUARANTINED
    19  crash a tool                        failed   the tool panicked: boom
    20  pay an invoice                      refused  APPROVAL_REQUIRED line 9 approvals.financial
    21  pay it, after Maria agreed          allowed  invoice 17 is paid
    22  pay it once more                    allowed  invoice 17 is paid
    23  pay another, and die on the way     died     after the money had left
    24  pay that one again                  refused  OUTCOME_UNKNOWN

    24 calls, 15 refused, 2 invoices paid, none of them twice. Every call is in the audit.

    `[RINGFENCE] demo --stay` opens the console, where people see this and decide: http://127.0.0.1:7118/

    To try next:
      [RINGFENCE] explain PATH_NOT_REACHABLE    what a refusal means, and what to do
      [RINGFENCE] run --read . -- ls -la        one command, with one folder and nothing else
      [RINGFENCE] init                          fence a tool of your own
    exit 0
    ");
}

#[test]
fn takes_neither_a_policy_nor_a_workspace() {
    let bench = Bench::new();
    for arguments in [["demo", "--policy", "mine.toml"], ["demo", "--workspace", "mine"]] {
        let said = bench.ringfence(&arguments);
        assert!(said.starts_with("error: the demo has a policy and a workspace of its own"), "{said}");
        assert!(
            said.contains("  hint: leave --policy and --workspace out") && said.ends_with("exit 2"),
            "{said}"
        );
    }
}

#[test]
fn tells_a_program_what_was_played() {
    let output = Bench::new().run(&["demo", "--json"], b"");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    insta::assert_snapshot!(told["totals"], @r#"{"calls":24,"allowed":7,"refused":15,"failed":1,"died":1,"paid":2,"surprises":0}"#);
    let steps = told["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 24);
    let some: Vec<String> = [0, 1, 17, 22].iter().map(|at| steps[*at].to_string()).collect();
    insta::assert_snapshot!(some.join("\n"), @r#"
    {"number":1,"what":"read its notes","tool":"read_file","outcome":"allowed","code":null,"rule":null,"said":"The workshop is on Thursday."}
    {"number":2,"what":"read /etc/passwd","tool":"read_file","outcome":"refused","code":"PATH_NOT_REACHABLE","rule":{"line":6,"field":"fs_reach.read"},"said":null}
    {"number":18,"what":"call a tool with a poisoned text","tool":"helper","outcome":"refused","code":"TOOL_QUARANTINED","rule":null,"said":null}
    {"number":23,"what":"pay another, and die on the way","tool":"pay","outcome":"died","code":null,"rule":null,"said":"after the money had left"}
    "#);
}

#[test]
fn writes_no_escape_sequence_where_none_is_wanted() {
    use crate::terminal::Terminal;
    let bench = Bench::new();
    let again = "\r\u{1b}[K";
    let shown = Terminal::new(&bench).run(&["demo", "--leave"]);
    assert!(shown.contains(again) && shown.ends_with("exit 0"), "{shown}");
    let plain: [&[(&str, &str)]; 2] = [&[("TERM", "xterm"), ("NO_COLOR", "1")], &[("TERM", "dumb")]];
    for variables in plain {
        let shown = Terminal::new(&bench).variables(variables).run(&["demo", "--leave"]);
        assert!(!shown.contains(['\u{1b}', '\r']), "{variables:?}: {shown}");
        assert!(shown.contains("\n24  pay that one again") && shown.ends_with("exit 0"), "{shown}");
    }
}

#[test]
fn its_policy_is_a_sound_toolbox() {
    let text = Bench::new().run(&["demo", "--policy-text"], b"").stdout;
    let bench = Bench::new().file("ringfence.toml", text);
    insta::assert_snapshot!(bench.ringfence(&["check"]), @"
    ringfence.toml: 4 tools fit
    exit 0
    ");
}

#[test]
fn the_console_stays_open_over_it_until_it_is_told_to_end() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let bench = Bench::new();
    let mut child = crate::bench::command(&bench.path())
        .args(["demo", "--stay"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut address, mut folder) = (None, None);
    for line in lines {
        let line = line.unwrap();
        address = address.or_else(|| Some(line.split_once("http://")?.1.split('/').next()?.to_owned()));
        folder = folder.or_else(|| {
            Some(line.strip_prefix("The files of this demo are in ")?.split(". Ctrl").next()?.to_owned())
        });
        if folder.is_some() {
            break;
        }
    }
    let (address, folder) = (address.unwrap(), folder.unwrap());
    assert!(std::path::Path::new(&folder).join("store/demo.db").exists());
    let mut page = std::net::TcpStream::connect(&address).unwrap();
    write!(page, "GET /login HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut said = String::new();
    page.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!std::path::Path::new(&folder).exists(), "{folder} is left");
}
