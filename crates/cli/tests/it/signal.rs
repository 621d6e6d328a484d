//! Signals that `ringfence run` gets reach the command, and its handlers run.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::bench::Bench;

/// A run whose command has said that it is ready.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(bench: &Bench, flags: &[&str], script: &str) -> Self {
        let mut command = crate::bench::command(&bench.path());
        command.arg("run").args(flags).args(["sh", "-c", script]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut running = Self { output: BufReader::new(child.stdout.take().unwrap()), child };
        assert_eq!(running.line(), "ready");
        running
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Returns the rest of the output and how it ended.
    fn end(mut self) -> (String, Option<i32>) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }
}

/// Waits in pieces, so that a shell gets to its handlers.
const WAIT: &str = "echo ready; while :; do sleep 0.05; done";
const EXEC: &[&str] = &["--exec", "sleep"];

#[test]
fn a_handler_runs_and_its_code_is_passed_on() {
    let bench = Bench::new();
    for (signal, name) in [
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::TERM, "TERM"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
    ] {
        let script = format!("trap 'echo cleaned; exit 5' {name}; {WAIT}");
        let running = Running::start(&bench, EXEC, &script);
        running.send(signal);
        assert_eq!(running.end(), ("cleaned\n".to_owned(), Some(5)), "{name}");
    }
}

#[test]
fn without_a_handler_it_ends_the_command() {
    let bench = Bench::new();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let running = Running::start(&bench, EXEC, WAIT);
        running.send(signal);
        assert_eq!(running.end(), (String::new(), Some(code)), "{signal:?}");
    }
}

#[test]
fn every_process_of_the_group_gets_it() {
    let bench = Bench::new();
    let script = "trap 'wait; exit 6' TERM; sh -c \"trap 'echo child; exit' TERM; echo ready; while :; do sleep 0.05; done\" & wait";
    let running = Running::start(&bench, &["--exec", "sleep", "--exec", "sh"], script);
    running.send(Signal::TERM);
    assert_eq!(running.end(), ("child\n".to_owned(), Some(6)));
}

#[test]
fn one_that_does_not_end_is_killed_after_a_while_or_at_the_third_signal() {
    let bench = Bench::new();
    let script = format!("trap '' TERM; trap 'echo again' INT; {WAIT}");
    let mut running = Running::start(&bench, EXEC, &script);
    for _ in 0..2 {
        running.send(Signal::INT);
        assert_eq!(running.line(), "again");
    }
    let begun = Instant::now();
    running.send(Signal::INT);
    assert_eq!(running.end().1, Some(130));
    assert!(begun.elapsed() < Duration::from_secs(8), "it was not waited for: {:?}", begun.elapsed());
    let running = Running::start(&bench, EXEC, &script);
    running.send(Signal::TERM);
    assert_eq!(running.end().1, Some(143));
}

#[test]
fn a_command_is_stopped_and_goes_on() {
    let bench = Bench::new();
    let mut running = Running::start(&bench, EXEC, "echo ready; while echo beat; do sleep 0.05; done");
    running.send(Signal::TSTP);
    let status = format!("/proc/{}/status", running.child.id());
    let is_stopped = || std::fs::read_to_string(&status).unwrap().contains("State:\tT");
    let begun = Instant::now();
    while !is_stopped() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not stop");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.send(Signal::CONT);
    // Whatever the pipe held when it stopped, this is more.
    for _ in 0..40 {
        assert_eq!(running.line(), "beat");
    }
    running.send(Signal::TERM);
    assert_eq!(running.end().1, Some(143));
}
