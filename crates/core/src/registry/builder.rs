//! Putting a registry together: it starts from nothing.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use ringfence_policy::Personality;

use super::{OnGaps, Parts, Policy, Registry};
use crate::audit::AuditSink;
use crate::backend::Backends;
use crate::event::Observer;
use crate::gate::GateMode;
use crate::in_force::InForce;
use crate::interceptor::Interceptor;
use crate::network::Live;
use crate::pin::Pins;
use crate::port::{Approver, Clock, IdempotencyStore, MemoryIdempotency, Store, SystemClock};

/// A registry that is being put together.
#[must_use = "a builder does nothing until `build` is called"]
#[derive(Default)]
pub struct RegistryBuilder {
    personality: Personality,
    backends: Backends,
    interceptors: Vec<Arc<dyn Interceptor>>,
    observers: Vec<Arc<dyn Observer>>,
    audit: Option<Arc<dyn AuditSink>>,
    approver: Option<Arc<dyn Approver>>,
    runs: Option<Arc<dyn Store>>,
    idempotency: Option<Arc<dyn IdempotencyStore>>,
    keep_keys: Option<Duration>,
    clock: Option<Arc<dyn Clock>>,
    gate: GateMode,
    deadline: Option<Duration>,
    on_gaps: OnGaps,
    pins: Option<Pins>,
    in_force: InForce,
}

impl RegistryBuilder {
    /// Sets the ceiling; without one, no host and no path is permitted.
    pub fn personality(mut self, personality: Personality) -> Self {
        self.personality = personality;
        self
    }

    /// Sets what stands behind the handles; without them, every declared surface is refused.
    pub fn backends(mut self, backends: Backends) -> Self {
        self.backends = backends;
        self
    }

    /// Adds an interceptor; they are asked in the order they were added.
    pub fn interceptor(mut self, interceptor: Arc<dyn Interceptor>) -> Self {
        self.interceptors.push(interceptor);
        self
    }

    /// Adds an observer.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Sets where every outcome is kept.
    pub fn audit(mut self, audit: Arc<dyn AuditSink>) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Sets who is asked for approval; without one, such calls are refused `APPROVAL_REQUIRED`.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Counts runs in this store, by their names, so that `maxInvocations` and `onlyAfter` hold in every process that
    /// continues a run. Without it a run is counted by its [`Run`](crate::Run) alone. A name that is used again is the
    /// same run, until [`Registry::end_run`]. Where no tool has such a constraint, nothing is written.
    pub fn runs(mut self, store: Arc<dyn Store>) -> Self {
        self.runs = Some(store);
        self
    }

    /// Sets where idempotency keys are kept; the default forgets them with the process.
    pub fn idempotency(mut self, store: Arc<dyn IdempotencyStore>) -> Self {
        self.idempotency = Some(store);
        self
    }

    /// Sets how long what calls with an idempotency key returned is kept for those who ask again: a week by default, and never
    /// shorter than a day for `financial` and `privileged` tools.
    pub const fn keep_keys(mut self, keep: Duration) -> Self {
        self.keep_keys = Some(keep);
        self
    }

    /// Sets the clock that dates records.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Switches the argument gate; it enforces by default.
    pub const fn gate(mut self, gate: GateMode) -> Self {
        self.gate = gate;
        self
    }

    /// Sets the longest any call may take; 30 seconds by default.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Says what happens to tools that ask for too much; they are refused by default.
    pub const fn on_gaps(mut self, on_gaps: OnGaps) -> Self {
        self.on_gaps = on_gaps;
        self
    }

    /// Puts pins in force: a tool whose definition is not the accepted one is quarantined.
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = Some(pins);
        self
    }

    /// Sets the manifest that it works under: its hash goes into every record, and tools that go beyond what was accepted are
    /// quarantined.
    pub fn manifest(mut self, in_force: InForce) -> Self {
        self.in_force = in_force;
        self
    }

    /// Builds the registry, without tools.
    pub fn build(self) -> Registry {
        let parts = Parts {
            backends: self.backends,
            interceptors: self.interceptors,
            observers: self.observers,
            audit: self.audit,
            approver: self.approver,
            runs: self.runs,
            idempotency: self.idempotency.unwrap_or_else(|| Arc::new(MemoryIdempotency::default())),
            keep_keys: self.keep_keys.unwrap_or(Duration::from_hours(7 * 24)),
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            gate: self.gate,
            deadline: self.deadline.unwrap_or(Duration::from_secs(30)),
            refuses_gaps: self.on_gaps == OnGaps::Refuse,
            pins: self.pins,
            in_force: self.in_force,
            live: Live::default(),
            policies: Mutex::default(),
        };
        parts.policy_changed(&self.personality, true);
        let policy = Policy::new(self.personality, std::iter::empty(), &parts);
        Registry { parts: Arc::new(parts), policy: RwLock::new(Arc::new(policy)), calls: AtomicU64::new(0) }
    }
}
