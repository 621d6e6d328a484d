//! Watching a command to its end: output, input, the deadline, and how it ended.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use super::ends::Ours;
use crate::report::{Capture, Ending, Keep, Usage};
use crate::stream::{Observer, Stream};

/// A running command: something that ends, and tells how.
pub(crate) trait Process {
    /// Returns a descriptor that becomes readable when everything is over.
    fn pidfd(&self) -> BorrowedFd<'_>;
    /// Reads how the command ended, once everything is over.
    fn ending(&mut self) -> (Ending, Usage);
    /// Returns the processor time used so far by the whole tree, where it is known.
    fn cpu_time(&self) -> Option<Duration>;
}

/// What was seen of a command.
pub(crate) struct Watched {
    pub(crate) ending: Ending,
    pub(crate) usage: Usage,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    pub(crate) out_of_cpu: bool,
}

/// Bounds of watching.
pub(crate) struct Bounds {
    pub(crate) deadline: Option<Instant>,
    pub(crate) output: usize,
    pub(crate) cpu: Option<Duration>,
    /// A pipe whose other end is closed when nobody waits any more.
    pub(crate) leash: Option<OwnedFd>,
}

/// How often the processor time of a tree is looked at.
const CPU_INTERVAL: Duration = Duration::from_millis(50);

/// Watches until everything is over.
pub(crate) fn watch(
    process: &mut dyn Process,
    streams: Ours,
    mut observer: Option<Observer<'_>>,
    bounds: &Bounds,
) -> Result<Watched, Errno> {
    let started = Instant::now();
    let Ours { mut input, output, error } = streams;
    let (mut output, mut error) = (Some(output), Some(error));
    let mut captures = [(Capture::default(), 0), (Capture::default(), 0)];
    let keep = if observer.is_some() { Keep::No } else { Keep::Yes };
    let (mut timed_out, mut out_of_cpu, mut over, mut cut) = (false, false, false, false);
    let mut buffer = vec![0; 64 << 10];

    while !over || output.is_some() || error.is_some() {
        let now = Instant::now();
        if !timed_out && bounds.deadline.is_some_and(|deadline| now >= deadline) {
            timed_out = true;
            kill(process);
        }
        if !out_of_cpu
            && let (Some(limit), Some(used)) = (bounds.cpu, process.cpu_time())
            && used > limit
        {
            out_of_cpu = true;
            kill(process);
        }
        // After the end a pipe can be open only in a process on its way out; it is not waited for for long.
        let until_deadline = bounds.deadline.filter(|_| !timed_out).map(|deadline| deadline - now);
        let until_cpu =
            (bounds.cpu.is_some() && process.cpu_time().is_some() && !out_of_cpu).then_some(CPU_INTERVAL);
        let wait = until_deadline.into_iter().chain(until_cpu).min();

        let mut polled: Vec<(Source, PollFd<'_>)> = Vec::with_capacity(4);
        if !over {
            polled.push((Source::End, PollFd::from_borrowed_fd(process.pidfd(), PollFlags::IN)));
        }
        for (source, descriptor) in [(Source::Output, &output), (Source::Error, &error)] {
            polled.extend(descriptor.as_ref().map(|fd| (source, PollFd::new(fd, PollFlags::IN))));
        }
        if !cut {
            polled.extend(bounds.leash.as_ref().map(|fd| (Source::Leash, PollFd::new(fd, PollFlags::IN))));
        }
        polled.extend(input.as_ref().map(|(fd, _)| (Source::Input, PollFd::new(fd, PollFlags::OUT))));
        let ready = ready(&mut polled, wait)?;
        for source in ready {
            match source {
                Source::End => over = true,
                Source::Input => feed(&mut input),
                Source::Leash => {
                    cut = true;
                    kill(process);
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
                            if let Some(observer) = &mut observer
                                && !kept.is_empty()
                            {
                                observer(stream, kept);
                            }
                        })
                    });
                    if !open {
                        *descriptor = None;
                    }
                }
            }
        }
    }
    let (ending, mut usage) = process.ending();
    usage.wall = started.elapsed();
    let [(stdout, _), (stderr, _)] = captures;
    let ending = if timed_out { Ending::TimedOut } else { ending };
    Ok(Watched { ending, usage, stdout, stderr, out_of_cpu })
}

#[derive(Clone, Copy)]
enum Source {
    End,
    Error,
    Input,
    Leash,
    Output,
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

fn kill(process: &dyn Process) {
    // Fails only when it is already over.
    let _sent = pidfd_send_signal(process.pidfd(), Signal::KILL);
}

/// Writes what the pipe takes; closes it when all is written or nobody reads.
fn feed(input: &mut Option<(OwnedFd, Vec<u8>)>) {
    let Some((pipe, rest)) = input else { return };
    match rustix::io::write(&*pipe, rest) {
        Ok(written) => drop(rest.drain(..written)),
        Err(Errno::AGAIN | Errno::INTR) => return,
        Err(_) => rest.clear(),
    }
    if rest.is_empty() {
        *input = None;
    }
}

/// Reads what there is; returns whether more may come.
fn drain(pipe: BorrowedFd<'_>, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> bool {
    loop {
        match rustix::io::read(pipe, &mut *buffer) {
            Ok(0) => return false,
            Ok(length) => take(buffer.get(..length).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return true,
            Err(_) => return false,
        }
    }
}
