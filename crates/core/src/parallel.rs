//! Several calls at once, in the order they were asked.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use ringfence_policy::Code;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::budget;
use crate::call::{Call, Report};
use crate::outcome::{Failure, Outcome};
use crate::registry::Registry;
use crate::run::Run;

/// How several calls are run together.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// How many run at the same time.
    pub concurrency: NonZeroUsize,
    /// How many characters their texts may have together; `None` = no limit.
    pub output_characters: Option<usize>,
}

impl Default for Batch {
    fn default() -> Self {
        Self { concurrency: NonZeroUsize::new(8).unwrap_or(NonZeroUsize::MIN), output_characters: None }
    }
}

impl Registry {
    /// Runs calls together and returns their reports in the order of the calls.
    ///
    /// It never panics: a call that fails, panics or misses its deadline is a failed call among the others. Dropping
    /// the future ends the calls that are still running. Each call is a task of its own on the current tokio
    /// runtime; a tool that blocks its thread belongs in [`run_blocking`](crate::ToolBuilder::run_blocking).
    pub async fn execute_parallel(
        self: &Arc<Self>,
        run: &Run,
        calls: Vec<Call>,
        batch: Batch,
    ) -> Vec<Report> {
        let permits = Arc::new(Semaphore::new(batch.concurrency.get()));
        let names: Vec<Arc<str>> = calls.iter().map(Call::tool_arc).collect();
        let mut tasks = JoinSet::new();
        let mut positions = std::collections::HashMap::new();
        for (position, call) in calls.into_iter().enumerate() {
            let (registry, run, permits) = (Arc::clone(self), run.clone(), Arc::clone(&permits));
            let task = tasks.spawn(async move {
                // The semaphore is never closed, so waiting for it cannot fail.
                let _permit = permits.acquire().await;
                registry.call(&run, call).await
            });
            positions.insert(task.id(), position);
        }
        let mut reports: Vec<Option<Report>> = names.iter().map(|_| None).collect();
        while let Some(ended) = tasks.join_next_with_id().await {
            let (task, report) = match ended {
                Ok((task, report)) => (task, Some(report)),
                Err(error) => (error.id(), None),
            };
            if let Some(slot) = positions.get(&task).and_then(|position| reports.get_mut(*position)) {
                *slot = report;
            }
        }
        let mut reports: Vec<Report> = reports
            .into_iter()
            .zip(names)
            .map(|(report, tool)| report.unwrap_or_else(|| lost(tool)))
            .collect();
        if let Some(characters) = batch.output_characters {
            budget::apply(&mut reports, characters);
        }
        reports
    }
}

/// The report of a call whose task was ended from outside, such as by a runtime that shuts down.
fn lost(tool: Arc<str>) -> Report {
    let outcome = Outcome::Failed(Failure::coded(Code::OutcomeUnknown, "the call was ended from outside"));
    Report { call: 0, tool, outcome, duration: Duration::ZERO }
}
