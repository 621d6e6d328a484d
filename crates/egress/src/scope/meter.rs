//! How much a call may do on the network, and how much it has done.
//!
//! INVARIANT: a byte is counted under the lock that lets it pass, so that concurrent connections together never
//! pass one more than is allowed.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use ringfence_policy::{Code, Limits, Refusal, Size, Span};

use super::locked;

/// Nothing is waited for longer, whatever was asked; it keeps the clock's arithmetic in range.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The limits of a scope and what was used of them.
#[derive(Debug)]
pub(crate) struct Meter {
    connections: u64,
    open: AtomicU64,
    requests: Option<Bucket>,
    pub(super) names: Bucket,
    /// What may go to far sides.
    pub(crate) sent: Budget,
    /// What may come from far sides.
    pub(crate) received: Budget,
    /// How long a connection may be silent.
    pub(crate) idle: Duration,
    /// How long a connection may last.
    pub(crate) longest: Option<Duration>,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        // Some of them always hold; what is still absent is not limited.
        let limits = limits.over(&Limits::of_network());
        Self {
            connections: limits.connections.map_or(u64::MAX, u64::from),
            open: AtomicU64::new(0),
            requests: limits
                .enforced()
                .requests_per_minute
                .map(|most| Bucket::new(most, "requests_per_minute")),
            names: Bucket::new(limits.names_per_minute.unwrap_or(u32::MAX), "names_per_minute"),
            sent: Budget::new(limits.sent, "sent"),
            received: Budget::new(limits.received, "received"),
            idle: limits.idle.map_or(LONGEST, Span::duration).min(LONGEST),
            longest: limits.connection_time.map(|span| span.duration().min(LONGEST)),
        }
    }

    /// Counts one more open connection, or refuses it.
    pub(super) fn enter(&self) -> Result<(), Refusal> {
        let entered = self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
            (open < self.connections).then_some(open + 1)
        });
        entered.map(drop).map_err(|_| exceeded(format!("{} connections are open already", self.connections)))
    }

    /// Counts one open connection less.
    pub(super) fn leave(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts one more request, or refuses it.
    pub(crate) fn request(&self) -> Result<(), Refusal> {
        self.requests.as_ref().map_or(Ok(()), Bucket::take)
    }
}

/// A number of bytes that connections share.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicU64,
    left: Option<Mutex<u64>>,
    limit: u64,
    name: &'static str,
}

impl Budget {
    fn new(limit: Option<Size>, name: &'static str) -> Self {
        let bytes = limit.map(Size::bytes);
        Self { used: AtomicU64::new(0), left: bytes.map(Mutex::new), limit: bytes.unwrap_or(u64::MAX), name }
    }

    /// Lets `pass` move at most as many bytes as are left, and `want` at most; says so when nothing is left.
    ///
    /// `pass` must not wait: other connections are held off while it runs.
    pub(crate) fn spend(
        &self,
        want: usize,
        pass: impl FnOnce(usize) -> Poll<io::Result<usize>>,
    ) -> Poll<Result<usize, Unspent>> {
        let passed = match &self.left {
            None => ready!(pass(want)),
            Some(left) => {
                let mut left = locked(left);
                let allowed = usize::try_from(*left).map_or(want, |left| left.min(want));
                if allowed == 0 && want > 0 {
                    let (limit, name) = (self.limit, self.name);
                    let refusal = exceeded(format!("the {limit} bytes that may be {name} are used up"));
                    return Poll::Ready(Err(Unspent::Limit(refusal)));
                }
                let passed = ready!(pass(allowed));
                if let Ok(count) = passed {
                    *left = left.saturating_sub(count as u64);
                }
                passed
            }
        };
        if let Ok(count) = passed {
            self.used.fetch_add(count as u64, Ordering::Relaxed);
        }
        Poll::Ready(passed.map_err(Unspent::Io))
    }

    /// Returns how many bytes passed.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// Why no byte passed.
#[derive(Debug)]
pub(crate) enum Unspent {
    /// The way is broken.
    Io(io::Error),
    /// No more may pass.
    Limit(Refusal),
}

/// So many in a minute: a bucket of as many, that fills steadily.
#[derive(Debug)]
pub(crate) struct Bucket {
    most: u32,
    level: Mutex<(f64, Instant)>,
    name: &'static str,
}

impl Bucket {
    fn new(most: u32, name: &'static str) -> Self {
        Self { most, level: Mutex::new((f64::from(most), Instant::now())), name }
    }

    /// Takes one, or refuses.
    pub(super) fn take(&self) -> Result<(), Refusal> {
        let mut level = locked(&self.level);
        let now = Instant::now();
        let most = f64::from(self.most);
        let filled = now.saturating_duration_since(level.1).as_secs_f64() * most / 60.0;
        *level = ((level.0 + filled).min(most), now);
        if level.0 < 1.0 {
            return Err(exceeded(format!("more than {} were asked for (`{}`)", self.most, self.name)));
        }
        level.0 -= 1.0;
        Ok(())
    }
}

/// Makes the refusal of what goes over a limit.
pub(crate) fn exceeded(message: String) -> Refusal {
    Refusal::new(Code::LimitExceeded, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_exact_and_gives_back_what_did_not_pass() {
        let budget = Budget::new(Some(Size::new(10)), "sent");
        let pass =
            |want, passes: usize| match budget.spend(want, |allowed| Poll::Ready(Ok(allowed.min(passes)))) {
                Poll::Ready(passed) => passed,
                Poll::Pending => panic!("nothing waits here"),
            };
        assert_eq!(pass(8, 8).unwrap(), 8);
        assert_eq!(pass(8, 1).unwrap(), 1);
        assert!(budget.spend(8, |_| Poll::Pending).is_pending());
        assert_eq!(pass(8, 8).unwrap(), 1);
        assert!(matches!(pass(8, 8), Err(Unspent::Limit(refusal)) if refusal.code == Code::LimitExceeded));
        assert_eq!(budget.used(), 10);
    }

    #[test]
    fn connections_and_rates_end_at_their_limit() {
        let limits = Limits { connections: Some(2), requests_per_minute: Some(3), ..Limits::default() };
        let meter = Meter::new(&limits);
        assert!(meter.enter().is_ok() && meter.enter().is_ok() && meter.enter().is_err());
        meter.leave();
        assert!(meter.enter().is_ok());
        assert!((0..3).all(|_| meter.request().is_ok()) && meter.request().is_err());
    }
}
