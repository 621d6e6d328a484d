//! What does not change while a registry lives, and what is kept and told through it.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use ringfence_policy::Personality;

use super::panic_text;
use crate::audit::{AuditEntry, AuditSink, PolicyChange};
use crate::backend::Backends;
use crate::digest::digest;
use crate::event::{Event, Observer, Record};
use crate::gate::GateMode;
use crate::in_force::InForce;
use crate::interceptor::Interceptor;
use crate::network::Live;
use crate::outcome::Outcome;
use crate::pin::Pins;
use crate::port::{Approver, Clock, IdempotencyStore, Store};

/// What does not change while a registry lives.
pub(crate) struct Parts {
    pub(crate) backends: Backends,
    pub(crate) interceptors: Vec<Arc<dyn Interceptor>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    pub(crate) audit: Option<Arc<dyn AuditSink>>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Where runs are counted, for those that outlive the process.
    pub(crate) runs: Option<Arc<dyn Store>>,
    pub(crate) idempotency: Arc<dyn IdempotencyStore>,
    /// How long what keyed calls returned is kept.
    pub(crate) keep_keys: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) gate: GateMode,
    pub(crate) deadline: Duration,
    pub(crate) refuses_gaps: bool,
    pub(crate) pins: Option<Pins>,
    pub(crate) in_force: InForce,
    pub(crate) live: Live,
    /// Personalities that were put in force and are not in the audit yet: they go before the next entry.
    pub(crate) policies: Mutex<Vec<PolicyChange>>,
}

impl Parts {
    /// Keeps what a call left behind: the policies it was decided under, its connections, its record.
    pub(crate) async fn keep(&self, record: &Record) -> Result<(), String> {
        let raw = match record.outcome() {
            Outcome::Done(output) => output.raw(),
            Outcome::Failed(_) | Outcome::Refused(_) => record.trail.raw_error.as_ref(),
        };
        let connections = record.connections().iter();
        let connections = connections.map(|evidence| AuditEntry::Connection { record, evidence });
        self.append(connections.chain([AuditEntry::Call { record, raw }])).await
    }

    /// Keeps entries, after the personalities that were put in force before.
    pub(crate) async fn append<'a>(
        &self,
        entries: impl Iterator<Item = AuditEntry<'a>>,
    ) -> Result<(), String> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let policies = std::mem::take(&mut *self.policies.lock().unwrap_or_else(PoisonError::into_inner));
        let mut all: Vec<AuditEntry<'_>> = policies.iter().map(AuditEntry::Policy).collect();
        for entry in entries {
            all.push(entry);
        }
        if all.is_empty() {
            return Ok(());
        }
        let appended = AssertUnwindSafe(async { audit.append(&all).await }).catch_unwind().await;
        drop(all);
        let appended =
            appended.unwrap_or_else(|panic| Err(format!("the audit panicked: {}", panic_text(&*panic))));
        if appended.is_err() && !policies.is_empty() {
            let mut waiting = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.splice(..0, policies);
        }
        appended
    }

    /// Keeps the personalities that were put in force and are not in the audit yet.
    pub(crate) async fn keep_policies(&self) -> Result<(), String> {
        if self.policies.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            return Ok(());
        }
        self.append(std::iter::empty()).await
    }

    /// Puts a personality on the way into the audit.
    pub(crate) fn policy_changed(&self, personality: &Personality, start: bool) {
        if self.audit.is_none() {
            return;
        }
        let change = PolicyChange {
            at: self.clock.now(),
            personality: personality.id.as_deref().map(Arc::from),
            digest: digest(personality).unwrap_or_default(),
            manifest: self.in_force.hash.clone(),
            start,
            version: env!("CARGO_PKG_VERSION"),
        };
        self.policies.lock().unwrap_or_else(PoisonError::into_inner).push(change);
    }

    /// Tells observers; one that panics changes nothing.
    pub(crate) fn tell(&self, event: Event<'_>) {
        for observer in &self.observers {
            let told = std::panic::catch_unwind(AssertUnwindSafe(|| observer.event(event)));
            if told.is_err() {
                tracing::error!("an observer panicked and was ignored");
            }
        }
    }
}
