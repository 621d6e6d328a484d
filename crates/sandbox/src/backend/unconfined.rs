//! No sandbox at all, for who names it: every record says so.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Backend, Tier, sealed::Sealed};
use crate::error::SandboxError;
use crate::plan::Plan;
use crate::report::{Capture, Ending, Keep, Report, Usage};
use crate::step::Step;
use crate::stream::{Input, Streams};

/// Runs commands with everything this process may do. Nothing of a plan is enforced but the environment and the
/// working directory; a [`Sandbox`](crate::Sandbox) refuses it unless it was told to accept [`Tier::Unconfined`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Unconfined;

impl Sealed for Unconfined {}

impl Backend for Unconfined {
    fn name(&self) -> &'static str {
        "unconfined"
    }

    fn tier(&self) -> Tier {
        Tier::Unconfined
    }

    fn run(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        let begun = Instant::now();
        let failed = |error| SandboxError::Step { step: Step::Exec, path: Some(plan.program.clone()), error };
        let mut command = Command::new(&plan.program);
        command.args(plan.arguments.iter().skip(1)).env_clear().envs(plan.environment.iter().cloned());
        command.current_dir(&plan.directory).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (stdin, bytes) = match streams.input {
            Input::Bytes(bytes) => (Stdio::piped(), bytes),
            Input::Descriptor(descriptor) => (Stdio::from(descriptor), Vec::new()),
            Input::Nothing => (Stdio::null(), Vec::new()),
        };
        let mut child = command.stdin(stdin).spawn().map_err(failed)?;
        let (input, output, error) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = std::thread::scope(|scope| {
            scope.spawn(move || input.map(|mut pipe| pipe.write_all(&bytes)));
            let error = scope.spawn(|| read(error, plan.output_limit()));
            (read(output, plan.output_limit()), error.join().unwrap_or_default())
        });
        let status = child.wait().map_err(failed)?;
        if let Some(mut observer) = streams.observer {
            let _more = observer(crate::Stream::Output, &stdout.bytes);
            let _more = observer(crate::Stream::Error, &stderr.bytes);
        }
        let ending = status.code().map_or_else(
            || Ending::Signalled(std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(9)),
            Ending::Exited,
        );
        Ok(Report {
            ending,
            stdout,
            stderr,
            usage: Usage { wall: begun.elapsed(), ..Usage::default() },
            backend: self.name(),
            tier: self.tier(),
            limits: std::collections::BTreeMap::new(),
            exceeded: Vec::new(),
            quarantined: Vec::new(),
        })
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
