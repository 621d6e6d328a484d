//! How a command ends, what it reads and what of its output arrives.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::matrix::check::{Check, ends, ok};
use crate::matrix::process::{finished, waited};
use crate::matrix::stage::Work;

#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    Check::steps("signal::term",      &[ends(143, &[], &["sh", "-c", "kill -TERM $$"])]),
    Check::steps("signal::interrupt", &[ends(130, &[], &["sh", "-c", "kill -INT $$"])]),
    Check::steps("signal::hang_up",   &[ends(129, &[], &["sh", "-c", "kill -HUP $$"])]),
    Check::steps("signal::pipe",      &[ends(141, &[], &["sh", "-c", "kill -PIPE $$"])]),
    Check::steps("signal::kill",      &[ends(137, &[], &["sh", "-c", "kill -9 $$"])]),
    Check::steps("signal::segment",   &[ends(139, &[], &["sh", "-c", "kill -SEGV $$"])]),
    Check::steps("signal::abort",     &[ends(134, &[], &["sh", "-c", "kill -ABRT $$"]), ends(134, &[], &["python3", "-c", "import os; os.abort()"])]),
    Check::steps("signal::of_a_child_is_the_shells_code", &[ends(143, &["--exec", "sh"], &["sh", "-c", "sh -c 'kill -TERM $$'; exit $?"])]),
    Check::steps("signal::none_is_ignored_or_blocked", &[
        ok(&[], &["grep", "-E", "SigBlk:|SigIgn:", "/proc/self/status"], "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000"),
    ]),
    Check::steps("signal::handler_runs", &[ok(&[], &["sh", "-c", "trap 'echo caught; exit 0' TERM; kill -TERM $$"], "caught")]),
    Check::call("exit::codes", codes),
    Check::steps("exit::refused_before_start", &[ends(3, &[], &["/no/such/program"]), ends(3, &["--read", "/no/such/folder"], &["true"])]),
    Check::steps("exit::descriptors", &[ok(&[], &["sh", "-c", "echo /proc/self/fd/*"], "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2")]),
    Check::call("pipe::reader_leaves", |work| left(work, &["seq", "1", "1000000"], "1")),
    Check::call("pipe::reader_leaves_endless", |work| left(work, &["yes"], "y")),
    Check::steps("pipe::inside", &[ok(&["--exec", "yes", "--exec", "head"], &["sh", "-c", "yes | head -1"], "y")]),
    Check::steps("input::ends", &[ok(&[], &["cat"], ""), ok(&[], &["sh", "-c", "read line || echo over"], "over")]),
    Check::call("input::arrives", input),
    Check::call("output::head_is_kept", head),
    Check::call("output::streams_are_apart", apart),
    Check::call("output::arrives_at_once", streamed),
    Check::call("deadline::sleep", |work| deadline(work, &["sleep", "3600"])),
    Check::call("deadline::ignoring", |work| deadline(work, &["sh", "-c", "trap '' TERM INT HUP; sleep 3600; sleep 3600"])),
    Check::call("deadline::stopped", |work| deadline(work, &["sh", "-c", "kill -STOP $$"])),
    Check::call("deadline::spinning", |work| deadline(work, &["sh", "-c", "while :; do :; done"])),
];

fn codes(work: &Work<'_>) -> Result<(), String> {
    for code in [0, 1, 2, 3, 4, 42, 63, 64, 100, 123, 124, 125, 126, 127, 128, 129, 137, 143, 200, 254, 255] {
        work.run(&[], &["sh", "-c", &format!("exit {code}")]).must(code, "")?;
    }
    Ok(())
}

/// Whoever reads takes one line and goes: the command learns of it as in a shell.
fn left(work: &Work<'_>, command: &[&str], first: &str) -> Result<(), String> {
    let mut run = work.ringfence(&[], command);
    let mut child = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    drop(reader);
    let code = waited(&mut child);
    // A command that did not learn of it would never end, or at a limit and with another code.
    if line.trim() == first && code == Some(141) {
        return Ok(());
    }
    Err(format!("`{}` and code {code:?}", line.trim()))
}

fn input(work: &Work<'_>) -> Result<(), String> {
    for (command, bytes, says) in [
        (&["cat"][..], 5, "xxxxx"),
        (&["wc", "-c"], 1 << 20, "1048576"),
        // What is not read is not waited for.
        (&["head", "-c", "3"], 1 << 20, "xxx"),
        (&["true"], 1 << 20, ""),
    ] {
        let mut run = work.ringfence(&[], command);
        let mut child =
            run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            let _written = pipe.write_all(&vec![b'x'; bytes]);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !text.contains(says) {
            return Err(format!("{command:?} with {bytes} bytes: {:?} {}", output.status, text));
        }
    }
    Ok(())
}

fn head(work: &Work<'_>) -> Result<(), String> {
    let ended = work.run(&["--limit", "output=64K"], &["seq", "1", "1000000"]);
    if ended.stdout.starts_with("1\n2\n3\n") && (60_000..=65_536).contains(&ended.stdout.len()) {
        return Ok(());
    }
    Err(format!("{} bytes, {:?}", ended.stdout.len(), ended.stdout.get(..20)))
}

fn apart(work: &Work<'_>) -> Result<(), String> {
    let ended = work.run(&[], &["sh", "-c", "echo out; echo err >&2"]);
    if ended.stdout == "out\n" && ended.stderr == "err\n" { Ok(()) } else { Err(format!("{ended:?}")) }
}

/// A line is passed on when it is written, not when the command ends.
fn streamed(work: &Work<'_>) -> Result<(), String> {
    let mut run =
        work.ringfence(&["--limit", "wall=1200s", "--exec", "sleep"], &["sh", "-c", "echo first; sleep 600"]);
    let mut child = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let took = begun.elapsed();
    crate::matrix::sys::kill(child.id());
    child.wait().unwrap();
    if line == "first\n" && took < Duration::from_secs(120) {
        Ok(())
    } else {
        Err(format!("`{line}` after {took:?}"))
    }
}

fn deadline(work: &Work<'_>, command: &[&str]) -> Result<(), String> {
    // Without a limit of its own it would end after the usual 30 s, so one attempt must end well before.
    let mut took = Duration::ZERO;
    for _ in 0..3 {
        let begun = Instant::now();
        let mut run = work.ringfence(&["--limit", "wall=1s", "--exec", "sleep"], command);
        finished(run.stdin(Stdio::null())).must(124, "")?;
        took = begun.elapsed();
        if took < Duration::from_secs(25) {
            return Ok(());
        }
    }
    Err(format!("it took {took:?}"))
}
