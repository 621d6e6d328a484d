//! A signal to us ends the command, and not us: what it left behind is still to be looked at.

use std::io::{PipeReader, PipeWriter, Write as _};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rustix::process::{Signal as Number, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// Waits for a signal that asks us to end.
pub(crate) struct Interrupt {
    received: Arc<AtomicI32>,
}

impl Interrupt {
    /// Begins to wait. The other end of the pipe that is returned is closed when a signal comes.
    pub(crate) fn new() -> std::io::Result<(Self, PipeReader)> {
        let (end, held) = std::io::pipe()?;
        let received = Arc::new(AtomicI32::new(0));
        let told = Arc::clone(&received);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().spawn(move || {
            let number = runtime.block_on(first_signal()).unwrap_or_default();
            told.store(number, Ordering::Release);
            drop(held);
        })?;
        Ok((Self { received }, end))
    }

    /// Begins to pass signals on. The other end of the first pipe that is returned is closed when the command is to be killed; the
    /// numbers of signals come from the second.
    pub(crate) fn pass_on() -> std::io::Result<(Self, PipeReader, PipeReader)> {
        let (end, held) = std::io::pipe()?;
        let (numbers, to) = std::io::pipe()?;
        let received = Arc::new(AtomicI32::new(0));
        let told = Arc::clone(&received);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let relay = runtime.block_on(async { Relay::new(to, told) })?;
        std::thread::Builder::new().spawn(move || {
            let received = Arc::clone(&relay.received);
            runtime.block_on(relay.run());
            drop(held);
            // Who asks us to end does not wait for a reader that never reads.
            std::thread::sleep(AFTERWARDS);
            end_now(128 + received.load(Ordering::Acquire));
        })?;
        Ok((Self { received }, end, numbers))
    }

    /// Returns the number of the first signal that asked us to end.
    pub(crate) fn received(&self) -> Option<i32> {
        Some(self.received.load(Ordering::Acquire)).filter(|number| *number != 0)
    }
}

/// How long a command has to end after a signal that asks it to.
const GRACE: Duration = Duration::from_secs(10);
/// How many such signals kill it at once.
const INSISTED: u32 = 3;
/// How long we have to end after the command was killed. What is left to look after then is found by the next run.
const AFTERWARDS: Duration = Duration::from_secs(10);
/// How long a stop takes to arrive, before we stop ourselves.
const STOPPING: Duration = Duration::from_millis(50);

/// Passes signals on to a command.
struct Relay {
    heard: Vec<(SignalKind, Signal)>,
    to: PipeWriter,
    received: Arc<AtomicI32>,
}

impl Relay {
    /// From here on the signals no longer do to us what they did.
    fn new(to: PipeWriter, received: Arc<AtomicI32>) -> std::io::Result<Self> {
        let kinds = [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::terminate(),
            SignalKind::user_defined1(),
            SignalKind::user_defined2(),
            SignalKind::window_change(),
            SignalKind::from_raw(Number::TSTP.as_raw()),
            SignalKind::from_raw(Number::CONT.as_raw()),
        ];
        let mut heard = Vec::with_capacity(kinds.len());
        for kind in kinds {
            heard.extend(listen(kind)?.map(|signal| (kind, signal)));
        }
        Ok(Self { heard, to, received })
    }

    /// Returns when the command is to be killed.
    async fn run(mut self) {
        let mut asked = 0;
        let mut latest = None;
        loop {
            let number = tokio::select! {
                number = next(&mut self.heard) => number,
                () = until(latest) => return,
            };
            match Number::from_named_raw(number) {
                Some(Number::HUP | Number::INT | Number::QUIT | Number::TERM) => {
                    let _first =
                        self.received.compare_exchange(0, number, Ordering::AcqRel, Ordering::Relaxed);
                    asked += 1;
                    if asked == INSISTED {
                        return;
                    }
                    latest.get_or_insert_with(|| Instant::now() + GRACE);
                    self.tell(number);
                }
                // The command's group has no parent in its session, and the kernel would ignore this signal alone.
                Some(Number::TSTP) => {
                    self.tell(number);
                    self.tell(Number::STOP.as_raw());
                    tokio::time::sleep(STOPPING).await;
                    // It may be over already.
                    if self.has_come(Number::CONT).await {
                        self.tell(Number::CONT.as_raw());
                    } else {
                        let _stopped = kill_process(getpid(), Number::STOP);
                    }
                }
                Some(_) | None => self.tell(number),
            }
        }
    }

    /// Tells whether a signal waits to be heard, and takes it.
    async fn has_come(&mut self, number: Number) -> bool {
        let heard = self.heard.iter_mut().find(|(kind, _)| kind.as_raw_value() == number.as_raw());
        let Some((_, signal)) = heard else { return false };
        std::future::poll_fn(|context| std::task::Poll::Ready(signal.poll_recv(context).is_ready())).await
    }

    fn tell(&mut self, number: i32) {
        // Nobody reads it any more when the command has ended.
        let _told = u8::try_from(number).map(|number| self.to.write_all(&[number]));
    }
}

/// Waits for one of these signals.
async fn next(heard: &mut [(SignalKind, Signal)]) -> i32 {
    std::future::poll_fn(|context| {
        for (kind, signal) in &mut *heard {
            if signal.poll_recv(context).is_ready() {
                return std::task::Poll::Ready(kind.as_raw_value());
            }
        }
        std::task::Poll::Pending
    })
    .await
}

#[expect(clippy::disallowed_methods, reason = "the main thread waits for somebody who may never come")]
fn end_now(code: i32) -> ! {
    std::process::exit(code)
}

async fn until(latest: Option<Instant>) {
    match latest {
        Some(latest) => tokio::time::sleep_until(latest).await,
        None => std::future::pending().await,
    }
}

/// Waits for a signal that asks us to end, and returns its number. From the first call on, such signals no longer end us. One that was
/// ignored when we started stays ignored, as `nohup` wants it.
pub(crate) async fn first_signal() -> std::io::Result<i32> {
    let mut hangup = listen(SignalKind::hangup())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    Ok(tokio::select! {
        () = arrival(&mut hangup) => 1,
        () = arrival(&mut interrupt) => 2,
        () = arrival(&mut terminate) => 15,
    })
}

/// Begins to listen for a signal, unless it is ignored.
fn listen(kind: SignalKind) -> std::io::Result<Option<Signal>> {
    // Once somebody listens, it is no longer ignored: it is looked at once.
    static IGNORED: LazyLock<u64> = LazyLock::new(ignored_signals);
    let is_ignored = *IGNORED >> (kind.as_raw_value() - 1) & 1 == 1;
    if is_ignored { Ok(None) } else { signal(kind).map(Some) }
}

async fn arrival(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Returns the set of signals that this process ignores: bit 0 is signal 1. Empty where the system does not tell.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
