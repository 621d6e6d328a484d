//! What one call may do on the network, while it lasts: its grant, its limits, who is asked and who is told.
//!
//! INVARIANT: the grant in force only shrinks, but for single targets that somebody was asked about and agreed to.

mod evidence;
mod guard;
mod meter;
mod name;
mod question;
mod ticket;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ringfence_policy::{Code, Host, Limits, NetworkGrant, OnUnknown, Refusal, Target, is_public};
use tokio::sync::watch;

use crate::LookupPermits;
use meter::Meter;
use name::Names;
use question::Questions;
use ticket::Counts;

pub use evidence::{Evidence, Tally, Verdict, Via, Witness};
pub(crate) use guard::Broken;
pub(crate) use meter::{Budget, Unspent, exceeded};
pub use question::Asker;
pub(crate) use ticket::{Ticket, Watch};

/// How long a question waits for its answer unless the builder says.
const PATIENCE: Duration = Duration::from_secs(60);

/// What one call may do on the network, while it lasts; cheap to clone.
///
/// # Examples
///
/// ```
/// use ringfence_egress::Scope;
/// use ringfence_policy::NetworkGrant;
///
/// let scope = Scope::new(NetworkGrant::default());
/// scope.revoke(); // from now on nothing is let through, and what was open is cut
/// assert_eq!(scope.tally().open, 0);
/// ```
#[derive(Clone)]
pub struct Scope(Arc<Inner>);

struct Inner {
    state: watch::Sender<State>,
    meter: Meter,
    names: Names,
    questions: Questions,
    counts: Counts,
    asker: Option<Arc<dyn Asker>>,
    witness: Option<Arc<dyn Witness>>,
    patience: Duration,
    lookups: LookupPermits,
}

/// What is in force.
#[derive(Debug)]
struct State {
    grant: Arc<NetworkGrant>,
    revoked: bool,
}

impl Scope {
    /// Makes a scope with the default limits, in which nobody is asked and nobody told.
    pub fn new(grant: NetworkGrant) -> Self {
        Self::builder(grant).build()
    }

    /// Starts from the default limits (256 connections at once, 5 minutes of silence, 120 names a minute below
    /// patterns with `*`), nobody asked, nobody told, 60 seconds for an answer.
    pub fn builder(grant: NetworkGrant) -> ScopeBuilder {
        ScopeBuilder {
            grant,
            limits: Limits::default(),
            asker: None,
            witness: None,
            patience: PATIENCE,
            lookups: LookupPermits::default(),
        }
    }

    /// Returns the grant in force now.
    pub fn grant(&self) -> Arc<NetworkGrant> {
        Arc::clone(&self.0.state.borrow().grant)
    }

    /// Takes away what `to` does not admit, and cuts what is open beyond it. Nothing is ever added.
    pub fn narrow(&self, to: &NetworkGrant) {
        self.0.state.send_modify(|state| state.grant = Arc::new(state.grant.narrowed(to)));
    }

    /// Takes everything away, for good, and cuts everything that is open.
    pub fn revoke(&self) {
        self.0.state.send_modify(|state| *state = State { grant: Arc::default(), revoked: true });
    }

    /// Returns what became of everything so far.
    pub fn tally(&self) -> Tally {
        Tally {
            open: self.0.meter.open(),
            sent: self.0.meter.sent.used(),
            received: self.0.meter.received.used(),
            ..self.0.counts.tally()
        }
    }

    /// Judges a target by the grant in force, and asks about it where it is unknown and somebody may be asked.
    pub(crate) async fn admit(&self, target: &Target) -> Result<Arc<NetworkGrant>, Refusal> {
        let refusal = match self.judge(target) {
            Ok(grant) => return Ok(grant),
            Err(refusal) => refusal,
        };
        let Some(asker) = self.asker(&target.host) else { return Err(refusal) };
        self.0.questions.answer(self, asker, target).await?;
        self.judge(target)
    }

    /// Judges a target by the grant in force.
    pub(crate) fn judge(&self, target: &Target) -> Result<Arc<NetworkGrant>, Refusal> {
        let state = self.0.state.borrow();
        if state.revoked {
            return Err(Refusal::new(Code::HostNotAllowed, "the network was taken away from this call"));
        }
        state.grant.judge(target)?;
        Ok(Arc::clone(&state.grant))
    }

    /// Returns who is asked about a host that nothing names; nobody about one below the address floor.
    pub(crate) fn asker(&self, host: &Host) -> Option<Arc<dyn Asker>> {
        let grant = self.grant();
        let above = match host {
            Host::Address(asked) => is_public(*asked) || grant.private().covers_address(*asked),
            Host::Name(name) => name.is_public() || grant.private().covers_name(name),
        };
        let asker = self.0.asker.as_ref().filter(|_| above && grant.on_unknown() == OnUnknown::Ask);
        asker.cloned()
    }

    /// Returns the limits and what was used of them.
    pub(crate) fn meter(&self) -> &Meter {
        &self.0.meter
    }

    /// Returns what bounds how many names are looked up for it at the same time.
    pub(crate) fn lookup_permits(&self) -> &LookupPermits {
        &self.0.lookups
    }

    /// Adds a target that somebody agreed to, unless nobody may be asked any more.
    fn add(&self, target: &Target) -> bool {
        self.0.state.send_if_modified(|state| {
            let asks = state.asks();
            if asks {
                state.grant = Arc::new(state.grant.with_target(target));
            }
            asks
        })
    }

    /// Ends when nobody may be asked any more.
    async fn asking_ended(&self) {
        // The sender lives as long as the scope, so that there is no error to heed.
        let mut state = self.0.state.subscribe();
        let _ended = state.wait_for(|state| !state.asks()).await.map(drop);
    }

    fn tell(&self, evidence: &Evidence) {
        let Some(witness) = &self.0.witness else { return };
        // A witness that panics must take neither the gate nor another connection with it.
        let _told = catch_unwind(AssertUnwindSafe(|| witness.saw(evidence)));
    }
}

impl State {
    fn asks(&self) -> bool {
        !self.revoked && self.grant.on_unknown() == OnUnknown::Ask
    }
}

impl From<NetworkGrant> for Scope {
    fn from(grant: NetworkGrant) -> Self {
        Self::new(grant)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("grant", &self.grant()).finish_non_exhaustive()
    }
}

/// Settings of a [`Scope`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct ScopeBuilder {
    grant: NetworkGrant,
    limits: Limits,
    asker: Option<Arc<dyn Asker>>,
    witness: Option<Arc<dyn Witness>>,
    patience: Duration,
    lookups: LookupPermits,
}

impl ScopeBuilder {
    /// Sets whose scope it is, a tool or a server: all scopes of one owner share a small part of the lookups of this process.
    pub fn owner(mut self, owner: &str) -> Self {
        self.lookups = LookupPermits::of_owner(owner);
        self
    }

    /// Sets the limits; those that are not about the network are ignored.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets who is asked about unknown hosts, where the grant says that somebody may be.
    pub fn asker(mut self, asker: Arc<dyn Asker>) -> Self {
        self.asker = Some(asker);
        self
    }

    /// Sets who is told of every connection and every refused name.
    pub fn witness(mut self, witness: Arc<dyn Witness>) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Sets how long a question waits for its answer.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Makes the scope.
    pub fn build(self) -> Scope {
        let state = State { grant: Arc::new(self.grant), revoked: false };
        Scope(Arc::new(Inner {
            state: watch::Sender::new(state),
            meter: Meter::new(&self.limits),
            names: Names::default(),
            questions: Questions::default(),
            counts: Counts::default(),
            asker: self.asker,
            witness: self.witness,
            patience: self.patience,
            lookups: self.lookups,
        }))
    }
}

impl fmt::Debug for ScopeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeBuilder").field("grant", &self.grant).finish_non_exhaustive()
    }
}

/// Locks a mutex. Nothing that is kept under one is left half-changed by a panic.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
