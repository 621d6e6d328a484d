//! An adapter for a service that runs each command in a virtual machine of its own.
//!
//! The service is made up, and small: `POST /v1/runs` at a Unix socket takes a plan, and answers with a line of JSON for each piece of
//! output and one for the end. It kills the command when the connection is closed.
//!
//! INVARIANT: when `run` returns, the connection is closed, and with it whatever ran.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ringfence_sandbox::{
    Adapter, Ending, Enforcer, Entry, Input, LimitName, Part, Plan, Ran, SandboxError, Session, Stream, Usage,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;

const NAME: &str = "micro";
/// A line that is longer than this is not the service's.
const LONGEST: usize = 1 << 20;
/// How long the service may keep silent before it is looked whether there is still time.
const TURN: Duration = Duration::from_millis(100);

/// A service that runs each command in a virtual machine.
#[derive(Debug)]
pub(crate) struct Micro {
    /// Where it listens.
    pub(crate) socket: PathBuf,
}

/// One line of its answer.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    Error(Vec<u8>),
    Exited(i32),
    Output(Vec<u8>),
    Refused(String),
}

impl Adapter for Micro {
    fn name(&self) -> &'static str {
        NAME
    }

    /// What the service says it does. It has none of this machine's files, no way to the egress gate and no terminal, so that plans
    /// with granted paths or hosts are refused by name, and this is never asked to run them.
    fn enforces(&self, plan: &Plan) -> BTreeSet<Part> {
        let has_paths = plan.root.iter().any(|entry| matches!(entry, Entry::Bind { .. }));
        let does = |part: &Part| match part {
            Part::Files => !has_paths,
            Part::Image | Part::Limit(_) | Part::Network | Part::Privileges | Part::SystemCalls => true,
            // Also what later versions may ask for.
            _ => false,
        };
        plan.parts().into_iter().filter(does).collect()
    }

    fn run(&self, plan: &Plan, session: &mut Session<'_>) -> Result<Ran, SandboxError> {
        let input = match session.input() {
            Input::Bytes(bytes) => bytes,
            Input::Nothing => Vec::new(),
            Input::Descriptor(_) => {
                return Err(SandboxError::Inexpressible {
                    what: "a conversation: the service reads its input first".into(),
                });
            }
        };
        let absent = |error: std::io::Error| SandboxError::Absent { backend: NAME, why: error.to_string() };
        let mut stream = UnixStream::connect(&self.socket).map_err(absent)?;
        ask(&mut stream, plan, &input).map_err(absent)?;
        let mut lines = Lines { stream, read: Vec::new() };
        let status = lines.next(session).map_err(absent)?;
        if !matches!(&status, Next::Line(line) if line.contains(" 200 ")) {
            return ended(&status).ok_or_else(|| absent(std::io::Error::other("it did not take the plan")));
        }
        // The other lines of the head end with an empty one.
        while matches!(lines.next(session).map_err(absent)?, Next::Line(line) if !line.trim().is_empty()) {}
        loop {
            let next = lines.next(session).map_err(absent)?;
            let Next::Line(line) = next else {
                return ended(&next).ok_or_else(|| absent(std::io::Error::other("no more lines")));
            };
            let written = match serde_json::from_str(&line) {
                Ok(Line::Error(bytes)) => session.write(Stream::Error, &bytes),
                Ok(Line::Exited(code)) => return Ok(ran(Ending::Exited(code), None)),
                Ok(Line::Output(bytes)) => session.write(Stream::Output, &bytes),
                Ok(Line::Refused(why)) => return Err(SandboxError::Absent { backend: NAME, why }),
                // What it wrote instead may be anything, and is not repeated.
                Err(_) => return Err(absent(std::io::Error::other("a line of its answer is none"))),
            };
            if written.is_break() {
                return Ok(ran(Ending::Signalled(9), None));
            }
        }
    }
}

/// Sends the plan. It shows only the names of variables, so that it can be kept; their values go beside it, and into no log.
fn ask(stream: &mut UnixStream, plan: &Plan, input: &[u8]) -> std::io::Result<()> {
    let texts = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
        Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
    };
    let environment: Option<BTreeMap<String, String>> = plan.environment.iter().map(texts).collect();
    let environment = environment.ok_or_else(|| std::io::Error::other("a variable is no text"))?;
    let body = serde_json::json!({ "plan": plan, "environment": environment, "input": input }).to_string();
    write!(stream, "POST /v1/runs HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// The answer, line by line.
struct Lines {
    stream: UnixStream,
    read: Vec<u8>,
}

enum Next {
    LetGo,
    Line(String),
    TimedOut,
}

impl Lines {
    /// Waits for a line, for the deadline, or until whoever waits for the command has gone.
    fn next(&mut self, session: &Session<'_>) -> std::io::Result<Next> {
        loop {
            if session.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Next::TimedOut);
            }
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return String::from_utf8(line).map(Next::Line).map_err(std::io::Error::other);
            }
            if self.read.len() > LONGEST {
                return Err(std::io::Error::other("a line of its answer has no end"));
            }
            let mut polled = vec![PollFd::new(&self.stream, PollFlags::IN)];
            let leash = session.leash();
            polled.extend(leash.as_ref().map(|leash| PollFd::new(leash, PollFlags::IN)));
            let left = session
                .deadline()
                .map_or(TURN, |deadline| deadline.saturating_duration_since(Instant::now()));
            poll(&mut polled, Timespec::try_from(left.min(TURN)).ok().as_ref())?;
            let ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
            if ready.get(1) == Some(&true) {
                return Ok(Next::LetGo);
            }
            if ready.first() == Some(&true) {
                let mut piece = [0; 8192];
                match self.stream.read(&mut piece)? {
                    0 => return Err(std::io::Error::other("it hung up before the command ended")),
                    length => self.read.extend_from_slice(piece.get(..length).unwrap_or_default()),
                }
            }
        }
    }
}

fn ended(next: &Next) -> Option<Ran> {
    match next {
        Next::LetGo => Some(ran(Ending::Signalled(9), None)),
        Next::Line(_) => None,
        Next::TimedOut => Some(ran(Ending::TimedOut, Some(LimitName::Wall))),
    }
}

fn ran(ending: Ending, exceeded: Option<LimitName>) -> Ran {
    Ran {
        ending,
        usage: Usage::default(),
        // The time is kept here; what keeps the other limits, only the service knows.
        limits: BTreeMap::from([(LimitName::Wall, Enforcer::Supervisor)]),
        exceeded: exceeded.into_iter().collect(),
    }
}
