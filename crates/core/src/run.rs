//! A run: one agent invocation, which is where constraints count.
//!
//! INVARIANT: a reservation that was not dispatched gives its count back, so that a refused call costs nothing.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ringfence_policy::{Code, Constraints, Refusal, ToolName};
use tokio_util::sync::CancellationToken;

use crate::open_store::OpenStores;
use crate::port::RunCount;
use crate::step::{ForcedStep, Steps};

/// What a tool sees of its run. It names the run and cannot act on it: nothing here counts, cancels or continues.
///
/// ```compile_fail,E0599
/// fn act(context: ringfence::Context) {
///     context.run().cancel();
/// }
/// ```
#[derive(Clone)]
pub struct RunInfo(Run);

impl RunInfo {
    pub(crate) const fn new(run: Run) -> Self {
        Self(run)
    }

    /// Returns the run's name.
    pub fn id(&self) -> &Arc<str> {
        self.0.id()
    }

    /// Returns the session's name.
    pub fn session(&self) -> &Arc<str> {
        self.0.session()
    }

    /// Returns who proposes.
    pub fn proposer(&self) -> &Arc<str> {
        self.0.proposer()
    }

    /// Returns the directory that relative paths start from.
    pub fn working_dir(&self) -> Option<&Path> {
        self.0.working_dir()
    }

    /// Says whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancellation().is_cancelled()
    }

    /// Returns the run itself, for the pipeline.
    pub(crate) const fn as_run(&self) -> &Run {
        &self.0
    }
}

impl std::fmt::Debug for RunInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunInfo")
            .field("id", self.id())
            .field("session", self.session())
            .finish_non_exhaustive()
    }
}

/// One agent invocation. Cloning shares its counters.
#[derive(Clone, Debug)]
pub struct Run(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: Arc<str>,
    session: Arc<str>,
    proposer: Arc<str>,
    working_dir: Option<PathBuf>,
    cancellation: CancellationToken,
    counts: Mutex<Counts>,
    stores: OpenStores,
}

/// What a run has done: how often each tool ran, and how many calls there were.
#[derive(Debug, Default)]
struct Counts {
    tools: HashMap<ToolName, RunCount>,
    steps: Steps,
}

impl Run {
    /// Starts a run of a session, proposed by `agent`, without a working directory.
    pub fn new(id: impl Into<Arc<str>>, session: impl Into<Arc<str>>) -> Self {
        Self::builder(id, session).start()
    }

    /// Describes a run before it starts.
    pub fn builder(id: impl Into<Arc<str>>, session: impl Into<Arc<str>>) -> RunBuilder {
        RunBuilder(Inner {
            id: id.into(),
            session: session.into(),
            proposer: "agent".into(),
            working_dir: None,
            cancellation: CancellationToken::new(),
            counts: Mutex::default(),
            stores: OpenStores::default(),
        })
    }

    /// Returns the run's name.
    pub fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// Returns the session's name.
    pub fn session(&self) -> &Arc<str> {
        &self.0.session
    }

    /// Returns who proposes.
    pub fn proposer(&self) -> &Arc<str> {
        &self.0.proposer
    }

    /// Returns the directory that relative paths start from.
    pub fn working_dir(&self) -> Option<&Path> {
        self.0.working_dir.as_deref()
    }

    /// Cancels the run: calls in flight end `CANCELLED`, later ones are refused.
    pub fn cancel(&self) {
        self.0.cancellation.cancel();
    }

    /// Returns the token that [`Run::cancel`] cancels.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    /// Counts a call of the past: one that was started, and completed or not.
    pub fn recall(&self, tool: &ToolName, completed: bool) {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.tools.entry(tool.clone()).or_default();
        count.started += 1;
        count.completed += u32::from(completed);
        counts.steps.reserved += 1;
        counts.steps.dispatched += 1;
    }

    /// Returns how often each tool has run, without the call of `waiting` that is counted while it waits.
    pub(crate) fn counts(&self, waiting: &ToolName) -> BTreeMap<ToolName, RunCount> {
        let counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts: BTreeMap<_, _> =
            counts.tools.iter().map(|(tool, count)| (tool.clone(), *count)).collect();
        if let Some(count) = counts.get_mut(waiting) {
            count.started = count.started.saturating_sub(1);
        }
        counts
    }

    /// Raises what is counted of a tool to what is known from elsewhere.
    pub(crate) fn raise(&self, tool: &ToolName, known: RunCount) {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.tools.entry(tool.clone()).or_default();
        count.started = count.started.max(known.started);
        count.completed = count.completed.max(known.completed);
    }

    /// Raises how many calls the run has had to what is known from elsewhere.
    pub(crate) fn raise_steps(&self, dispatched: u32) {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner).steps.raise(dispatched);
    }

    /// Returns the stores that were opened for this run.
    pub(crate) fn stores(&self) -> &OpenStores {
        &self.0.stores
    }

    pub(crate) fn session_namespace(&self) -> Arc<str> {
        session_namespace(&self.0.session).into()
    }

    /// Counts a call against the tool's constraints, before anything else is spent on it.
    pub(crate) fn reserve(
        &self,
        tool: &ToolName,
        constraints: &Constraints,
        forced: &[ForcedStep],
    ) -> Result<Reservation, Refusal> {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Counts { tools: counts, steps } = &mut *counts;
        let missing = constraints
            .only_after
            .iter()
            .find(|needed| counts.get(*needed).is_none_or(|count| count.completed == 0));
        if let Some(needed) = missing {
            let message = format!("tool `{tool}` may run only after `{needed}` has completed in this run");
            return Err(Refusal::new(Code::ConstraintViolated, message));
        }
        let count = match counts.get_mut(tool) {
            Some(count) => count,
            None => counts.entry(tool.clone()).or_default(),
        };
        if let Some(max) = constraints.max_invocations
            && count.started >= max
        {
            return Err(too_often(tool, max));
        }
        steps.admit(tool, forced)?;
        count.started += 1;
        steps.reserved += 1;
        Ok(Reservation { run: self.clone(), tool: tool.clone(), dispatched: false })
    }
}

/// Returns the refusal of a tool that has run as often as it may.
pub(crate) fn too_often(tool: &ToolName, max: u32) -> Refusal {
    Refusal::new(Code::ConstraintViolated, format!("tool `{tool}` may run at most {max} times in one run"))
}

/// Returns where the tools of a session keep what is the session's.
pub(crate) fn session_namespace(session: &str) -> String {
    format!("session:{session}")
}

/// A run that has not started.
#[must_use = "a run starts with `start`"]
#[derive(Debug)]
pub struct RunBuilder(Inner);

impl RunBuilder {
    /// Names who proposes the calls of this run; that name can approve none of them.
    pub fn proposed_by(mut self, proposer: impl Into<Arc<str>>) -> Self {
        self.0.proposer = proposer.into();
        self
    }

    /// Sets the directory that relative paths start from.
    pub fn in_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.0.working_dir = Some(directory.into());
        self
    }

    /// Ends the run when this token is cancelled.
    pub fn cancelled_by(mut self, cancellation: CancellationToken) -> Self {
        self.0.cancellation = cancellation;
        self
    }

    /// Continues a run that was counted elsewhere.
    pub(crate) fn counted(mut self, counts: &BTreeMap<ToolName, RunCount>) -> Self {
        let dispatched = counts.values().map(|count| count.started).fold(0, u32::saturating_add);
        let steps = Steps { reserved: dispatched, dispatched };
        let tools = counts.iter().map(|(tool, count)| (tool.clone(), *count)).collect();
        self.0.counts = Mutex::new(Counts { tools, steps });
        self
    }

    /// Starts the run.
    pub fn start(self) -> Run {
        Run(Arc::new(self.0))
    }
}

/// A call that was counted and has not ended.
#[derive(Debug)]
pub(crate) struct Reservation {
    run: Run,
    tool: ToolName,
    dispatched: bool,
}

impl Reservation {
    /// The tool's code is about to run, so the count stands whatever comes of it.
    pub(crate) fn dispatch(&mut self) {
        self.dispatched = true;
        self.change(|_, steps| steps.dispatched += 1);
    }

    /// The call was done, so tools that wait for it may run.
    pub(crate) fn complete(self) {
        self.change(|count, _| count.completed += 1);
    }

    fn change(&self, change: impl FnOnce(&mut RunCount, &mut Steps)) {
        let mut counts = self.run.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Counts { tools, steps } = &mut *counts;
        if let Some(count) = tools.get_mut(&self.tool) {
            change(count, steps);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.dispatched {
            self.change(|count, steps| {
                count.started = count.started.saturating_sub(1);
                steps.reserved = steps.reserved.saturating_sub(1);
            });
        }
    }
}
