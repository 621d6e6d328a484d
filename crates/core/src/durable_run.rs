//! The counters of a run in a store, so that its constraints hold from one process to the next.
//!
//! INVARIANT: a start is written before it is counted, so that of several processes none can go beyond `maxInvocations`. Where two
//! come at once for the last one, both may be refused. The same holds for `forceAtStep`, but for a forced call that is counted and then
//! refused its idempotency key: what another process starts in that moment takes it for done.

use std::sync::Arc;

use ringfence_policy::{Code, Constraints, Refusal, ToolName};

use crate::port::{RunCount, Store, StoreError};
use crate::random;
use crate::run::{Run, too_often};
use crate::step::{ForcedStep, Steps};

/// The longest name of a run that is part of a namespace as it is.
const MAX_PLAIN: usize = 200;

/// The counters of one run.
pub(crate) struct DurableRun<'a> {
    store: &'a Arc<dyn Store>,
    namespace: String,
}

impl<'a> DurableRun<'a> {
    pub(crate) fn new(store: &'a Arc<dyn Store>, run: &Run) -> Self {
        let id = run.id();
        let is_plain = id.len() <= MAX_PLAIN && !id.chars().any(char::is_control);
        let name =
            if is_plain { id.to_string() } else { crate::digest::digest(&id.as_ref()).unwrap_or_default() };
        Self { store, namespace: format!("run:{name}") }
    }

    /// Tells a run what the constraints of a tool count.
    pub(crate) async fn load(
        &self,
        run: &Run,
        tool: &ToolName,
        constraints: &Constraints,
        forced: &[ForcedStep],
    ) -> Result<(), Refusal> {
        if !forced.is_empty() {
            run.raise_steps(self.count("started/").await?);
        }
        for needed in &constraints.only_after {
            let done = self
                .store
                .get(&self.namespace, &completed(needed))
                .await
                .map_err(|error| unreachable(&error))?;
            run.raise(needed, RunCount { started: 0, completed: u32::from(done.is_some()) });
        }
        if constraints.max_invocations.is_some() {
            run.raise(tool, RunCount { started: self.started(tool).await?, completed: 0 });
        }
        Ok(())
    }

    /// Counts a call that is about to run. Returns the key to take it back by.
    pub(crate) async fn start(
        &self,
        tool: &ToolName,
        constraints: &Constraints,
        forced: &[ForcedStep],
    ) -> Result<String, Refusal> {
        let name = random::name().map_err(|error| Refusal::new(Code::NotAvailable, error))?;
        let key = format!("started/{tool}/{name}");
        let limit = constraints.max_invocations;
        match self.store.set(&self.namespace, &key, "", None).await {
            // Nobody counts the calls of this tool.
            Err(StoreError::Full) if limit.is_none() && forced.is_empty() => {}
            set => set.map_err(|error| unreachable(&error))?,
        }
        if let Some(limit) = limit
            && self.started(tool).await? > limit
        {
            self.take_back(&key).await;
            return Err(too_often(tool, limit));
        }
        if !forced.is_empty() {
            let judged = match self.count("started/").await {
                Ok(total) => Steps::admit_started(tool, total, forced),
                Err(refusal) => Err(refusal),
            };
            if let Err(refusal) = judged {
                self.take_back(&key).await;
                return Err(refusal);
            }
        }
        Ok(key)
    }

    /// Takes a start back: the call did not run after all.
    pub(crate) async fn take_back(&self, key: &str) {
        if let Err(error) = self.store.delete(&self.namespace, key).await {
            tracing::warn!("a call that did not run stays counted: {error}");
        }
    }

    /// Keeps that a call was done, so that tools which wait for it may run.
    pub(crate) async fn complete(&self, tool: &ToolName) {
        if let Err(error) = self.store.set(&self.namespace, &completed(tool), "", None).await {
            tracing::warn!("tools that wait for `{tool}` stay refused in this run: {error}");
        }
    }

    /// Forgets what was counted.
    pub(crate) async fn clear(&self) -> Result<(), StoreError> {
        self.store.clear(&self.namespace).await
    }

    async fn started(&self, tool: &ToolName) -> Result<u32, Refusal> {
        self.count(&format!("started/{tool}/")).await
    }

    async fn count(&self, prefix: &str) -> Result<u32, Refusal> {
        let keys = self.store.list(&self.namespace, prefix).await.map_err(|error| unreachable(&error))?;
        Ok(u32::try_from(keys.len()).unwrap_or(u32::MAX))
    }
}

fn completed(tool: &ToolName) -> String {
    format!("completed/{tool}")
}

fn unreachable(error: &StoreError) -> Refusal {
    Refusal::new(Code::NotAvailable, format!("the counters of the run cannot be kept: {error}"))
}
