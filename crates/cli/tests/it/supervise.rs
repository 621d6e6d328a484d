//! What `ringfence run` looks after while the command runs: signals, limits, and whoever reads the output.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{BINARY, Bench, command};

/// Far more than any of these takes, and far less than the limits that must not end them.
const LATEST: Duration = Duration::from_secs(60);

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits for the end, without reading anything.
fn wait(child: &mut Child) -> (Option<i32>, Duration) {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code(), begun.elapsed());
        }
        if begun.elapsed() > LATEST {
            child.kill().unwrap();
            child.wait().unwrap();
            return (None, begun.elapsed());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a command that writes without end to a pipe that nobody reads.
fn flood(bench: &Bench, arguments: &[&str]) -> Child {
    let mut started = command(&bench.path());
    started.args(arguments).args(["--", "sh", "-c", "echo > work/begun; while :; do echo 0123456789; done"]);
    let started = started.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    started.env("XDG_STATE_HOME", bench.path().join("state")).spawn().unwrap()
}

fn wait_for(bench: &Bench, name: &str) {
    let begun = Instant::now();
    while !bench.path().join(name).exists() && begun.elapsed() < LATEST {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_reader_that_reads_nothing_stops_neither_signals_nor_limits() {
    let bench = Bench::new().file("work/x", "").file("state/x", "");
    let usual = ["run", "--write", "work", "--limit", "cpu=300s"];
    let mut child = flood(&bench, &[usual.as_slice(), &["--limit", "wall=300s"]].concat());
    wait_for(&bench, "work/begun");
    // Until the pipe, and all that lies before it, is full.
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "TERM");
    let (code, took) = wait(&mut child);
    assert_eq!(code, Some(143), "after {took:?}");

    let mut child = flood(&bench, &[usual.as_slice(), &["--limit", "wall=1s"]].concat());
    let (code, took) = wait(&mut child);
    assert_eq!(code, Some(124), "after {took:?}");
    // Nobody waits for the reader but for a few seconds; what it could have is still there.
    let mut head = [0; 11];
    child.stdout.take().unwrap().read_exact(&mut head).unwrap();
    assert_eq!(&head, b"0123456789\n");
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let bench = Bench::new().file("work/x", "").file("state/x", "");
    let script = format!(
        "trap '' HUP; exec '{BINARY}' run --write work --exec sleep --limit wall=300s -- sh -c \
         'echo > work/begun; while [ ! -e work/go ]; do sleep 0.1; done; exit 7'"
    );
    let mut started = Command::new("sh");
    started.args(["-c", &script]).current_dir(bench.path()).env("XDG_STATE_HOME", bench.path().join("state"));
    let mut child = started.stdin(Stdio::null()).spawn().unwrap();
    wait_for(&bench, "work/begun");
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it ended by a signal that is ignored");
    std::fs::write(bench.path().join("work/go"), "").unwrap();
    assert_eq!(wait(&mut child).0, Some(7));
    // One that is not ignored still ends it.
    std::fs::remove_file(bench.path().join("work/go")).unwrap();
    std::fs::remove_file(bench.path().join("work/begun")).unwrap();
    let mut child = started.spawn().unwrap();
    wait_for(&bench, "work/begun");
    signal(&child, "TERM");
    assert_eq!(wait(&mut child).0, Some(143));
}

#[test]
fn output_is_whole_or_the_exit_code_says_otherwise() {
    let content: Vec<u8> = (0..5_u32 << 20).map(|place| (place % 251) as u8).collect();
    let bench = Bench::new().file("big", &content);
    let ran = bench.run(&["run", "--read", "big", "--", "cat", "big"], b"");
    assert_eq!(ran.status.code(), Some(0));
    assert!(ran.stdout == content, "{} of {} bytes", ran.stdout.len(), content.len());

    let ran = bench.run(&["run", "--limit", "output=1M", "--read", "big", "--", "cat", "big"], b"");
    assert_eq!(ran.status.code(), Some(4));
    assert!(content.get(..1 << 20) == Some(ran.stdout.as_slice()), "{}", ran.stdout.len());
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("the command ran into a limit (`output`, 1M)"), "{said}");
    // A code of the command's own is passed through.
    let failing = [
        "run",
        "--limit",
        "output=1K",
        "--read",
        "big",
        "--exec",
        "cat",
        "--",
        "sh",
        "-c",
        "cat big; exit 9",
    ];
    assert_eq!(bench.run(&failing, b"").status.code(), Some(9));
    // What is kept in the JSON has a limit always.
    let ran = bench.run(&["run", "--json", "--read", "big", "--", "cat", "big"], b"");
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.status.code(), &told["exitCode"]), (Some(4), &serde_json::json!(0)));
    assert_eq!(told["droppedStdout"], serde_json::json!(content.len() - (1 << 20)));
}

/// Connections of one call must not keep other calls from starting.
#[test]
fn a_server_may_open_as_many_files_as_the_system_lets_it() {
    let bench = Bench::new().file("ringfence.toml", "[personality]\n");
    for command in ["serve", "gateway"] {
        let script = format!("ulimit -Sn 256; exec '{BINARY}' {command}");
        let mut started = Command::new("sh");
        started.args(["-c", &script]).current_dir(bench.path()).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = started.env("XDG_STATE_HOME", bench.path()).stderr(Stdio::null()).spawn().unwrap();
        let limits = || {
            // Until it is there it is a shell, which has its limits from us.
            let program = std::fs::read_link(format!("/proc/{}/exe", child.id())).ok();
            if program != std::fs::canonicalize(BINARY).ok() {
                return (None, None);
            }
            let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
            let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
            let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            (numbers.first().copied(), numbers.get(1).copied())
        };
        let begun = Instant::now();
        let mut found = limits();
        while (found.0 != found.1 || found.0.is_none()) && begun.elapsed() < LATEST {
            std::thread::sleep(Duration::from_millis(10));
            found = limits();
        }
        assert!(found.1 > Some(256) && found.0 == found.1, "{command}: {found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
