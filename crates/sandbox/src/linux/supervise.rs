//! Watching a command to its end: output, input, the deadline, and how it ended.

mod queue;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::process::{Signal, pidfd_send_signal};

use super::account::{Looking, Spent, processors};
use super::ends::Ours;
use super::launch::LONGEST_START;
use super::relay;
use queue::OutputQueue;

use crate::limit::{Enforcer, LimitName};
use crate::plan::Plan;
use crate::report::{Capture, Ending, Keep, Usage};
use crate::stream::{Observer, Stream};

/// A running command: something that ends, and tells how.
pub(crate) trait Process {
    /// Returns a descriptor that becomes readable when everything is over.
    fn pidfd(&self) -> BorrowedFd<'_>;
    /// Reads how the command ended, once everything is over.
    fn ending(&mut self) -> (Ending, Usage);
    /// Returns what else it tells while it runs, and what to do when it does.
    fn news(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
    /// Takes what it tells.
    fn listen(&mut self) {}
    /// Whether the command itself is about to run, or runs.
    fn has_started(&self) -> bool {
        true
    }
    /// Returns the number of the process that was started for the sandbox.
    fn pid(&self) -> i32;
    /// Returns what the whole tree has used so far, where that can be seen.
    fn spent(&mut self, looking: Looking) -> Option<Spent>;
}

/// What was seen of a command.
pub(crate) struct Watched {
    pub(crate) ending: Ending,
    pub(crate) usage: Usage,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    pub(crate) out_of_cpu: bool,
    pub(crate) out_of_memory: bool,
    /// It was killed because it had not begun to run.
    pub(crate) is_late: bool,
}

/// Bounds of watching.
pub(crate) struct Bounds {
    pub(crate) deadline: Option<Instant>,
    pub(crate) output: usize,
    pub(crate) cpu: Option<Duration>,
    /// Memory of the whole tree, where looking is what enforces it.
    pub(crate) memory: Option<u64>,
    /// A pipe whose other end is closed when nobody waits any more.
    pub(crate) leash: Option<OwnedFd>,
    /// A pipe of the numbers of signals that are passed on.
    pub(crate) signals: Option<OwnedFd>,
    /// Where it is told how much memory the tree uses.
    pub(crate) gauge: Option<Arc<AtomicU64>>,
    /// How long it may take until the command runs.
    pub(crate) start: Duration,
}

/// What the caller holds the other end of.
pub(crate) struct Outside {
    pub(crate) leash: Option<OwnedFd>,
    pub(crate) signals: Option<OwnedFd>,
    pub(crate) gauge: Option<Arc<AtomicU64>>,
}

impl Bounds {
    /// The bounds of a plan that began at `begun`.
    pub(crate) fn of(
        plan: &Plan,
        begun: Instant,
        Outside { leash, signals, gauge }: Outside,
        limits: &BTreeMap<LimitName, Enforcer>,
    ) -> Self {
        let supervised = limits.get(&LimitName::Memory) == Some(&Enforcer::Supervisor);
        Self {
            deadline: plan.deadline().map(|wall| begun + wall),
            output: plan.output_limit(),
            cpu: plan.limits.cpu.map(ringfence_policy::Span::duration),
            memory: plan.limits.memory.filter(|_| supervised).map(ringfence_policy::Size::bytes),
            leash,
            signals,
            gauge,
            start: LONGEST_START,
        }
    }

    /// Returns what is looked for.
    const fn looking(&self) -> Looking {
        Looking { cpu: self.cpu.is_some(), memory: self.memory, swap: false, processes: 1 }
    }

    /// Returns when a tree that has used this much is looked at next. Memory is used up as fast as a processor can fill it, processor
    /// time only as fast as there are processors.
    fn pause(&self, spent: Spent) -> Option<Duration> {
        let processors = processors();
        let cpu = self
            .cpu
            .map(|limit| (limit.saturating_sub(spent.cpu) / processors).clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
        let memory = self.memory.map(|limit| {
            let left = limit.saturating_sub(spent.memory);
            let filled = Duration::from_micros(left / (FILLED_A_MICROSECOND * u64::from(processors)));
            filled.clamp(SHORTEST_MEMORY_PAUSE, MEMORY_PAUSE)
        });
        let gauge = self.gauge.as_ref().map(|_| GAUGE_PAUSE);
        cpu.into_iter().chain(memory).chain(gauge).min()
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
/// A process that lives and dies between two looks, and that nobody waits for, is not seen.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
const MEMORY_PAUSE: Duration = Duration::from_millis(25);
const SHORTEST_MEMORY_PAUSE: Duration = Duration::from_millis(2);
/// How many bytes one processor fills.
const FILLED_A_MICROSECOND: u64 = 4 << 10;
/// How often it is looked where nobody but a person wants to know.
const GAUGE_PAUSE: Duration = Duration::from_secs(1);
/// How long an observer that takes nothing is waited for when a limit has ended the command.
const PATIENCE_AFTER_LIMIT: Duration = Duration::from_secs(5);
/// The same, when nobody waits for the command any more.
const PATIENCE_AFTER_LEASH: Duration = Duration::from_secs(1);

/// Watches until everything is over.
pub(crate) fn watch(
    process: &mut dyn Process,
    streams: Ours,
    observer: Option<Observer>,
    bounds: &Bounds,
) -> Result<Watched, Errno> {
    let started = Instant::now();
    // Where the input comes from may keep us waiting; the deadline does not wait.
    let keeps_waiting = streams.input.may_wait();
    let _watchdog =
        bounds.deadline.filter(|_| keeps_waiting).map(|deadline| Watchdog::new(process.pidfd(), deadline));
    let queue = observer.map(OutputQueue::new).transpose()?;
    let mut progress = (0, started);
    let Ours { mut input, mut output, mut error, window } = streams;
    let mut signals = bounds.signals.as_ref();
    let mut captures = [(Capture::default(), 0), (Capture::default(), 0)];
    let keep = if queue.is_some() { Keep::No } else { Keep::Yes };
    let (mut timed_out, mut over, mut cut) = (false, false, false);
    let (mut out_of_cpu, mut out_of_memory, mut is_late) = (false, false, false);
    let mut latest_start = Some(started + bounds.start);
    let mut next_look = bounds.pause(Spent::default()).map(|pause| started + pause);
    let mut buffer = vec![0; 64 << 10];

    // What is left in the pipes at the end is taken; that somebody outside still holds one is not waited for.
    let (mut left, mut ended) = (false, started);
    loop {
        let now = Instant::now();
        let is_unread = queue.as_ref().is_some_and(|queue| !queue.is_empty());
        if over && !left && !is_unread {
            break;
        }
        // What the command wrote is kept for a slow reader; for one that reads nothing, only as long as somebody waits for an end.
        if let Some(taken) = queue.as_ref().map(OutputQueue::taken).filter(|taken| *taken != progress.0) {
            progress = (taken, now);
        }
        let patience = if cut {
            Some(PATIENCE_AFTER_LEASH)
        } else {
            (timed_out || out_of_cpu || out_of_memory || is_late).then_some(PATIENCE_AFTER_LIMIT)
        };
        let give_up = patience.filter(|_| over && is_unread).map(|patience| progress.1 + patience);
        if give_up.is_some_and(|latest| now >= latest) {
            break;
        }
        if !over && !timed_out && bounds.deadline.is_some_and(|deadline| now >= deadline) {
            timed_out = true;
            kill(process);
        }
        if latest_start.is_some_and(|latest| now >= latest) {
            latest_start = None;
            is_late = !over && !process.has_started();
            if is_late {
                kill(process);
            }
        }
        if !over && next_look.is_some_and(|look| now >= look) {
            let spent = process.spent(bounds.looking()).unwrap_or_default();
            if let Some(gauge) = &bounds.gauge {
                gauge.store(spent.memory, Ordering::Relaxed);
            }
            out_of_cpu |= bounds.cpu.is_some_and(|limit| spent.cpu > limit);
            out_of_memory |= bounds.memory.is_some_and(|limit| spent.memory > limit);
            let exhausted = out_of_cpu || out_of_memory;
            if exhausted {
                kill(process);
            }
            next_look = bounds.pause(spent).filter(|_| !exhausted).map(|pause| now + pause);
        }
        let deadline = bounds.deadline.filter(|_| !timed_out);
        let look = next_look.filter(|_| !over);
        let wait = deadline
            .into_iter()
            .chain(look)
            .chain(latest_start)
            .filter(|_| !over)
            .chain(give_up)
            .min()
            .map(|next| next.saturating_duration_since(now));

        let mut polled: Vec<(Source, PollFd<'_>)> = Vec::with_capacity(4);
        if !over {
            polled.push((Source::End, PollFd::from_borrowed_fd(process.pidfd(), PollFlags::IN)));
        }
        if !over {
            let news = process.news();
            polled.extend(
                news.into_iter().map(|fd| (Source::News, PollFd::from_borrowed_fd(fd, PollFlags::IN))),
            );
        }
        let has_room = queue.as_ref().is_none_or(OutputQueue::has_room);
        for (source, descriptor) in [(Source::Output, &output), (Source::Error, &error)] {
            let read = descriptor.as_ref().filter(|_| has_room);
            polled.extend(read.map(|fd| (source, PollFd::new(fd, PollFlags::IN))));
        }
        polled.extend(
            queue
                .as_ref()
                .map(|queue| (Source::Queue, PollFd::from_borrowed_fd(queue.changed(), PollFlags::IN))),
        );
        if !cut {
            polled.extend(bounds.leash.as_ref().map(|fd| (Source::Leash, PollFd::new(fd, PollFlags::IN))));
        }
        if !over {
            polled.extend(signals.map(|fd| (Source::Signals, PollFd::new(fd, PollFlags::IN))));
            polled.extend(input.wants().map(|(fd, flags)| (Source::Input, PollFd::new(fd, flags))));
        }
        let wait = if over && !is_unread { Some(Duration::ZERO) } else { wait };
        let ready = ready(&mut polled, wait)?;
        // What was not looked at may hold something.
        left = !has_room
            || ready
                .iter()
                .any(|source| matches!(source, Source::End | Source::Error | Source::Output | Source::Queue));
        for source in ready {
            match source {
                Source::End => (over, ended) = (true, Instant::now()),
                Source::News => process.listen(),
                Source::Input => input.go_on(&mut buffer),
                Source::Leash => {
                    cut = true;
                    kill(process);
                }
                Source::Signals => {
                    let mut numbers = [0; 64];
                    let length = signals.and_then(|pipe| read(pipe, &mut numbers).ok()).unwrap_or_default();
                    // Its other end is closed.
                    signals = signals.filter(|_| length > 0);
                    for number in numbers.iter().take(length) {
                        pass_on(process, i32::from(*number), window.as_ref(), output.as_ref());
                    }
                }
                Source::Queue => {
                    let Some(queue) = &queue else { continue };
                    queue.acknowledge();
                    // Whoever takes it has had enough: the command learns of it as of any pipe that nobody reads.
                    output.take_if(|_| queue.is_refused(Stream::Output));
                    error.take_if(|_| queue.is_refused(Stream::Error));
                }
                Source::Output | Source::Error => {
                    let (place, stream, descriptor) = match source {
                        Source::Error => (1, Stream::Error, &mut error),
                        _ => (0, Stream::Output, &mut output),
                    };
                    let open = descriptor.as_ref().is_some_and(|fd| {
                        let Some((capture, total)) = captures.get_mut(place) else { return false };
                        drain(fd.as_fd(), &mut buffer, |bytes| {
                            let kept = capture.take(bytes, bounds.output, keep, total);
                            let Some(queue) = &queue else { return true };
                            queue.push(stream, kept);
                            queue.has_room()
                        })
                    });
                    if !open {
                        *descriptor = None;
                    }
                }
            }
        }
    }
    input.settle(&mut buffer);
    let (ending, mut usage) = process.ending();
    usage.wall = ended.saturating_duration_since(started);
    let [(stdout, _), (stderr, _)] = captures;
    let by_watchdog = ending == Ending::Signalled(libc::SIGKILL)
        && bounds.deadline.is_some_and(|deadline| ended >= deadline);
    let ending = if timed_out || by_watchdog { Ending::TimedOut } else { ending };
    Ok(Watched { ending, usage, stdout, stderr, out_of_cpu, out_of_memory, is_late })
}

#[derive(Clone, Copy)]
enum Source {
    End,
    Error,
    Input,
    Leash,
    News,
    Output,
    Queue,
    Signals,
}

fn ready(polled: &mut [(Source, PollFd<'_>)], wait: Option<Duration>) -> Result<Vec<Source>, Errno> {
    let timeout =
        wait.map(|wait| Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) });
    let mut descriptors: Vec<PollFd<'_>> = polled.iter().map(|(_, fd)| fd.clone()).collect();
    match poll(&mut descriptors, timeout.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Vec::new()),
        Err(errno) => return Err(errno),
    }
    let some = polled.iter().zip(&descriptors).filter(|(_, fd)| !fd.revents().is_empty());
    Ok(some.map(|((source, _), _)| *source).collect())
}

/// Kills at the deadline, from a thread of its own.
struct Watchdog(Option<Sender<()>>, Option<JoinHandle<()>>);

impl Watchdog {
    fn new(pidfd: BorrowedFd<'_>, deadline: Instant) -> Self {
        let (called_off, waiting) = channel::<()>();
        let bite = pidfd.try_clone_to_owned().ok().and_then(|pidfd| {
            let work = move || {
                let left = deadline.saturating_duration_since(Instant::now());
                if waiting.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    // Fails only when it is already over.
                    let _sent = pidfd_send_signal(&pidfd, Signal::KILL);
                }
            };
            std::thread::Builder::new().spawn(work).ok()
        });
        Self(Some(called_off), bite)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.take());
        let _ended = self.1.take().map(JoinHandle::join);
    }
}

/// Passes a signal on. One that asks the command to end, and that cannot be passed on, kills it.
fn pass_on(process: &dyn Process, number: i32, window: Option<&OwnedFd>, screen: Option<&OwnedFd>) {
    const END: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
    if number == libc::SIGWINCH {
        if let (Some(window), Some(screen)) = (window, screen) {
            super::terminal::copy_size(window, screen);
        }
        return;
    }
    let Some(signal) = Signal::from_named_raw(number) else { return };
    let is_passed = process.has_started() && relay::pass_on(process.pid(), signal);
    if !is_passed && END.contains(&number) {
        kill(process);
    }
}

fn kill(process: &dyn Process) {
    // Fails only when it is already over.
    let _sent = pidfd_send_signal(process.pidfd(), Signal::KILL);
}

/// Reads what there is, but for a while only, and as long as there is room: there is more to look after. Returns whether more may
/// come.
fn drain(pipe: BorrowedFd<'_>, buffer: &mut [u8], mut take: impl FnMut(&[u8]) -> bool) -> bool {
    for _ in 0..READS_PER_TURN {
        match rustix::io::read(pipe, &mut *buffer) {
            Ok(0) => return false,
            Ok(length) if !take(buffer.get(..length).unwrap_or_default()) => return true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return true,
            Err(_) => return false,
        }
    }
    true
}

const READS_PER_TURN: usize = 16;

#[cfg(test)]
mod tests;
