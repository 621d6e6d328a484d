//! Starts many sandboxes from one process, and says what the process has more of afterwards.
//!
//! `starts backend=native program=/bin/true inner=/… row=1000 once=64`: so many one after the other, then so many at the
//! same time. Exits with 1 and what was left when descriptors, threads, children or mounts grew.

#![expect(clippy::print_stdout, reason = "its lines are its result")]

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ringfence_e2e::{Scene, Stop};
use ringfence_sandbox::{Bwrap, Ending, Firejail, Native, Sandbox, SandboxError, Spec, Streams};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    match measured(&std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("failed: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn measured(scene: &Scene) -> Result<(), Failure> {
    let (row, once): (usize, usize) =
        (scene.number("row").map_err(said)?, scene.number("once").map_err(said)?);
    let spec = Spec::new(scene.text("program").map_err(said)?);
    let sandbox = sandbox(scene)?;
    // The launcher thread and what is kept for the life of the process come with the first.
    for _ in 0..3 {
        start(&sandbox, &spec)?;
    }
    let before = held()?;

    let begun = Instant::now();
    for _ in 0..row {
        start(&sandbox, &spec)?;
    }
    println!("row: {row} in {} ms", begun.elapsed().as_millis());
    settled(&before, "one after the other")?;

    let begun = Instant::now();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..once).map(|_| scope.spawn(|| start(&sandbox, &spec))).collect();
        all.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err("a thread panicked".into())))
    })?;
    println!("once: {once} in {} ms", begun.elapsed().as_millis());
    settled(&before, "at once")
}

fn said(stop: Stop) -> Failure {
    match stop {
        Stop::Broken(why) | Stop::Confined(why) => why.into(),
    }
}

fn sandbox(scene: &Scene) -> Result<Sandbox, Failure> {
    let inner = scene.text("inner").map_err(said)?;
    let made: Result<Sandbox, SandboxError> = match scene.text("backend").map_err(said)? {
        "native" => Ok(Sandbox::new(Native::new())),
        "bwrap" => Bwrap::system(inner).map(Sandbox::new),
        "firejail" => Firejail::system(inner).map(Sandbox::new),
        other => return Err(format!("there is no backend `{other}`").into()),
    };
    Ok(made?)
}

fn start(sandbox: &Sandbox, spec: &Spec) -> Result<(), Failure> {
    let report = sandbox.run(spec, Streams::default())?;
    if report.ending == Ending::Exited(0) { Ok(()) } else { Err(format!("{report:?}").into()) }
}

/// What this process holds: a line for each descriptor, thread, child and mount.
fn held() -> Result<BTreeSet<String>, Failure> {
    let mut held = BTreeSet::new();
    for entry in fs::read_dir("/proc/self/fd")?.flatten() {
        // The folder that is being read is not there afterwards.
        if let Ok(to) = fs::read_link(entry.path()) {
            held.insert(format!("descriptor {} of {}", entry.file_name().display(), kind(&to)));
        }
    }
    for task in fs::read_dir("/proc/self/task")?.flatten() {
        held.insert(format!("thread {}", task.file_name().display()));
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        held.extend(children.split_whitespace().map(|child| format!("child {child}")));
    }
    held.extend(fs::read_to_string("/proc/self/mountinfo")?.lines().map(|line| format!("mount {line}")));
    Ok(held)
}

/// `socket:[4711]` is another each time; that it is a socket is not.
fn kind(to: &std::path::Path) -> String {
    to.to_string_lossy().split(":[").next().unwrap_or_default().to_owned()
}

/// Waits a little for what is on its way out.
fn settled(before: &BTreeSet<String>, when: &str) -> Result<(), Failure> {
    let begun = Instant::now();
    loop {
        let more: Vec<String> = held()?.difference(before).cloned().collect();
        if more.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > Duration::from_secs(120) {
            return Err(
                format!("{} more after all were started {when}: {}", more.len(), more.join(", ")).into()
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
