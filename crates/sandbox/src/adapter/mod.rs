//! Isolation that somebody else brings: a container engine, a service of micro-VMs.
//!
//! An [`Adapter`] says which parts of a plan it enforces. A plan that needs any other is refused by name before the adapter is asked to
//! run it, and what it runs is marked [`Assurance::Claimed`](ringfence_policy::Assurance): nobody here has tried it.

mod part;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use part::Part;
pub use session::{Input, Session};

use crate::error::SandboxError;
use crate::limit::{Enforcer, LimitName};
use crate::plan::Plan;
use crate::report::{Ending, Usage};

/// Something outside this crate that runs plans. Open to everybody; its word is a claim.
///
/// It is run by [`Sandbox::foreign`](crate::Sandbox::foreign).
pub trait Adapter: fmt::Debug + Send + Sync {
    /// Its name, as it is written into records.
    fn name(&self) -> &'static str;

    /// Returns the parts of this plan that it enforces. Saying less than is true refuses plans; saying more is a lie that operators
    /// read as `claimed`.
    fn enforces(&self, plan: &Plan) -> BTreeSet<Part>;

    /// Runs a plan to its end on the calling thread, which may be blocked, or starts nothing.
    ///
    /// When the session's deadline passes, its leash is let go or its streams have had enough, everything that was started is
    /// killed and cleaned away before this returns.
    ///
    /// # Errors
    ///
    /// Nothing was started, and why.
    fn run(&self, plan: &Plan, session: &mut Session<'_>) -> Result<Ran, SandboxError>;
}

/// What an adapter says of a command that ended.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// What it used, as far as that is known.
    pub usage: Usage,
    /// What enforced each limit.
    pub limits: BTreeMap<LimitName, Enforcer>,
    /// The limits it ran into, as far as that can be known. The output's is found by the session.
    pub exceeded: Vec<LimitName>,
}
