//! The registry: tools, the personality in force, and the way in for calls.

mod builder;
mod resume;

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::FutureExt;
use ringfence_policy::{
    Decision, Declaration, Gap, Grant, NetworkGrant, Personality, ToolName, validate_declaration,
    validate_registration,
};

use serde_json::Value;

pub use builder::RegistryBuilder;

use crate::audit::{AuditEntry, AuditSink, PolicyChange, ServerStep};
use crate::backend::Backends;
use crate::call::{Call, Report};
use crate::digest::digest;
use crate::event::{Event, Observer, Record};
use crate::gate::GateMode;
use crate::handle::ScopedEnvironment;
use crate::in_force::InForce;
use crate::interceptor::Interceptor;
use crate::network::{Live, LiveCall};
use crate::outcome::Outcome;
use crate::pin::Pins;
use crate::pipeline::{Desk, Fit, Quarantine, Registered, Review, Settling, fit};
use crate::port::{Approver, Clock, IdempotencyStore, StoreError};
use crate::run::{Run, session_namespace};
use crate::tool::Tool;
use crate::touch::Touches;

/// Why a tool was not registered.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum RegistrationError {
    /// Another tool has the name.
    #[error("a tool named `{0}` is already registered")]
    Duplicate(ToolName),
    /// Another tool has a name that passes for this one.
    #[error("the tool name `{new}` passes for `{registered}`, which is already registered")]
    Collision {
        /// The name that was refused.
        new: ToolName,
        /// The name it passes for.
        registered: ToolName,
    },
    /// The declaration is faulty or asks for more than the personality permits.
    #[error("tool does not fit: {}", listed(.0))]
    Gaps(Vec<Gap>),
}

fn listed(gaps: &[Gap]) -> String {
    gaps.iter().map(|gap| format!("{}: {}", gap.capability, gap.message)).collect::<Vec<_>>().join("; ")
}

/// A tool that somebody else has judged.
pub struct Incoming {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Why it may not be called yet, if so.
    pub quarantine: Option<Quarantine>,
}

/// What a registry does with a tool that asks for more than the personality permits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnGaps {
    /// Registers it and lets it run with what both allow. What no personality could permit is refused all the same.
    Narrow,
    /// Does not register it, and refuses its calls after the personality has changed.
    #[default]
    Refuse,
}

/// Tools and the policy they run under.
///
/// # Examples
///
/// ```
/// use ringfence::{Call, Registry, Run, tool};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let registry = Registry::builder().build();
/// registry.register(
///     tool("shout")
///         .description("Say it louder")
///         .input::<String>()
///         .output::<String>()
///         .run(|text, _context| async move { Ok(text.to_uppercase()) })?,
/// )?;
///
/// let run = Run::new("run-1", "session-1");
/// let report = registry.call(&run, Call::new("shout", json!("hello"))).await;
/// assert_eq!(report.outcome.value(), Some("HELLO"));
///
/// let report = registry.call(&run, Call::new("shout", json!(7))).await;
/// assert_eq!(report.outcome.envelope_code(), Some("input_invalid"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Registry {
    parts: Arc<Parts>,
    policy: RwLock<Arc<Policy>>,
    calls: AtomicU64,
}

/// What does not change while a registry lives.
pub(crate) struct Parts {
    pub(crate) backends: Backends,
    pub(crate) interceptors: Vec<Arc<dyn Interceptor>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    pub(crate) audit: Option<Arc<dyn AuditSink>>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
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
            Outcome::Failed(_) | Outcome::Refused(_) => None,
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

/// The personality in force and how each tool fits it. Replaced as a whole.
pub(crate) struct Policy {
    personality: Arc<Personality>,
    pub(crate) personality_id: Option<Arc<str>>,
    /// The digest of the personality.
    pub(crate) digest: Arc<str>,
    entries: HashMap<ToolName, Entry>,
}

#[derive(Clone)]
struct Entry {
    registered: Arc<Registered>,
    fit: Arc<Fit>,
}

impl Registry {
    /// Starts from nothing: no backends, no personality, a deadline of 30 seconds, the argument gate on.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// Registers a tool, or says everything that is wrong with it.
    ///
    /// # Errors
    ///
    /// See [`RegistrationError`]. Nothing is registered then.
    pub fn register(&self, tool: impl Tool + 'static) -> Result<(), RegistrationError> {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        self.register_shared(&tool).map(drop)
    }

    /// Registers a tool and returns where it was narrowed, if the registry narrows.
    ///
    /// # Errors
    ///
    /// See [`RegistrationError`].
    pub fn register_shared(&self, tool: &Arc<dyn Tool>) -> Result<Vec<Gap>, RegistrationError> {
        let name = tool.declaration().name.clone();
        let registered = Registered::new(Arc::clone(tool), self.parts.pins.as_ref(), &self.parts.in_force);
        let registered = Arc::new(registered.map_err(|mut gaps| {
            gaps.extend(validate_registration(tool.declaration(), &self.policy().personality));
            RegistrationError::Gaps(gaps)
        })?);
        self.replace_policy(|policy| {
            if policy.entries.contains_key(&name) {
                return Err(RegistrationError::Duplicate(name.clone()));
            }
            let alike = |other: &&ToolName| ringfence_text::collide(other.as_str(), name.as_str());
            if let Some(registered) = policy.entries.keys().find(alike) {
                return Err(RegistrationError::Collision {
                    new: name.clone(),
                    registered: registered.clone(),
                });
            }
            let fit = fit(&registered, &policy.personality, &self.parts.backends);
            let gaps = fit.gaps.clone();
            let is_faulty = || !validate_declaration(registered.declaration()).is_empty();
            if !gaps.is_empty() && (self.parts.refuses_gaps || is_faulty()) {
                return Err(RegistrationError::Gaps(gaps));
            }
            let mut entries = policy.entries.clone();
            entries.insert(name.clone(), Entry { registered: Arc::clone(&registered), fit: Arc::new(fit) });
            let next = Policy {
                personality: Arc::clone(&policy.personality),
                personality_id: policy.personality_id.clone(),
                digest: Arc::clone(&policy.digest),
                entries,
            };
            Ok((next, gaps))
        })
    }

    /// Replaces all the tools of one owner at once, such as those of a server that has changed its list, and returns what was
    /// not taken in and why. Whoever brings them has judged them: pins are not looked at.
    pub fn replace(
        &self,
        owned: impl Fn(&Declaration) -> bool,
        tools: Vec<Incoming>,
    ) -> Vec<(ToolName, RegistrationError)> {
        let mut refused = Vec::new();
        let mut taken = Vec::new();
        for incoming in tools {
            let name = incoming.tool.declaration().name.clone();
            match Registered::judged(incoming.tool, incoming.quarantine) {
                Ok(registered) => taken.push((name, Arc::new(registered))),
                Err(gaps) => refused.push((name, RegistrationError::Gaps(gaps))),
            }
        }
        let replaced = self.replace_policy(|policy| {
            let mut refused = Vec::new();
            let mut entries = policy.entries.clone();
            entries.retain(|_, entry| !owned(entry.registered.declaration()));
            for (name, registered) in &taken {
                let alike = |other: &&ToolName| ringfence_text::collide(other.as_str(), name.as_str());
                if entries.contains_key(name) {
                    refused.push((name.clone(), RegistrationError::Duplicate(name.clone())));
                } else if let Some(other) = entries.keys().find(alike).cloned() {
                    let error = RegistrationError::Collision { new: name.clone(), registered: other };
                    refused.push((name.clone(), error));
                } else {
                    let fit = fit(registered, &policy.personality, &self.parts.backends);
                    if !fit.gaps.is_empty() && self.parts.refuses_gaps {
                        refused.push((name.clone(), RegistrationError::Gaps(fit.gaps.clone())));
                    }
                    let entry = Entry { registered: Arc::clone(registered), fit: Arc::new(fit) };
                    entries.insert(name.clone(), entry);
                }
            }
            let next = Policy {
                personality: Arc::clone(&policy.personality),
                personality_id: policy.personality_id.clone(),
                digest: Arc::clone(&policy.digest),
                entries,
            };
            Ok::<_, std::convert::Infallible>((next, refused))
        });
        match replaced {
            Ok(more) => refused.extend(more),
            Err(never) => match never {},
        }
        refused
    }

    /// Returns a registered tool, whether it may be called or not.
    pub fn find(&self, name: &str) -> Option<Arc<Registered>> {
        self.policy().entries.get(name).map(|entry| Arc::clone(&entry.registered))
    }

    /// Returns who must agree to calls of a registered tool under the personality in force.
    pub fn decision(&self, name: &str) -> Option<Decision> {
        self.policy().entries.get(name).map(|entry| entry.fit.decision())
    }

    /// Returns what a registered tool is granted under the personality in force.
    pub fn granted(&self, name: &str) -> Option<Arc<Grant>> {
        self.policy().entries.get(name).and_then(|entry| entry.fit.grant())
    }

    /// Puts another personality in force and returns the gaps of every registered tool under it.
    ///
    /// Calls in flight keep the grant they were admitted with, but for the network: what the new personality does not
    /// admit is taken from them, and their connections beyond it are cut. Every later call is judged anew.
    pub fn set_personality(&self, personality: &Personality) -> Vec<Gap> {
        let replaced = self.replace_policy(|policy| {
            let tools = policy.entries.values().map(|entry| &entry.registered);
            let next = Policy::new(personality.clone(), tools, &self.parts);
            let gaps = next.gaps();
            Ok::<_, std::convert::Infallible>((next, gaps))
        });
        self.parts.policy_changed(personality, false);
        self.parts.live.regrant(self.policy().network_grants());
        match replaced {
            Ok(gaps) => gaps,
            Err(never) => match never {},
        }
    }

    /// Returns the calls that are on the network now, oldest first.
    pub fn live_calls(&self) -> Vec<LiveCall> {
        self.parts.live.all()
    }

    /// Works out the next policy without holding the lock, since fitting a tool looks at the file system; starts again
    /// when somebody was quicker.
    fn replace_policy<T, E>(&self, next: impl Fn(&Policy) -> Result<(Policy, T), E>) -> Result<T, E> {
        loop {
            let now = self.policy();
            let (policy, result) = next(&now)?;
            let mut slot = self.policy.write().unwrap_or_else(PoisonError::into_inner);
            if Arc::ptr_eq(&slot, &now) {
                *slot = Arc::new(policy);
                return Ok(result);
            }
        }
    }

    /// Returns the tools that can be called: in the toolset, fitting, and available here. Sorted by name.
    pub fn list(&self) -> Vec<Arc<Registered>> {
        let policy = self.policy();
        let callable = policy.entries.values().filter(|entry| {
            entry.registered.quarantine().is_none()
                && entry.fit.in_toolset
                && (entry.fit.gaps.is_empty() || !self.parts.refuses_gaps)
                && self.is_available(entry)
        });
        let mut tools: Vec<_> = callable.map(|entry| Arc::clone(&entry.registered)).collect();
        tools.sort_by(|one, other| one.declaration().name.cmp(&other.declaration().name));
        tools
    }

    /// Returns the tools that are in quarantine, sorted by name.
    pub fn quarantined(&self) -> Vec<Arc<Registered>> {
        let policy = self.policy();
        let kept = policy.entries.values().filter(|entry| entry.registered.quarantine().is_some());
        let mut tools: Vec<_> = kept.map(|entry| Arc::clone(&entry.registered)).collect();
        tools.sort_by(|one, other| one.declaration().name.cmp(&other.declaration().name));
        tools
    }

    /// Returns the gaps of every registered tool, by tool.
    pub fn gaps(&self) -> BTreeMap<ToolName, Vec<Gap>> {
        let policy = self.policy();
        let with_gaps = policy.entries.iter().filter(|(_, entry)| !entry.fit.gaps.is_empty());
        with_gaps.map(|(name, entry)| (name.clone(), entry.fit.gaps.clone())).collect()
    }

    /// Calls a tool. Never panics; a call that is not done says why in its outcome.
    pub async fn call(&self, run: &Run, call: Call) -> Report {
        let policy = self.policy();
        let registered = policy.entries.get(call.tool()).map(|entry| (&entry.registered, &*entry.fit));
        let id = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let desk = Desk { parts: &self.parts, policy: &policy, run, id, touches: Touches::default() };
        Settling { desk, call, registered }.settle().await
    }

    /// Keeps in the audit, now, that this registry has started and which personalities were put in force. Without it they are
    /// kept before the next call is.
    ///
    /// # Errors
    ///
    /// The audit cannot keep them. They are kept before the next call, or that call's outcome is withheld.
    pub async fn keep_policies(&self) -> Result<(), String> {
        self.parts.keep_policies().await
    }

    /// Keeps in the audit what happened to an MCP server of a run.
    ///
    /// # Errors
    ///
    /// The audit cannot keep it.
    pub async fn keep_server(
        &self,
        run: &Run,
        server: &str,
        step: &'static str,
        about: Value,
    ) -> Result<(), String> {
        let at = self.parts.clock.now();
        let manifest = self.parts.in_force.hash.clone();
        let run = Arc::clone(run.id());
        let step = ServerStep { at, run, manifest, server: server.to_owned(), step, about };
        self.parts.append(std::iter::once(AuditEntry::Server(&step))).await
    }

    /// Ends a session: what tools kept in its storage scope is gone.
    ///
    /// # Errors
    ///
    /// The store cannot be reached, and what was kept is still there. Without a store there is nothing to end.
    pub async fn end_session(&self, session: &str) -> Result<(), StoreError> {
        match &self.parts.backends.store {
            Some(store) => store.clear(&session_namespace(session)).await,
            None => Ok(()),
        }
    }

    /// Says what would be decided about a call now, without running it, asking anybody or leaving a record. Interceptors are
    /// not asked, and what the call's key has been used for is not looked at.
    ///
    /// For a call of the past, make its run with [`Run::builder`] and tell it with [`Run::recall`] what went before.
    pub fn review(&self, run: &Run, call: &Call) -> Review {
        let policy = self.policy();
        let registered = policy.entries.get(call.tool()).map(|entry| (&entry.registered, &*entry.fit));
        let desk = Desk { parts: &self.parts, policy: &policy, run, id: 0, touches: Touches::default() };
        desk.review(call, registered)
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_available(&self, entry: &Entry) -> bool {
        let Some(grant) = entry.fit.grant() else { return false };
        let environment = self.parts.backends.environment.clone().unwrap_or_default();
        let environment = ScopedEnvironment::new(grant, environment);
        let check = AssertUnwindSafe(|| entry.registered.is_available(&environment));
        std::panic::catch_unwind(check).unwrap_or(false)
    }
}

impl Policy {
    fn new<'a>(
        personality: Personality,
        tools: impl Iterator<Item = &'a Arc<Registered>>,
        parts: &Parts,
    ) -> Self {
        let entries = tools.map(|registered| {
            let fit = Arc::new(fit(registered, &personality, &parts.backends));
            (registered.declaration().name.clone(), Entry { registered: Arc::clone(registered), fit })
        });
        let entries = entries.collect();
        let personality_id = personality.id.as_deref().map(Arc::from);
        let digest = digest(&personality).unwrap_or_default().into();
        Self { personality: Arc::new(personality), personality_id, digest, entries }
    }

    /// What each tool that may be called is granted of the network.
    fn network_grants(&self) -> HashMap<ToolName, NetworkGrant> {
        let granted =
            self.entries.iter().filter(|(_, entry)| entry.fit.in_toolset).filter_map(|(name, entry)| {
                let network = entry.fit.grant()?.network.clone()?;
                Some((name.clone(), network))
            });
        granted.collect()
    }

    fn gaps(&self) -> Vec<Gap> {
        let mut gaps: Vec<Gap> =
            self.entries.values().flat_map(|entry| entry.fit.gaps.iter().cloned()).collect();
        gaps.sort_by(|one, other| one.tool.cmp(&other.tool));
        gaps
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("backends", &self.parts.backends).finish_non_exhaustive()
    }
}

/// What a panic said, as far as it is text.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").chars().take(200).collect()
}
