//! A backend together with what is known of this machine.

use crate::backend::{Backend, Tier};
use crate::error::SandboxError;
use crate::host::Platform;
use crate::plan::{Network, Plan, Seen};
use crate::report::Report;
use crate::spec::Spec;
use crate::stream::Streams;

/// Runs commands, confined.
#[derive(Debug)]
pub struct Sandbox {
    backend: Box<dyn Backend>,
    weakest: Tier,
}

impl Sandbox {
    /// Runs everything through this backend.
    pub fn new(backend: impl Backend + 'static) -> Self {
        Self { backend: Box::new(backend), weakest: Tier::Partial }
    }

    /// Refuses to run anything below this tier.
    #[must_use]
    pub fn at_least(mut self, tier: Tier) -> Self {
        self.weakest = tier;
        self
    }

    /// Returns the backend.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Says what a run would do, and does nothing.
    ///
    /// # Errors
    ///
    /// A path or program is missing, or the specification cannot be enforced.
    pub fn plan(&self, spec: &Spec) -> Result<Plan, SandboxError> {
        Plan::new(spec, &Seen::look(spec, Platform::of_this_machine())?)
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    ///
    /// Nothing was started, and why.
    pub fn run(&self, spec: &Spec, streams: Streams<'_>) -> Result<Report, SandboxError> {
        self.run_plan(&self.plan(spec)?, streams)
    }

    /// Runs a plan that was made before.
    ///
    /// # Errors
    ///
    /// Nothing was started, and why.
    pub fn run_plan(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        let found = self.backend.tier();
        if found < self.weakest {
            return Err(SandboxError::Tier { found, wanted: self.weakest });
        }
        if let Network::Gated(_) = plan.network {
            let backend = self.backend.name();
            if !self.backend.has_gate() {
                let what = format!(
                    "a grant of hosts with `{backend}`: only `native` has sockets for the egress gate"
                );
                return Err(SandboxError::Inexpressible { what });
            }
            if streams.gate.is_none() {
                let what = "a grant of hosts: nobody opens an egress gate for it".into();
                return Err(SandboxError::Inexpressible { what });
            }
        }
        self.backend.run(plan, streams)
    }
}
