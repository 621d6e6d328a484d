//! How a container begins and ends, and what is left of it.

use std::io::{Read, Write, pipe};
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ringfence_policy::{Limits, Span};
use ringfence_sandbox::{Ending, Streams};

use crate::container::place::{all, out, place, run};

/// How long a test waits for what is certain to happen. Only a broken build waits that long.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn streams_and_codes_come_through() {
    let report = run(&place().shell("echo out; echo err >&2; exit 7"));
    assert_eq!((report.ending, out(&report).as_str()), (Ending::Exited(7), "out\n"));
    assert_eq!(report.stderr.bytes, b"err\n");
    let input: Vec<u8> = (0..300_000_u32).map(|one| one as u8).collect();
    let report =
        place().sandbox().run(&place().shell("md5sum"), Streams::default().input(input.clone())).unwrap();
    let alone = run_here(&input);
    assert_eq!(out(&report), alone);
    assert_eq!(out(&run(&place().shell("cat; echo end"))), "end\n", "no input is an empty one");
}

fn run_here(input: &[u8]) -> String {
    let mut child = Command::new("/bin/busybox")
        .arg("md5sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_conversation_goes_both_ways_while_it_runs() {
    let (theirs, mut ours) = pipe().unwrap();
    let (said, heard) = channel();
    let spec = place().shell("while read line; do echo got $line; done; echo bye");
    let running = std::thread::spawn(move || {
        let streams = Streams::default().input_from(theirs.into()).observe(move |_, bytes| {
            let _heard = said.send(String::from_utf8_lossy(bytes).into_owned());
            ControlFlow::Continue(())
        });
        place().sandbox().run(&spec, streams).unwrap()
    });
    for word in ["one", "two"] {
        writeln!(ours, "{word}").unwrap();
        assert_eq!(heard.recv_timeout(PATIENCE).unwrap(), format!("got {word}\n"));
    }
    drop(ours);
    assert_eq!(heard.recv_timeout(PATIENCE).unwrap(), "bye\n");
    assert_eq!(running.join().unwrap().ending, Ending::Exited(0));
}

#[test]
fn letting_go_of_the_leash_kills_and_removes_at_once() {
    // To end one takes no longer than to make, start and remove a few. Whoever waits for it to end by itself waits for
    // ten seconds at least. The best of several attempts counts on both sides.
    let whole = (0..3).map(|_| timed(|| drop(run(&place().shell("true"))))).min().unwrap();
    let took = (0..3).map(|_| let_go()).min().unwrap();
    println!("cancelled and removed in {took:?}, a whole one takes {whole:?}");
    assert!(took < whole * 4, "{took:?} and {whole:?}");
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// Starts one, lets go of its leash, and returns how long it takes until it is gone.
fn let_go() -> Duration {
    let (end, held) = pipe().unwrap();
    let (said, heard) = channel();
    let running = std::thread::spawn(move || {
        let streams = Streams::default().leash(end.into()).observe(move |_, _| {
            let _heard = said.send(());
            ControlFlow::Continue(())
        });
        place().sandbox().run(&place().shell("echo begun; sleep 1234"), streams).unwrap()
    });
    heard.recv_timeout(PATIENCE).unwrap();
    let begun = Instant::now();
    drop(held);
    let report = running.join().unwrap();
    let took = begun.elapsed();
    assert_eq!(report.ending, Ending::Signalled(9));
    assert!(report.exceeded.is_empty());
    assert!(
        !place().left_of(std::process::id()).iter().any(|one| one["Command"].to_string().contains("1234"))
    );
    took
}

#[test]
fn a_program_that_is_not_in_the_image_is_named() {
    let spec = ringfence_sandbox::Spec::new("nothing-like-this").in_image(&place().image);
    let error = place().sandbox().run(&spec, Streams::default()).unwrap_err();
    assert_eq!(error.to_string(), "`nothing-like-this` cannot be started: the image has no such program");
    assert!(
        !place()
            .left_of(std::process::id())
            .iter()
            .any(|one| one["Command"].to_string().contains("nothing-like"))
    );
}

/// Set in the process that is killed.
const CHILD: &str = "RINGFENCE_TEST_CONTAINER_CHILD";

#[test]
fn what_a_killed_gateway_leaves_is_swept_and_nothing_else() {
    if std::env::var_os(CHILD).is_some() {
        let streams = Streams::default().observe(|_, _| {
            println!("begun");
            std::io::stdout().flush().unwrap();
            ControlFlow::Continue(())
        });
        let wall = Some(Span::new(PATIENCE * 2));
        let spec = place().shell("echo begun; sleep 600").limits(Limits { wall, ..Limits::default() });
        place().sandbox().run(&spec, streams).unwrap();
        return;
    }
    let engine = format!("{} {}", place().address, place().image);
    let mut gateway = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "container::life::what_a_killed_gateway_leaves_is_swept_and_nothing_else",
            "--nocapture",
        ])
        .env(CHILD, "1")
        .env("RINGFENCE_TEST_ENGINE", engine)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut from = gateway.stdout.take().unwrap();
    let begun = Instant::now();
    while !said.contains("begun") {
        assert!(begun.elapsed() < PATIENCE, "{said}");
        let mut piece = [0; 256];
        let length = from.read(&mut piece).unwrap();
        assert!(length > 0, "{said}");
        said.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    place().sweep();
    assert_eq!(place().left_of(gateway.id()).len(), 1, "a living gateway's container is nobody's to remove");
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    let left = place().left_of(gateway.id());
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["State"], "running", "{left:?}");
    assert!(place().sweep() >= 1);
    assert_eq!(place().left_of(gateway.id()), Vec::<serde_json::Value>::new());
}

#[test]
fn many_at_once_leave_nothing() {
    let threads: Vec<_> = (0..4)
        .map(|number| {
            std::thread::spawn(move || {
                let report = run(&place().shell(&format!("echo {number}; exit {number}")));
                assert_eq!(
                    (report.ending, out(&report)),
                    (Ending::Exited(number), format!("{number}\n")),
                    "{}",
                    all(&report)
                );
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let volumes = place().ask("/volumes");
    assert!(volumes["Volumes"].as_array().is_none_or(Vec::is_empty), "{volumes}");
}
