//! The native backend: this crate's own launcher.

use std::ffi::OsString;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use ringfence_policy::Assurance;

use super::replacement::{Pins, Replacements};
use super::{Backend, Tier, sealed::Sealed};
use crate::adapter::Part;
use crate::error::SandboxError;
use crate::host::Platform;
use crate::linux::account::{Looking, Machine, Spent, Tree, own_peak};
use crate::linux::budget::{Counting, Watching, divide, exceeded, holds_start};
use crate::linux::cgroup::Cgroups;
use crate::linux::ends::Ends;
use crate::linux::launch::{Launcher, PlanSteps, Started, late};
use crate::linux::op::Op;
use crate::linux::prepare::{User, base_steps, closing_steps, command_steps, plan_steps};
use crate::linux::record::recording;
use crate::linux::refusal::Refusals;
use crate::linux::supervise::{Bounds, Outside, Process, watch};
use crate::plan::{Entry, Network, Plan, base};
use crate::quarantine::quarantine;
use crate::report::{Ending, Report, Usage};
use crate::seccomp::Profile;
use crate::step::Step;
use crate::stream::Streams;

/// What every sandbox with the same base begins with.
type Base = (Vec<Entry>, User, Arc<[Op]>);

/// Namespaces, a root of its own, Landlock and seccomp, without any helper program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native {
    ready: usize,
}

impl Native {
    /// Starts every sandbox from nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps this many sets of namespaces ready, so that a sandbox starts faster. Each is used once.
    #[must_use]
    pub fn keep_ready(mut self, count: usize) -> Self {
        self.ready = count;
        self
    }

    /// Waits until the sets that are kept ready are.
    ///
    /// # Errors
    ///
    /// The launcher thread could not be started.
    pub fn wait_ready(&self) -> Result<(), SandboxError> {
        Launcher::of_process()?.wait_ready();
        Ok(())
    }

    /// Begins to make the namespaces of the next sandbox, before it is known what it will be for.
    ///
    /// # Errors
    ///
    /// The launcher thread could not be started.
    pub fn begin() -> Result<(), SandboxError> {
        let base = base(Platform::of_this_machine(), false);
        Launcher::of_process()?.begin(&steps_of(&base, User::current())?)
    }
}

/// Returns the steps that every sandbox with this base begins with, made once.
fn steps_of(base: &[Entry], user: User) -> Result<Arc<[Op]>, SandboxError> {
    static KNOWN: Mutex<Vec<Base>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((.., ops)) = known.iter().find(|(entries, by, _)| entries == base && *by == user) {
        return Ok(Arc::clone(ops));
    }
    let ops: Arc<[Op]> = base_steps(base, user)?.into();
    known.push((base.to_vec(), user, Arc::clone(&ops)));
    Ok(ops)
}

impl Sealed for Native {}

impl Backend for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn tier(&self) -> Tier {
        Tier::Full
    }

    fn unsupported(&self) -> &'static [Part] {
        &[Part::Image]
    }

    fn run(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        let user = User::current();
        let begun = Instant::now();
        let variables = plan.environment.iter().flat_map(|(name, value)| [name, value]);
        let words = plan.arguments.iter().chain(variables).map(OsString::as_os_str);
        holds_start(&plan.limits, words, plan.landlock.rules.len())?;
        // The namespaces are made while the rest is prepared.
        let launcher = Launcher::of_process()?;
        let base = steps_of(&plan.base, user)?;
        let ready = (self.ready > 0).then(|| {
            launcher.keep_ready(&base, self.ready);
            launcher.ready_set(&base)
        });
        let coming = match ready.flatten() {
            Some(ready) => ready,
            None => launcher.set(&base)?,
        };
        let mut cgroups = Cgroups::for_user(user.outside.0, &plan.limits);
        let (extra, limits) = divide(plan, counting(user), cgroups.as_ref(), Watching::Tree)?;
        let doors = cgroups.as_mut().map(Cgroups::take_doors).unwrap_or_default();
        let profile = Profile { counted_memory: cgroups.is_some(), ..plan.seccomp };
        let steps = PlanSteps {
            outer: plan_steps(plan, doors.len())?,
            closing: closing_steps()?,
            inner: command_steps(plan, profile, &extra)?,
        };
        let ends =
            Ends::new((streams.input, streams.input_path), streams.output, plan.terminal).map_err(failed)?;
        // Before anything is mounted: what is replaced from then on is noticed.
        let watch_for = Replacements::of(plan, Pins::FoldersAndLinks)?;
        let started = coming.wait()?.start(steps, ends.borrowed(), &doors)?;
        drop(doors);
        if let (Network::Gated(_), Some(open)) = (&plan.network, streams.gate) {
            let failed = |error| SandboxError::Step { step: Step::Gate, path: None, error };
            open(started.sockets()?).map_err(failed)?;
        }
        let listener = match plan.recorded {
            true => Some(started.listener()?),
            false => None,
        };
        let ours = ends.into_ours();
        let replacements = watch_for.begin(started.pidfd())?;

        let outside = Outside { leash: streams.leash, signals: streams.signals, gauge: streams.gauge };
        let bounds = Bounds::of(plan, begun, outside, &limits);
        let mut process = Confined {
            started,
            cgroups,
            tree: None,
            // While the rest is prepared inside.
            before: bounds.memory.map(|_| Machine::now()).unwrap_or_default(),
            last: Spent::default(),
            status: None,
            refusals: profile.observe.then(|| Refusals::new(profile)),
        };
        let (watched, record) =
            recording(listener, || watch(&mut process, ours, streams.observer, &bounds).map_err(failed))?;
        let replaced = replacements.end();
        let Confined { mut started, cgroups, refusals, .. } = process;
        if let Some(mounts) = started.take_mounts() {
            launcher.bury(mounts);
        }
        if self.ready > 0 {
            launcher.refill();
        }
        if let Some(error) = started.failure() {
            return Err(error);
        }
        if watched.is_late {
            return Err(late());
        }
        drop(started);
        let exceeded = exceeded(&watched, cgroups.as_ref(), &bounds);
        drop(cgroups);
        let aftermath = quarantine(plan);
        Ok(Report {
            ending: watched.ending,
            stdout: watched.stdout,
            stderr: watched.stderr,
            usage: watched.usage,
            backend: self.name(),
            tier: self.tier(),
            limits,
            exceeded,
            denied: refusals.map(Refusals::into_counts).unwrap_or_default(),
            record,
            quarantined: aftermath.moved,
            left: replaced.into_iter().chain(aftermath.left).collect(),
            assurance: Assurance::Claimed,
        })
    }
}

fn failed(errno: rustix::io::Errno) -> SandboxError {
    SandboxError::Step { step: Step::Descriptors, path: None, error: errno.into() }
}

/// What process 1 writes when the command has ended.
const STATUS: usize = 152;

/// A native sandbox that runs.
struct Confined {
    started: Started,
    cgroups: Option<Cgroups>,
    /// Opened when it is first looked at.
    tree: Option<Tree>,
    /// What the machine had before.
    before: Machine,
    /// What was seen last.
    last: Spent,
    /// How the command ended, once process 1 has told.
    status: Option<[u8; STATUS]>,
    refusals: Option<Refusals>,
}

impl Process for Confined {
    fn pidfd(&self) -> BorrowedFd<'_> {
        self.started.pidfd()
    }

    fn ending(&mut self) -> (Ending, Usage) {
        if self.status.is_none() {
            self.read_control();
        }
        // Status, then `struct rusage`: two times of two words each, then the largest resident set in KiB.
        let message = self.status.unwrap_or([0; STATUS]);
        let word = |place: usize| {
            let bytes = message.get(place * 8..place * 8 + 8).and_then(|bytes| bytes.try_into().ok());
            u64::from_ne_bytes(bytes.unwrap_or_default())
        };
        if self.status.is_none() {
            // Process 1 was killed before the command ended: by us, or for memory.
            let peak = self.cgroups.as_ref().and_then(Cgroups::peak_memory).unwrap_or(self.last.memory);
            let cpu = self.cpu_time().unwrap_or(self.last.cpu);
            let usage = Usage { wall: Duration::ZERO, cpu, peak_memory: peak };
            return (Ending::Signalled(libc::SIGKILL), usage);
        }
        let time = |place| Duration::from_secs(word(place)) + Duration::from_micros(word(place + 1));
        let usage = Usage {
            wall: Duration::ZERO,
            cpu: self.cpu_time().unwrap_or_else(|| time(1) + time(3)),
            peak_memory: self.cgroups.as_ref().and_then(Cgroups::peak_memory).unwrap_or_else(|| {
                // It begins with what we use ourselves, whose memory it shared before it executed its program.
                let largest = word(5) * 1024;
                if largest > own_peak() { largest } else { self.last.memory }
            }),
        };
        (Ending::from_wait(word(0) as i32), usage)
    }

    fn news(&self) -> Vec<BorrowedFd<'_>> {
        match &self.refusals {
            Some(Refusals { listener: Some(listener), .. }) => vec![listener.as_fd()],
            Some(_) if self.status.is_none() => vec![self.started.control()],
            Some(_) | None => Vec::new(),
        }
    }

    fn listen(&mut self) {
        match self.refusals.as_mut().filter(|refusals| refusals.listener.is_some()) {
            Some(refusals) => refusals.answer(),
            None => self.read_control(),
        }
    }

    fn has_started(&self) -> bool {
        self.started.is_sealed()
    }

    fn pid(&self) -> i32 {
        self.started.pid()
    }

    fn spent(&mut self, looking: Looking) -> Option<Spent> {
        if self.tree.is_none() {
            self.tree = Tree::of(self.started.pid(), self.before);
        }
        self.last = self.tree.as_mut()?.spent(looking);
        Some(self.last)
    }
}

impl Confined {
    /// Takes one message of the control socket: the descriptor that tells of refusals, or how the command ended.
    fn read_control(&mut self) {
        let mut message = [0; STATUS];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut vector = [IoSliceMut::new(&mut message)];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let length =
            recvmsg(self.started.control(), &mut vector, &mut ancillary, flags).map_or(0, |told| told.bytes);
        for received in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = received
                && let Some(refusals) = &mut self.refusals
            {
                refusals.listener = descriptors.last();
            }
        }
        if length == STATUS {
            self.status = Some(message);
        }
    }

    fn cpu_time(&self) -> Option<Duration> {
        self.cgroups.as_ref().and_then(Cgroups::cpu_time)
    }
}

/// Root's processes are counted by nobody; anyone else's in the namespace, with process 1.
const fn counting(user: User) -> Counting {
    if user.outside.0 == 0 { Counting::Nobody } else { Counting::Namespace { beside: 1 } }
}
