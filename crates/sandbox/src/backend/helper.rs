//! What bwrap and firejail have in common: a program of the system that starts our inner stage.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringfence_policy::Assurance;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::pipe::{PipeFlags, pipe_with};

use super::Tier;
use super::replacement::{Pins, Replacements};
use crate::error::SandboxError;
use crate::host::Kind;
use crate::inner::{Inner, Root};
use crate::linux::account::{Looking, Spent};
use crate::linux::budget::{Counting, Watching, divide, exceeded, holds_start};
use crate::linux::cgroup::Cgroups;
use crate::linux::ends::Ends;
use crate::linux::launch::{Launcher, Started};
use crate::linux::op::Op;
use crate::linux::prepare::execution;
use crate::linux::supervise::{Bounds, Outside, Process, watch};
use crate::plan::Plan;
use crate::quarantine::quarantine;
use crate::report::{Ending, Report, Usage};
use crate::step::Step;
use crate::stream::Streams;
use crate::sys::FIRST_RECEIVED;

/// One way to start a helper.
pub(super) struct Helper<'a> {
    pub(super) name: &'static str,
    pub(super) tier: Tier,
    pub(super) program: &'a Path,
    pub(super) root: Root,
    pub(super) counting: Counting,
}

/// What a helper is started with: its arguments, given the number of the plan's descriptor and of the first file's,
/// and the contents of the files.
type Arguments<'a> = dyn Fn(usize, usize) -> Result<(Vec<String>, Vec<String>), SandboxError> + 'a;

impl Helper<'_> {
    pub(super) fn run(
        &self,
        plan: &Plan,
        streams: Streams<'_>,
        arguments: &Arguments<'_>,
    ) -> Result<Report, SandboxError> {
        refuse_own_links(self.name, plan)?;
        let user = rustix::process::geteuid().as_raw();
        let mut cgroups = Cgroups::for_user(user, &plan.limits);
        let counting = if user == 0 { Counting::Nobody } else { self.counting };
        let (extra, limits) = divide(plan, counting, cgroups.as_ref(), Watching::Nothing)?;
        let watch_for =
            Replacements::of(plan, if self.root == Root::Own { Pins::Folders } else { Pins::Nothing })?;
        let inner = Inner::new(plan, &extra, self.root, cgroups.is_some())?;
        let inner = serde_json::to_vec(&inner).map_err(|error| SandboxError::Step {
            step: Step::Control,
            path: None,
            error: error.into(),
        })?;

        let mut others = cgroups.as_mut().map(Cgroups::take_doors).unwrap_or_default();
        let doors = others.len();
        let plan_descriptor = FIRST_RECEIVED + doors;
        let (words, files) = arguments(plan_descriptor, plan_descriptor + 2)?;
        let plan_file = memory_file(&inner)?;
        others.push(plan_file.try_clone().map_err(|error| SandboxError::Step {
            step: Step::Descriptors,
            path: None,
            error,
        })?);
        let (alive, lives) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        others.push(alive);
        for file in &files {
            others.push(memory_file(file.as_bytes())?);
        }
        let words: Vec<OsString> =
            std::iter::once(self.program.into()).chain(words.into_iter().map(Into::into)).collect();
        holds_start(&plan.limits, words.iter().map(OsString::as_os_str), 0)?;
        let mut steps = Vec::new();
        if doors > 0 {
            steps.push(Op::JoinCgroups { count: doors });
        }
        steps.extend([
            Op::Session { terminal: false },
            Op::ChangeDirectory { step: Step::WorkingDirectory, to: c"/".to_owned() },
            Op::Signals,
            Op::Execute(execution(self.program, &words, &[])?),
        ]);

        let ends =
            Ends::new((streams.input, streams.input_path), streams.output, plan.terminal).map_err(failed)?;
        let begun = Instant::now();
        let base: Arc<[Op]> = Arc::new([Op::DieWithParent]);
        let set = Launcher::of_process()?.helper(&base)?;
        let started = set.become_program(steps, ends.borrowed(), &others)?;
        drop(others);
        let ours = ends.into_ours();
        let replacements = watch_for.begin(started.pidfd())?;
        let outside = Outside { leash: streams.leash, signals: streams.signals, gauge: streams.gauge };
        let bounds = Bounds::of(plan, begun, outside, &limits);
        let mut process = Helped { started, cgroups, _lives: lives };
        let watched = watch(&mut process, ours, streams.observer, &bounds).map_err(failed)?;
        let replaced = replacements.end();
        let Helped { started, cgroups, .. } = process;
        drop(started);
        let exceeded = exceeded(&watched, cgroups.as_ref(), &bounds);
        drop(cgroups);
        let aftermath = quarantine(plan);
        if let Some(why) = inner_failure(plan_file) {
            return Err(SandboxError::Absent { backend: self.name, why });
        }
        Ok(Report {
            ending: watched.ending,
            stdout: watched.stdout,
            stderr: watched.stderr,
            usage: watched.usage,
            backend: self.name,
            tier: self.tier,
            limits,
            exceeded,
            denied: BTreeMap::new(),
            record: None,
            quarantined: aftermath.moved,
            left: replaced.into_iter().chain(aftermath.left).collect(),
            assurance: Assurance::Claimed,
        })
    }
}

/// Refuses a plan with a writable link on the way to a file of ours: a helper follows links, and cannot keep one in its place.
fn refuse_own_links(name: &str, plan: &Plan) -> Result<(), SandboxError> {
    match plan.pins.iter().find(|pin| pin.is_ours && pin.kind == Kind::Link) {
        Some(pin) => Err(SandboxError::Inexpressible {
            what: format!(
                "with `{name}`: keeping the link `{}`, which leads to a file of ringfence; name that file without it",
                pin.path.display()
            ),
        }),
        None => Ok(()),
    }
}

fn failed(errno: rustix::io::Errno) -> SandboxError {
    SandboxError::Step { step: Step::Descriptors, path: None, error: errno.into() }
}

/// Reads what the inner stage wrote in place of its plan, if it failed.
fn inner_failure(plan_file: OwnedFd) -> Option<String> {
    use std::io::{Read, Seek};
    let mut file = std::fs::File::from(plan_file);
    let mut said = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut said)).ok()?;
    said.strip_prefix(crate::inner::FAILED_WORD).map(str::to_owned)
}

fn memory_file(bytes: &[u8]) -> Result<OwnedFd, SandboxError> {
    let make = || {
        let file = memfd_create("ringfence-plan", MemfdFlags::CLOEXEC)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = rustix::io::write(&file, rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        seek(&file, SeekFrom::Start(0))?;
        Ok(file)
    };
    make().map_err(failed)
}

/// A helper that runs.
struct Helped {
    started: Started,
    cgroups: Option<Cgroups>,
    /// The inner stage sees by its other end that we are gone.
    _lives: OwnedFd,
}

impl Process for Helped {
    fn pidfd(&self) -> BorrowedFd<'_> {
        self.started.pidfd()
    }

    fn ending(&mut self) -> (Ending, Usage) {
        let Some((status, used)) = crate::sys::wait(self.started.pidfd()) else {
            return (Ending::Signalled(libc::SIGKILL), Usage::default());
        };
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec.unsigned_abs())
                + Duration::from_micros(time.tv_usec.unsigned_abs())
        };
        let peak = self.cgroups.as_ref().and_then(Cgroups::peak_memory);
        let usage = Usage {
            wall: Duration::ZERO,
            cpu: self.cpu_time().unwrap_or_else(|| time(used.ru_utime) + time(used.ru_stime)),
            peak_memory: peak.unwrap_or(used.ru_maxrss.unsigned_abs() * 1024),
        };
        (Ending::from_wait(status), usage)
    }

    fn pid(&self) -> i32 {
        self.started.pid()
    }

    fn spent(&mut self, _: Looking) -> Option<Spent> {
        self.cpu_time().map(|cpu| Spent { cpu, memory: 0 })
    }
}

impl Helped {
    fn cpu_time(&self) -> Option<Duration> {
        self.cgroups.as_ref().and_then(Cgroups::cpu_time)
    }
}
