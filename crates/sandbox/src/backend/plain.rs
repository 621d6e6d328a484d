//! Starting a program through the standard library: for backends that have no launcher of their own.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ringfence_policy::Assurance;

use super::Backend;
use crate::adapter::Input;
use crate::error::SandboxError;
use crate::limit::{Enforcer, LimitName};
use crate::plan::Plan;
use crate::report::{Capture, Ending, Keep, Report, Usage};
use crate::step::Step;
use crate::stream::{Stream, Streams};

/// How often it is asked whether a program has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs a program to its end or its deadline. The environment and the working directory are those of the plan.
pub(super) fn run(
    backend: &dyn Backend,
    mut command: Command,
    plan: &Plan,
    streams: Streams<'_>,
) -> Result<Report, SandboxError> {
    let begun = Instant::now();
    let failed = |error| SandboxError::Step { step: Step::Exec, path: Some(plan.program.clone()), error };
    command.env_clear().envs(plan.environment.iter().cloned()).current_dir(&plan.directory);
    let (stdin, bytes) = match streams.input {
        Input::Bytes(bytes) => (Stdio::piped(), bytes),
        Input::Descriptor(descriptor) => (Stdio::from(descriptor), Vec::new()),
        Input::Nothing => (Stdio::null(), Vec::new()),
    };
    let mut child =
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (input, output, error) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let limit = plan.output_limit();
    let (stdout, stderr, ended) = std::thread::scope(|scope| {
        scope.spawn(move || input.map(|mut pipe| pipe.write_all(&bytes)));
        let output = scope.spawn(move || read(output, limit));
        let error = scope.spawn(move || read(error, limit));
        let ended = wait(&mut child, plan.deadline().map(|wall| begun + wall));
        (output.join().unwrap_or_default(), error.join().unwrap_or_default(), ended)
    });
    if let Some(mut observer) = streams.observer {
        let more = observer(Stream::Output, &stdout.bytes);
        if more.is_continue() {
            let _more = observer(Stream::Error, &stderr.bytes);
        }
    }
    let ending = match ended.map_err(failed)? {
        None => Ending::TimedOut,
        Some(status) => status
            .code()
            .map_or_else(|| Ending::Signalled(status.signal().unwrap_or_default()), Ending::Exited),
    };
    let exceeded = if ending == Ending::TimedOut { vec![LimitName::Wall] } else { Vec::new() };
    let by_us = [LimitName::Output, LimitName::Wall].map(|limit| (limit, Enforcer::Supervisor));
    let aftermath = crate::quarantine::quarantine(plan);
    Ok(Report {
        ending,
        stdout,
        stderr,
        usage: Usage { wall: begun.elapsed(), ..Usage::default() },
        backend: backend.name(),
        tier: backend.tier(),
        limits: BTreeMap::from(by_us),
        exceeded,
        denied: BTreeMap::new(),
        record: None,
        quarantined: aftermath.moved,
        left: aftermath.left,
        assurance: Assurance::Claimed,
    })
}

/// Returns nothing when the time was up and the program was killed.
fn wait(child: &mut Child, deadline: Option<Instant>) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

fn read(pipe: Option<impl Read>, limit: usize) -> Capture {
    let (mut capture, mut total, mut buffer) = (Capture::default(), 0, [0; 8192]);
    let Some(mut pipe) = pipe else { return capture };
    while let Ok(length @ 1..) = pipe.read(&mut buffer) {
        capture.take(buffer.get(..length).unwrap_or_default(), limit, Keep::Yes, &mut total);
    }
    capture
}
