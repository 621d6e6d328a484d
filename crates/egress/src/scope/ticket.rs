//! What is kept of one connection while it lasts.
//!
//! INVARIANT: each ticket is told of exactly once, when it is finished or dropped, whichever comes first.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ringfence_policy::{Host, Refusal, Target};
use tokio::sync::watch;
use tokio::time::Instant;

use super::guard::Guard;
use super::{Evidence, Scope, State, Tally, Verdict, Via, locked};
use crate::own;

/// What became of connections and names so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    opened: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    cut: AtomicU64,
    unaccepted: AtomicU64,
    pub(super) names_refused: AtomicU64,
    pub(super) names_wild: AtomicU64,
}

impl Counts {
    pub(super) fn tally(&self) -> Tally {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Tally {
            opened: count(&self.opened),
            refused: count(&self.refused),
            failed: count(&self.failed),
            cut: count(&self.cut),
            unaccepted: count(&self.unaccepted),
            names_refused: count(&self.names_refused),
            names_wild: count(&self.names_wild),
            ..Tally::default()
        }
    }

    fn count(&self, verdict: &Verdict) {
        let counter = match verdict {
            Verdict::Cut { .. } => &self.cut,
            Verdict::Done => return,
            Verdict::Failed { .. } => &self.failed,
            Verdict::Refused { .. } => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// One connection, from its first sign to its evidence.
#[derive(Debug)]
pub(crate) struct Ticket {
    scope: Scope,
    target: Target,
    via: Via,
    started: Instant,
    counted: bool,
    address: OnceLock<SocketAddr>,
    sent: AtomicU64,
    received: AtomicU64,
    /// When the last byte passed, in milliseconds after the start.
    active: AtomicU64,
    verdict: Mutex<Option<Verdict>>,
    cut: OnceLock<Refusal>,
    told: AtomicBool,
}

impl Ticket {
    /// Counts a connection. Also one that is one too many has a ticket, which tells of it.
    pub(crate) fn enter(scope: &Scope, target: Target, via: Via) -> (Self, Result<(), Refusal>) {
        let entered = scope.0.meter.enter();
        let ticket = Self::new(scope, target, via, entered.is_ok());
        if let Err(refusal) = &entered {
            ticket.refuse(refusal);
        }
        (ticket, entered)
    }

    fn new(scope: &Scope, target: Target, via: Via, counted: bool) -> Self {
        Self {
            scope: scope.clone(),
            target,
            via,
            started: Instant::now(),
            counted,
            address: OnceLock::new(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            active: AtomicU64::new(0),
            verdict: Mutex::new(None),
            cut: OnceLock::new(),
            told: AtomicBool::new(false),
        }
    }

    /// Returns the scope.
    pub(crate) const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns where the connection is to go.
    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    /// Takes down that the far side was reached, at a judged address.
    pub(crate) fn opened(&self, address: SocketAddr) {
        if self.address.set(address).is_ok() {
            self.scope.0.counts.opened.fetch_add(1, Ordering::Relaxed);
        }
        self.touch();
    }

    /// Returns the judged address, once the far side was reached.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address.get().copied()
    }

    /// Judges the connection by the grant in force, its address included.
    pub(crate) fn judge(&self) -> Result<(), Refusal> {
        let target = &self.target;
        let grant = self.scope.judge(target)?;
        let Some(address) = self.address() else { return Ok(()) };
        if let Host::Name(_) = target.host {
            grant.judge_address(target, address.ip())?;
        }
        own::judge(&grant, target, address.ip())
    }

    /// Counts bytes that went to the far side.
    pub(crate) fn sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
        self.touch();
    }

    /// Counts bytes that came from the far side.
    pub(crate) fn received(&self, count: usize) {
        self.received.fetch_add(count as u64, Ordering::Relaxed);
        self.touch();
    }

    /// Takes down that something happened.
    pub(crate) fn touch(&self) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.active.store(millis, Ordering::Relaxed);
    }

    /// Returns when the connection began and when the last byte passed.
    pub(super) fn times(&self) -> (Instant, Instant) {
        let active = Duration::from_millis(self.active.load(Ordering::Relaxed));
        (self.started, self.started.checked_add(active).unwrap_or(self.started))
    }

    /// Takes down how the connection ended; the first word counts.
    pub(crate) fn settle(&self, verdict: Verdict) {
        locked(&self.verdict).get_or_insert(verdict);
    }

    /// Takes down that the connection was refused.
    pub(crate) fn refuse(&self, refusal: &Refusal) {
        self.settle(Verdict::from(refusal));
    }

    /// Takes down that the connection was open and is ended by this side.
    pub(crate) fn cut(&self, refusal: Refusal) {
        self.settle(Verdict::Cut { message: refusal.message.to_string() });
        // The first reason counts.
        let _earlier = self.cut.set(refusal);
    }

    /// Returns why this side ended the connection, if it did.
    pub(crate) fn why_cut(&self) -> Option<Refusal> {
        self.cut.get().cloned()
    }

    /// Tells of the connection. One that was not settled ended because whoever held it was stopped.
    pub(crate) fn tell(&self) {
        if self.told.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.counted {
            self.scope.0.meter.leave();
        }
        let verdict = locked(&self.verdict).take();
        let verdict = verdict
            .unwrap_or_else(|| Verdict::Cut { message: "the call ended before the connection".to_owned() });
        self.scope.0.counts.count(&verdict);
        if self.scope.0.witness.is_none() {
            return;
        }
        self.scope.tell(&Evidence {
            host: self.target.host.to_string(),
            port: Some(self.target.port),
            address: self.address(),
            via: self.via,
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            duration: self.started.elapsed(),
            verdict,
        });
    }

    /// Returns what watches over the connection from now on.
    pub(crate) fn guard(self: &Arc<Self>, watch: Watch) -> Guard {
        Guard::new(Arc::clone(self), watch.0)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.tell();
    }
}

/// The grant as it was when a connection was first judged, and whatever becomes of it.
#[derive(Debug)]
pub(crate) struct Watch(watch::Receiver<State>);

impl Scope {
    /// Begins to watch the grant. Whoever watches before judging misses no change.
    pub(crate) fn watch(&self) -> Watch {
        Watch(self.0.state.subscribe())
    }

    /// Counts a connection that could not be accepted.
    pub(crate) fn count_unaccepted(&self) {
        self.0.counts.unaccepted.fetch_add(1, Ordering::Relaxed);
    }
}
