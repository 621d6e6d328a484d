//! The steps of a run: which of its calls must be which tool.
//!
//! INVARIANT: while a forced step is open, no other tool is dispatched as that call or a later one. So a run that has dispatched
//! `step` calls has had the forced tool as call `step`, and nothing else has to be kept of it.

use ringfence_policy::{Code, Refusal, ToolName};

/// A call of every run that must be one tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ForcedStep {
    pub(crate) tool: ToolName,
    /// The number of the call, from 1.
    pub(crate) step: u32,
}

/// How many calls of a run were let in, and how many of those were dispatched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) reserved: u32,
    pub(crate) dispatched: u32,
}

impl Steps {
    /// Says whether a tool may be the next call.
    pub(crate) fn admit(self, tool: &ToolName, forced: &[ForcedStep]) -> Result<(), Refusal> {
        let next = self.reserved.saturating_add(1);
        for open in forced.iter().filter(|forced| self.dispatched < forced.step) {
            if next < open.step {
                continue;
            }
            if open.tool != *tool {
                return Err(must_be(open, tool));
            }
            // What was let in before it could still be dispatched after it, or not at all.
            if next > open.step || self.dispatched < self.reserved {
                let message = format!(
                    "tool `{tool}` must be call {} of this run: wait until the calls before it have started",
                    open.step
                );
                return Err(Refusal::new(Code::ConstraintViolated, message));
            }
        }
        Ok(())
    }

    /// Says whether a call may be dispatched when `total` are in the whole run, this one among them.
    pub(crate) fn admit_started(tool: &ToolName, total: u32, forced: &[ForcedStep]) -> Result<(), Refusal> {
        let before = Self { reserved: total.saturating_sub(1), dispatched: total.saturating_sub(1) };
        before.admit(tool, forced)
    }

    /// Learns how many calls were dispatched elsewhere.
    pub(crate) fn raise(&mut self, dispatched: u32) {
        let waiting = self.reserved.saturating_sub(self.dispatched);
        self.dispatched = self.dispatched.max(dispatched);
        self.reserved = self.dispatched.saturating_add(waiting);
    }
}

fn must_be(forced: &ForcedStep, tool: &ToolName) -> Refusal {
    let (step, needed) = (forced.step, &forced.tool);
    let message = format!("call {step} of this run must be `{needed}`: tool `{tool}` may run after it");
    Refusal::new(Code::ConstraintViolated, message).hint(format!("call `{needed}` first"))
}
