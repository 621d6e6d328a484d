//! Whoever takes the output may block: the command waits for it then, and no limit does.

use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringfence_policy::Limits;
use ringfence_sandbox::{Ending, LimitName, Native, Report, Sandbox, Spec, Stream, Streams};

/// Writes more than fits anywhere.
const FLOOD: &str =
    "while :; do echo 0123456789012345678901234567890123456789012345678901234567890123456789; done";
/// Longer than any run here takes, and shorter than the limits that must not end it.
const LATEST: Duration = Duration::from_secs(60);

fn sh(script: &str, limits: &str) -> Spec {
    let limits: Limits = serde_json::from_str(limits).unwrap();
    Spec::new("/bin/sh").arguments(["-c", script]).limits(limits)
}

/// Runs with an observer that never returns.
fn run_blocked(spec: &Spec, streams: Streams<'_>) -> (Report, Duration) {
    let (held, never) = channel::<()>();
    let streams = streams.observe(move |_, _| {
        let _released = never.recv();
        ControlFlow::Continue(())
    });
    let begun = Instant::now();
    let report = Sandbox::new(Native::new()).run(spec, streams).unwrap();
    let took = begun.elapsed();
    drop(held);
    (report, took)
}

#[test]
fn limits_hold_while_nobody_takes_the_output() {
    let spec = sh(FLOOD, r#"{"wall": "300ms", "output": "1G"}"#);
    let (report, took) = run_blocked(&spec, Streams::default());
    assert_eq!((report.ending, report.exceeded), (Ending::TimedOut, vec![LimitName::Wall]));
    assert!(took < LATEST && report.usage.wall < Duration::from_secs(4), "{took:?} {:?}", report.usage);

    // Each process has little; only a look at the tree adds it up.
    let busy = format!("({FLOOD}) & while :; do (j=0; while [ $j -lt 100000 ]; do j=$((j+1)); done); done");
    let spec = sh(&busy, r#"{"cpu": "500ms", "wall": "300s", "output": "1G"}"#);
    let (report, took) = run_blocked(&spec, Streams::default());
    assert_eq!(report.exceeded, [LimitName::Cpu], "{:?}", report.ending);
    assert!(took < LATEST, "{took:?}");
}

#[test]
fn the_leash_ends_a_command_whose_output_nobody_takes() {
    let (end, held) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let releaser = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        drop(held);
    });
    let spec = sh(FLOOD, r#"{"wall": "300s", "cpu": "300s", "output": "1G"}"#);
    let (report, took) = run_blocked(&spec, Streams::default().leash(end));
    releaser.join().unwrap();
    assert_eq!(report.ending, Ending::Signalled(9));
    assert!(took < LATEST, "{took:?}");
}

#[test]
fn a_slow_observer_gets_everything_in_order_and_makes_the_command_wait() {
    const PAUSE: Duration = Duration::from_millis(8);
    // About 2 MB, more than all pipes and queues hold.
    let script = "i=0; while [ $i -lt 30000 ]; do echo $i 012345678901234567890123456789012345678901234567890123456789; i=$((i+1)); done; echo end >&2";
    let spec = sh(script, r#"{"wall": "300s", "cpu": "300s", "output": "1G"}"#);
    let seen = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let theirs = Arc::clone(&seen);
    let begun = Instant::now();
    let streams = Streams::default().observe(move |stream, bytes| {
        // So slowly that the command would long be done.
        std::thread::sleep(PAUSE);
        let mut seen = theirs.lock().unwrap();
        match stream {
            Stream::Error => seen.1.extend_from_slice(bytes),
            Stream::Output => seen.0.extend_from_slice(bytes),
        }
        ControlFlow::Continue(())
    });
    let report = Sandbox::new(Native::new()).run(&spec, streams).unwrap();
    assert_eq!(report.ending, Ending::Exited(0), "{:?}", begun.elapsed());
    let seen = seen.lock().unwrap();
    let expected: String = (0..30_000)
        .map(|i| format!("{i} 012345678901234567890123456789012345678901234567890123456789\n"))
        .collect();
    assert!(seen.0 == expected.as_bytes() && seen.1 == b"end\n", "{} of {}", seen.0.len(), expected.len());
    // It could end only when most of it was taken, in pieces of 16 KiB: a queue of 256 KiB and two pipes of 64 KiB lie between.
    let pieces = (expected.len() - (512 << 10)) / (16 << 10);
    assert!(report.usage.wall >= PAUSE * pieces as u32, "{:?} {pieces}", report.usage);
}
