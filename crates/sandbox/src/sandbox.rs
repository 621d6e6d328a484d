//! A backend together with what is known of this machine.

use std::path::PathBuf;

use ringfence_policy::Assurance;

use crate::adapter::Adapter;
use crate::backend::foreign::Foreign;
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
    assurance: Assurance,
    home: Option<PathBuf>,
}

impl Sandbox {
    /// Runs everything through this backend.
    pub fn new(backend: impl Backend + 'static) -> Self {
        Self { backend: Box::new(backend), weakest: Tier::Partial, assurance: Assurance::Claimed, home: None }
    }

    /// Says which folder is the home of whoever asks, where a specification does not: see [`Spec::home`].
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Runs everything through an adapter. What it says of its enforcement is a claim, and is recorded as one.
    pub fn foreign(adapter: impl Adapter + 'static) -> Self {
        Self::new(Foreign(Box::new(adapter)))
    }

    /// Says that forbidden acts were tried through this backend, and failed.
    #[cfg(target_os = "linux")]
    pub(crate) fn seen_to_refuse(mut self) -> Self {
        self.assurance = Assurance::Probed;
        self
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
        let platform = Platform::of_this_machine();
        match &self.home {
            Some(home) if spec.home.is_none() => {
                let spec = spec.clone().home(home);
                Plan::new(&spec, &Seen::look(&spec, platform)?)
            }
            Some(_) | None => Plan::new(spec, &Seen::look(spec, platform)?),
        }
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
        if self.assurance < plan.assurance {
            return Err(SandboxError::Assurance {
                backend: self.backend.name(),
                found: self.assurance,
                wanted: plan.assurance,
            });
        }
        let unsupported = self.backend.unsupported();
        let missing =
            plan.parts().into_iter().filter(|part| unsupported.contains(part) && plan.insists_on(*part));
        let missing: Vec<String> = missing.map(|part| part.to_string()).collect();
        if !missing.is_empty() {
            let what = format!("with `{}`: {}", self.backend.name(), missing.join("; "));
            return Err(SandboxError::Inexpressible { what });
        }
        if let (Network::Gated(_), None) = (&plan.network, &streams.gate) {
            let what = "a grant of hosts: nobody opens an egress gate for it".into();
            return Err(SandboxError::Inexpressible { what });
        }
        let report = self.backend.run(plan, streams)?;
        Ok(Report { assurance: self.assurance, ..report })
    }
}
