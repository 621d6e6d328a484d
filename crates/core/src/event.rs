//! What observers and the audit are told: exactly one outcome per call.

use std::sync::Arc;
use std::time::Duration;

use ringfence_egress::Evidence;
use ringfence_policy::{Code, Refusal, Risk, SafetyClass, ToolName};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use crate::audit::LateUse;
use crate::call::Asker;
use crate::network::Connections;
use crate::outcome::Outcome;
use crate::pipeline::Stages;
use crate::port::{Confinement, Fence};
use crate::touch::Touched;

/// The one record of a call that has ended. Nothing but the pipeline's last stage makes one.
#[derive(Clone, Debug)]
pub struct Record {
    pub(crate) call: u64,
    pub(crate) at: Duration,
    pub(crate) run: Arc<str>,
    pub(crate) session: Arc<str>,
    pub(crate) tool: Arc<str>,
    pub(crate) digest: Option<Arc<str>>,
    /// The description that the model saw beside that definition.
    pub(crate) description: Option<Arc<str>>,
    pub(crate) class: Option<SafetyClass>,
    pub(crate) risk: Risk,
    pub(crate) asker: Asker,
    pub(crate) arguments: Arc<Value>,
    pub(crate) outcome: Outcome,
    pub(crate) duration: Duration,
    pub(crate) used_declared_capability: bool,
    pub(crate) processes: Vec<Confinement>,
    pub(crate) connections: Connections,
    /// Who proposed the call.
    pub(crate) proposer: Arc<str>,
    /// The personality it was decided under.
    pub(crate) personality: Option<Arc<str>>,
    /// The digest of that personality.
    pub(crate) policy: Arc<str>,
    /// The hash of the manifest that was in force.
    pub(crate) manifest: Option<Arc<str>>,
    pub(crate) trail: Trail,
    pub(crate) stages: Stages,
    pub(crate) touched: Touched,
}

/// What happened on the way to an outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    /// The idempotency key, and the fence it was claimed with.
    pub(crate) key: Option<(String, Fence)>,
    /// Whether the outcome is that of an earlier call with the same key.
    pub(crate) replayed: bool,
    /// How often the tool was tried.
    pub(crate) attempts: u32,
    /// The error text as it was said, where cleaning changed it.
    pub(crate) raw_error: Option<Value>,
}

impl Record {
    /// Returns the call's number.
    pub const fn call(&self) -> u64 {
        self.call
    }

    /// Returns the tool that was asked for, registered or not.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the tool's safety class; nothing where no such tool is registered.
    pub const fn class(&self) -> Option<SafetyClass> {
        self.class
    }

    /// Returns the tool's risk.
    pub const fn risk(&self) -> Risk {
        self.risk
    }

    /// Returns how the call ended.
    pub const fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the code under which the call counts as refused: that of a refusal before the tool ran, or of what the fence refused
    /// the tool before it failed. A tool that did what was asked although it was refused something counts as done.
    pub fn refusal_code(&self) -> Option<Code> {
        match &self.outcome {
            Outcome::Failed(failure) if failure.code.is_reach_refusal() => Some(failure.code),
            // A program in a sandbox knows no codes: it fails in its own words after it was refused a host.
            Outcome::Failed(failure) if failure.code == Code::ExecutionFailed => self.touched.first_refusal,
            Outcome::Done(_) | Outcome::Failed(_) => None,
            Outcome::Refused(refusal) => Some(refusal.code),
        }
    }

    /// Returns how long the call waited for people; nothing where nobody was asked.
    pub const fn waited(&self) -> Option<Duration> {
        self.stages.waited()
    }

    /// Returns the arguments the call ended with.
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// Returns how long the call took.
    pub const fn duration(&self) -> Duration {
        self.duration
    }

    /// Says whether the outcome is that of an earlier call with the same idempotency key.
    pub const fn is_replayed(&self) -> bool {
        self.trail.replayed
    }

    /// Returns how often the tool was tried; 0 where it did not run.
    pub const fn attempts(&self) -> u32 {
        self.trail.attempts
    }

    /// Returns what confined the processes that the call started.
    pub fn processes(&self) -> &[Confinement] {
        &self.processes
    }

    /// Returns the connections it made or was refused, in the order they ended.
    pub fn connections(&self) -> &[Evidence] {
        &self.connections.listed
    }

    /// Says whether the refusal came from a surface that the tool had declared.
    pub const fn used_declared_capability(&self) -> bool {
        self.used_declared_capability
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map, Some(&self.outcome))?;
        map.end()
    }
}

impl Record {
    /// Writes the fields, with the result where it is to be among them.
    pub(crate) fn write<M: SerializeMap>(
        &self,
        map: &mut M,
        result: Option<&Outcome>,
    ) -> Result<(), M::Error> {
        map.serialize_entry("call", &self.call)?;
        map.serialize_entry("at_ms", &u64::try_from(self.at.as_millis()).unwrap_or(u64::MAX))?;
        map.serialize_entry("run", &*self.run)?;
        map.serialize_entry("session", &*self.session)?;
        map.serialize_entry("tool", &*self.tool)?;
        map.serialize_entry("tool_digest", &self.digest.as_deref())?;
        if let Some(description) = self.description.as_ref().filter(|description| !description.is_empty()) {
            map.serialize_entry("tool_description", &**description)?;
        }
        map.serialize_entry("class", &self.class)?;
        map.serialize_entry("risk", &self.risk)?;
        map.serialize_entry("asker", &self.asker)?;
        map.serialize_entry("proposer", &*self.proposer)?;
        map.serialize_entry("personality", &self.personality.as_deref())?;
        map.serialize_entry("policy_digest", &*self.policy)?;
        if let Some(manifest) = &self.manifest {
            map.serialize_entry("manifest", &**manifest)?;
        }
        if let Some((key, fence)) = &self.trail.key {
            map.serialize_entry("idempotency_key", key)?;
            map.serialize_entry("fence", fence)?;
        }
        if self.trail.replayed {
            map.serialize_entry("replayed", &true)?;
        }
        if self.trail.attempts > 1 {
            map.serialize_entry("attempts", &self.trail.attempts)?;
        }
        let outcome = match &self.outcome {
            Outcome::Done(_) => "done",
            Outcome::Failed(_) => "failed",
            Outcome::Refused(_) => "refused",
        };
        map.serialize_entry("outcome", outcome)?;
        if let (Outcome::Failed(_), Some(code)) = (&self.outcome, self.refusal_code()) {
            map.serialize_entry("refused", code.as_str())?;
        }
        map.serialize_entry("arguments", &*self.arguments)?;
        if let Some(result) = result {
            map.serialize_entry("result", result)?;
        }
        if let Outcome::Done(output) = &self.outcome
            && !output.findings().is_empty()
        {
            map.serialize_entry("findings", output.findings())?;
        }
        if let Outcome::Refused(refusal) = &self.outcome {
            map.serialize_entry("used_declared_capability", &self.used_declared_capability)?;
            map.serialize_entry("hint", &refusal.hint)?;
        }
        if !self.processes.is_empty() {
            map.serialize_entry("processes", &self.processes)?;
        }
        if !self.connections.listed.is_empty() {
            map.serialize_entry("connections", &self.connections.listed)?;
        }
        if self.connections.left_out > 0 {
            map.serialize_entry("connections_left_out", &self.connections.left_out)?;
        }
        if !self.touched.listed.is_empty() {
            map.serialize_entry("touched", &self.touched.listed)?;
        }
        if self.touched.left_out > 0 {
            map.serialize_entry("touched_left_out", &self.touched.left_out)?;
        }
        map.serialize_entry("stages", &self.stages)?;
        map.serialize_entry("duration_us", &u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX))
    }
}

/// What happens to calls.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// People were asked to agree; the outcome follows.
    Asked {
        /// The tool.
        tool: &'a ToolName,
        /// The digest they are asked about.
        digest: &'a str,
    },
    /// The tool ran and did what was asked.
    Called(&'a Record),
    /// A connection of the call has ended or was refused, or a name was.
    Connected {
        /// The tool.
        tool: &'a ToolName,
        /// The number of the call.
        call: u64,
        /// What was seen.
        evidence: &'a Evidence,
    },
    /// The tool ran and failed.
    Failed(&'a Record),
    /// A tool used a handle after its call had ended.
    Late(&'a LateUse),
    /// The argument gate would have refused, but only observes.
    Observed {
        /// The tool.
        tool: &'a ToolName,
        /// What it would have said.
        refusal: &'a Refusal,
    },
    /// The call was refused before the tool ran.
    Refused(&'a Record),
}

/// Is told what happens. A panicking observer changes nothing for the call.
pub trait Observer: Send + Sync {
    /// Takes an event.
    fn event(&self, event: Event<'_>);
}

impl<F: Fn(Event<'_>) + Send + Sync> Observer for F {
    fn event(&self, event: Event<'_>) {
        self(event);
    }
}
