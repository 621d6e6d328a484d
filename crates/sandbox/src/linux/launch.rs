//! Starting: one long-lived thread clones, everybody else sends instructions.
//!
//! The parent-death signal of a sandbox follows the thread that cloned it, so that thread must live as long as the
//! process. It can also prepare namespace sets ahead of time: a set is used once, by one sandbox.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair,
};
use rustix::process::{PidfdGetfdFlags, pidfd_getfd};

use super::op::Op;
use super::prepare::about;
use crate::error::SandboxError;
use crate::step::Step;
use crate::stream::Sockets;
use crate::sys::{Instructions, MAX_RECEIVED, MOST_SENT, Part, Prepared, enter, init_program};

/// A process in namespaces of its own that waits for instructions.
pub(crate) struct Set {
    prepared: Prepared,
    control: OwnedFd,
    base: Arc<[Op]>,
    namespaces: u64,
    /// Whether it has its descriptors already.
    inherits: bool,
    /// How long it may keep us waiting.
    longest: Duration,
    /// Its mount namespace. While it is held, the end of the last process need not wait for every mount to be undone.
    mounts: Option<OwnedFd>,
}

/// A sandbox whose command runs.
pub(crate) struct Started {
    /// Keeps the memory and kills everything when dropped.
    set: Set,
    steps: PlanSteps,
}

/// The steps of one plan: process 1 before it makes the command's process, process 1 after that, and the command.
pub(crate) struct PlanSteps {
    pub(crate) outer: Vec<Op>,
    pub(crate) closing: Vec<Op>,
    pub(crate) inner: Vec<Op>,
}

const NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

impl Set {
    /// Clones on the calling thread, which must outlive the set.
    fn new(base: &Arc<[Op]>, namespaces: u64, inherited: &[OwnedFd]) -> Result<Self, SandboxError> {
        let failed = |step| move |errno: Errno| SandboxError::Step { step, path: None, error: errno.into() };
        let init = init_program().map_err(failed(Step::Init))?;
        let (control, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(failed(Step::Control))?;
        let prepared = enter(namespaces, Arc::clone(base), (theirs.as_fd(), init.as_fd()), inherited)
            .map_err(failed(Step::Clone))?;
        // `theirs` is closed here: the clone copied our table of descriptors before it returned.
        let path = format!("/proc/{}/ns/mnt", prepared.pid());
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        // Only for speed: without it everything ends in its own time.
        let mounts = if namespaces == 0 {
            None
        } else {
            rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()
        };
        let inherits = !inherited.is_empty();
        let longest = LONGEST_START;
        Ok(Self { prepared, control, base: Arc::clone(base), namespaces, inherits, longest, mounts })
    }

    /// Returns the number of its first process, outside.
    pub(crate) const fn pid(&self) -> i32 {
        self.prepared.pid()
    }

    /// Sends the rest of the steps. What comes of them is known when it is over: see [`Started::failure`].
    pub(crate) fn start(
        self,
        steps: PlanSteps,
        streams: [BorrowedFd<'_>; 3],
        doors: &[OwnedFd],
    ) -> Result<Started, SandboxError> {
        let set = self.told(&steps, streams, doors)?;
        Ok(Started { set, steps })
    }

    /// Sends steps of which the last executes a program, and waits until it has.
    pub(crate) fn become_program(
        self,
        outer: Vec<Op>,
        streams: [BorrowedFd<'_>; 3],
        others: &[OwnedFd],
    ) -> Result<Started, SandboxError> {
        let steps = PlanSteps { outer, closing: Vec::new(), inner: Vec::new() };
        let set = self.told(&steps, streams, others)?;
        // The control socket closes when the program is executed; and when a step failed, which then was written down.
        match closed(&set.control, set.longest) {
            Ok(()) if set.prepared.failure().is_none() => Ok(Started { set, steps }),
            Err(Errno::TIMEDOUT) => Err(late_after(set.longest)),
            Ok(()) | Err(_) => Err(set.failed(&steps)),
        }
    }

    /// Sends the instructions. Descriptors are counted for the user while they are on their way, together with those of everything else
    /// that the user runs; where that is too many, another set takes the place of this one and inherits them.
    fn told(
        self,
        steps: &PlanSteps,
        streams: [BorrowedFd<'_>; 3],
        others: &[OwnedFd],
    ) -> Result<Self, SandboxError> {
        let cannot =
            |errno: Errno| SandboxError::Step { step: Step::Instruct, path: None, error: errno.into() };
        match self.instruct(steps, streams, others) {
            Ok(()) => return Ok(self),
            Err(Errno::TOOMANYREFS) if !self.inherits => {}
            // It ended before it was told anything.
            Err(Errno::PIPE | Errno::CONNRESET) => return Err(self.failed(steps)),
            Err(errno) => return Err(cannot(errno)),
        }
        let again =
            |descriptor: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(descriptor, 3).map_err(cannot);
        let all = streams.into_iter().chain(others.iter().map(AsFd::as_fd)).map(again);
        let launcher = Launcher::of_process()?;
        let set = launcher.clone_set(&self.base, self.namespaces, all.collect::<Result<_, _>>()?)?;
        let longest = self.longest;
        drop(self);
        Coming::Awaited(set).wait_within(longest)?.told(steps, streams, others)
    }

    fn instruct(
        &self,
        steps: &PlanSteps,
        streams: [BorrowedFd<'_>; 3],
        others: &[OwnedFd],
    ) -> Result<(), Errno> {
        let mut descriptors = Vec::new();
        if !self.inherits {
            descriptors.extend(streams);
            descriptors.extend(others.iter().map(AsFd::as_fd));
        }
        let message = Instructions::new(&steps.outer, &steps.closing, &steps.inner).to_bytes();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_RECEIVED))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(Errno::TOOBIG);
        }
        sendmsg(&self.control, &[IoSlice::new(&message)], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Waits for the end of a clone that failed, and says where it failed.
    fn failed(&self, steps: &PlanSteps) -> SandboxError {
        if wait_for(self.prepared.pidfd(), self.longest).is_err() {
            return late_after(self.longest);
        }
        self.failure(steps).unwrap_or_else(|| {
            let error = std::io::Error::other("the first process ended without saying why");
            SandboxError::Step { step: Step::Control, path: None, error }
        })
    }

    fn failure(&self, steps: &PlanSteps) -> Option<SandboxError> {
        let failure = self.prepared.failure()?;
        let ops = match failure.part {
            Part::Namespaces => &*self.base,
            Part::Outer => &steps.outer,
            Part::Closing => &steps.closing,
            Part::Inner => &steps.inner,
        };
        Some(SandboxError::Step {
            step: failure.step,
            path: ops.get(failure.index).and_then(about),
            error: std::io::Error::from_raw_os_error(failure.errno),
        })
    }
}

/// No start waits longer than this for one of its own processes.
pub(crate) const LONGEST_START: Duration = Duration::from_secs(30);

/// Waits until a descriptor has something to tell.
fn wait_for(descriptor: BorrowedFd<'_>, longest: Duration) -> Result<(), Errno> {
    let deadline = Instant::now() + longest;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
            Ok(0) => return Err(Errno::TIMEDOUT),
            Ok(_) => return Ok(()),
        }
    }
}

/// A start that took too long.
pub(crate) fn late() -> SandboxError {
    late_after(LONGEST_START)
}

fn late_after(longest: Duration) -> SandboxError {
    let why = format!("the sandbox did not start within {} s", longest.as_secs_f64());
    SandboxError::Step {
        step: Step::Instruct,
        path: None,
        error: std::io::Error::new(std::io::ErrorKind::TimedOut, why),
    }
}

/// Waits until nobody holds the other end of the control socket.
fn closed(control: &OwnedFd, longest: Duration) -> Result<(), Errno> {
    loop {
        wait_for(control.as_fd(), longest)?;
        match recv(control, &mut [0; 16], RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
            Ok(_) => return Ok(()),
        }
    }
}

impl Started {
    /// Returns why the command never ran, once everything is over.
    pub(crate) fn failure(&self) -> Option<SandboxError> {
        self.set.failure(&self.steps)
    }

    /// Waits for the sockets of the gate, which are the first thing that process 1 sends.
    pub(crate) fn sockets(&self) -> Result<Sockets, SandboxError> {
        let mut descriptors = self.receive(*b"sockets!", 2)?;
        let dns = descriptors.remove(0);
        Ok(Sockets { listeners: descriptors, dns })
    }

    /// Waits for the descriptor that tells of calls, which the command's process sends before it starts the command.
    pub(crate) fn listener(&self) -> Result<OwnedFd, SandboxError> {
        Ok(self.receive(*b"listener", 1)?.remove(0))
    }

    /// Waits for descriptors, at least so many, that come with this word.
    fn receive(&self, expected: [u8; 8], least: usize) -> Result<Vec<OwnedFd>, SandboxError> {
        let longest = self.set.longest;
        wait_for(self.set.control.as_fd(), longest).map_err(|_| late_after(longest))?;
        let mut message = [0; 8 + 4 * MOST_SENT];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_SENT))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let mut vector = [IoSliceMut::new(&mut message)];
            match recvmsg(&self.set.control, &mut vector, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                received => break received,
            }
        };
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = message {
                descriptors.extend(sent);
            }
        }
        let length = received.as_ref().map_or(0, |received| received.bytes);
        let (word, numbers) = message.get(..length).unwrap_or_default().split_at(length.min(8));
        if word == expected && descriptors.is_empty() {
            descriptors = self.fetch(numbers);
        }
        match received {
            Ok(_) if word == expected && descriptors.len() >= least => Ok(descriptors),
            // It ended before it could.
            Ok(_) | Err(_) => Err(self.set.failed(&self.steps)),
        }
    }

    /// Fetches descriptors of process 1, which waits for it, by their numbers.
    fn fetch(&self, numbers: &[u8]) -> Vec<OwnedFd> {
        let (numbers, _) = numbers.as_chunks::<4>();
        let fetched: Option<Vec<OwnedFd>> = numbers
            .iter()
            .map(|number| {
                pidfd_getfd(self.set.prepared.pidfd(), i32::from_ne_bytes(*number), PidfdGetfdFlags::empty())
                    .ok()
            })
            .collect();
        if fetched.is_some() {
            // When it is gone, its end is found out later.
            let _told = send(&self.set.control, b"fetched!", SendFlags::NOSIGNAL);
        } else {
            let _told = rustix::net::shutdown(&self.set.control, rustix::net::Shutdown::Write);
        }
        fetched.unwrap_or_default()
    }

    /// Whether everything is done but the command's own start.
    pub(crate) fn is_sealed(&self) -> bool {
        self.set.prepared.is_sealed()
    }

    /// Takes the mount namespace, to be ended later.
    pub(crate) fn take_mounts(&mut self) -> Option<OwnedFd> {
        self.set.mounts.take()
    }

    /// Returns the number of process 1, outside.
    pub(crate) const fn pid(&self) -> i32 {
        self.set.prepared.pid()
    }

    /// Returns the descriptor that becomes readable when everything is over.
    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.set.prepared.pidfd()
    }

    /// Returns the socket over which process 1 tells how the command ended.
    pub(crate) fn control(&self) -> BorrowedFd<'_> {
        self.set.control.as_fd()
    }
}

/// The launcher thread, and the sets it keeps ready.
pub(crate) struct Launcher {
    jobs: std::sync::mpsc::Sender<Job>,
    ready: Arc<Ready>,
    /// A set that was begun before anybody asked for it.
    early: Mutex<Option<(Arc<[Op]>, Answer)>>,
}

/// Where a set arrives when it is made.
type Answer = Receiver<Result<Set, SandboxError>>;

struct Ready {
    sets: Mutex<Sets>,
    added: Condvar,
}

#[derive(Default)]
struct Sets {
    waiting: VecDeque<Set>,
    wanted: usize,
    base: Option<Arc<[Op]>>,
    /// What the last attempt said, when it failed.
    failed: bool,
}

enum Job {
    Clone(Arc<[Op]>, u64, Vec<OwnedFd>, SyncSender<Result<Set, SandboxError>>),
    Bury(OwnedFd),
    Refill,
}

impl Launcher {
    /// Returns the one launcher of this process.
    ///
    /// # Errors
    ///
    /// The thread could not be started.
    pub(crate) fn of_process() -> Result<&'static Self, SandboxError> {
        static LAUNCHER: OnceLock<Result<Launcher, std::io::ErrorKind>> = OnceLock::new();
        let launcher = LAUNCHER.get_or_init(|| Self::start().map_err(|error| error.kind()));
        launcher.as_ref().map_err(|kind| SandboxError::Step {
            step: Step::Clone,
            path: None,
            error: (*kind).into(),
        })
    }

    fn start() -> std::io::Result<Self> {
        let (jobs, inbox) = channel();
        let ready = Arc::new(Ready { sets: Mutex::default(), added: Condvar::new() });
        let shared = Arc::clone(&ready);
        std::thread::Builder::new().name("ringfence-launcher".into()).spawn(move || work(&inbox, &shared))?;
        Ok(Self { jobs, ready, early: Mutex::default() })
    }

    /// Keeps `count` sets ready for sandboxes with this base.
    pub(crate) fn keep_ready(&self, base: &Arc<[Op]>, count: usize) {
        let mut sets = lock(&self.ready.sets);
        let same = sets.base.as_ref().is_some_and(|known| Arc::ptr_eq(known, base));
        if same && sets.wanted == count {
            return;
        }
        sets.wanted = count;
        sets.base = Some(Arc::clone(base));
        sets.failed = false;
        let surplus = if same { VecDeque::new() } else { std::mem::take(&mut sets.waiting) };
        drop(sets);
        drop(surplus);
        // The thread lives as long as the process.
        let _sent = self.jobs.send(Job::Refill);
    }

    /// Begins to make a set for the next sandbox with this base.
    pub(crate) fn begin(&self, base: &Arc<[Op]>) -> Result<(), SandboxError> {
        let answer = self.clone_set(base, NAMESPACES, Vec::new())?;
        *self.early.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::clone(base), answer));
        Ok(())
    }

    /// Makes up for the sets that were used. Called when a command has ended: making one takes locks that starting takes.
    pub(crate) fn refill(&self) {
        // The thread lives as long as the process.
        let _sent = self.jobs.send(Job::Refill);
    }

    /// Ends what a sandbox leaves behind when it is over, which takes time that nobody needs to wait for.
    pub(crate) fn bury(&self, remains: OwnedFd) {
        let _sent = self.jobs.send(Job::Bury(remains));
    }

    /// Waits until as many sets are ready as were asked for.
    pub(crate) fn wait_ready(&self) {
        self.refill();
        let sets = lock(&self.ready.sets);
        let enough = |sets: &mut Sets| sets.waiting.len() < sets.wanted && !sets.failed;
        drop(self.ready.added.wait_while(sets, enough).unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes a set that is ready, if there is one.
    pub(crate) fn ready_set(&self, base: &Arc<[Op]>) -> Option<Coming> {
        let mut sets = lock(&self.ready.sets);
        let same = sets.base.as_ref().is_some_and(|known| Arc::ptr_eq(known, base));
        sets.waiting.pop_front().filter(|_| same).map(Coming::Here)
    }

    /// Has a set made, unless one was begun already.
    pub(crate) fn set(&self, base: &Arc<[Op]>) -> Result<Coming, SandboxError> {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
        match early {
            Some((known, answer)) if Arc::ptr_eq(&known, base) => Ok(Coming::Awaited(answer)),
            _ => self.clone_set(base, NAMESPACES, Vec::new()).map(Coming::Awaited),
        }
    }

    /// Has a process made that stays in the namespaces of this one, to become a helper program.
    pub(crate) fn helper(&self, base: &Arc<[Op]>) -> Result<Set, SandboxError> {
        self.clone_set(base, 0, Vec::new()).map(Coming::Awaited)?.wait()
    }

    fn clone_set(
        &self,
        base: &Arc<[Op]>,
        namespaces: u64,
        inherited: Vec<OwnedFd>,
    ) -> Result<Answer, SandboxError> {
        let (answer, answered) = sync_channel(1);
        self.jobs.send(Job::Clone(Arc::clone(base), namespaces, inherited, answer)).map_err(|_| gone())?;
        Ok(answered)
    }
}

/// A set that is here or is being made.
pub(crate) enum Coming {
    Here(Set),
    Awaited(Answer),
}

impl Coming {
    /// Waits for it.
    pub(crate) fn wait(self) -> Result<Set, SandboxError> {
        self.wait_within(LONGEST_START)
    }

    fn wait_within(self, longest: Duration) -> Result<Set, SandboxError> {
        match self {
            Self::Here(set) => Ok(set),
            Self::Awaited(answered) => match answered.recv_timeout(longest) {
                Ok(set) => set,
                Err(RecvTimeoutError::Timeout) => Err(late_after(longest)),
                Err(RecvTimeoutError::Disconnected) => Err(gone()),
            },
        }
    }
}

fn gone() -> SandboxError {
    let error = std::io::Error::other("the launcher thread is gone");
    SandboxError::Step { step: Step::Clone, path: None, error }
}

fn work(inbox: &Receiver<Job>, ready: &Ready) {
    while let Ok(job) = inbox.recv() {
        match job {
            // Whoever asked and is gone drops the set with the answer.
            Job::Clone(base, namespaces, inherited, answer) => {
                drop(answer.send(Set::new(&base, namespaces, &inherited)));
            }
            Job::Bury(remains) => drop(remains),
            Job::Refill => refill(ready),
        }
    }
}

fn refill(ready: &Ready) {
    loop {
        let sets = lock(&ready.sets);
        let Some(base) = sets.base.clone().filter(|_| sets.waiting.len() < sets.wanted && !sets.failed)
        else {
            return;
        };
        drop(sets);
        let made = Set::new(&base, NAMESPACES, &[]);
        let mut sets = lock(&ready.sets);
        match made {
            Ok(set) => sets.waiting.push_back(set),
            // The next launch makes its own and reports what is wrong.
            Err(_) => sets.failed = true,
        }
        ready.added.notify_all();
    }
}

fn lock(sets: &Mutex<Sets>) -> MutexGuard<'_, Sets> {
    sets.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
