//! The registry: tools, the personality in force, and the way in for calls.

mod builder;
mod parts;
mod policy;
mod register;
mod resume;

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ringfence_policy::{Decision, Gap, Grant, Personality, Refusal, StorageScope, ToolName};
use serde_json::Value;

pub use builder::RegistryBuilder;
pub(crate) use parts::Parts;
pub(crate) use policy::Policy;
pub use register::{Incoming, OnGaps, RegistrationError};

use self::policy::Entry;
use crate::audit::{AuditEntry, ServerStep};
use crate::backend::StoreBackend;
use crate::call::{Call, Report};
use crate::durable_run::DurableRun;
use crate::handle::ScopedEnvironment;
use crate::late::LateUses;
use crate::network::LiveCall;
use crate::pipeline::{Desk, Registered, Review, Settling};
use crate::port::StoreError;
use crate::run::{Run, session_namespace};
use crate::touch::Touches;

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

impl Registry {
    /// Starts from nothing: no backends, no personality, a deadline of 30 seconds, the argument gate on.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
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
        let namespace = session_namespace(session);
        match &self.parts.backends.store {
            None => Ok(()),
            Some(StoreBackend::Shared(store)) => store.clear(&namespace).await,
            Some(StoreBackend::PerTool(factory)) => {
                for tool in self.tools_with_sessions() {
                    factory.open_store(&tool, &namespace)?.clear(&namespace).await?;
                }
                Ok(())
            }
        }
    }

    /// Ends a run that nobody continues: what a store has counted of it is gone. A call of it that still waits for people keeps its own
    /// count.
    ///
    /// # Errors
    ///
    /// The store cannot be reached, and what was counted is still there. Without [`RegistryBuilder::runs`] there is nothing to end.
    pub async fn end_run(&self, run: &Run) -> Result<(), StoreError> {
        match &self.parts.runs {
            Some(store) if self.policy().counts_runs => DurableRun::new(store, run).clear().await,
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the tools whose storage may be that of a session, in order.
    fn tools_with_sessions(&self) -> Vec<ToolName> {
        let policy = self.policy();
        let keeps = |name: &&ToolName| {
            let declaration = policy.entries.get(*name).map(|entry| entry.registered.declaration());
            let capabilities = declaration.and_then(|declaration| declaration.capabilities.as_ref());
            let scope = capabilities.and_then(|own| own.storage).map(|storage| storage.scope);
            // That of a personality is the session's where there is no personality.
            matches!(scope, Some(StorageScope::Personality | StorageScope::Session))
        };
        let mut tools: Vec<ToolName> = policy.entries.keys().filter(keeps).cloned().collect();
        tools.sort_unstable();
        tools
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

    /// Says what would be decided about every call of a tool now, whatever its arguments and its run.
    ///
    /// # Errors
    ///
    /// Why no call of the tool would run.
    pub fn review_tool(&self, run: &Run, call: &Call) -> Result<Decision, Refusal> {
        let policy = self.policy();
        let registered = policy.entries.get(call.tool()).map(|entry| (&entry.registered, &*entry.fit));
        let desk = Desk { parts: &self.parts, policy: &policy, run, id: 0, touches: Touches::default() };
        desk.review_tool(call, registered)
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_available(&self, entry: &Entry) -> bool {
        let Some(grant) = entry.fit.grant() else { return false };
        let environment = self.parts.backends.environment.clone().unwrap_or_default();
        let touches = Touches::default();
        let environment = ScopedEnvironment::new(grant, environment, touches.clone());
        let check = AssertUnwindSafe(|| entry.registered.is_available(&environment));
        let is_available = std::panic::catch_unwind(check).unwrap_or(false);
        // The handle was for this question.
        let name = entry.registered.declaration().name.as_str().into();
        touches.end(&[], LateUses::new(Arc::clone(&self.parts), 0, "".into(), name));
        is_available
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
