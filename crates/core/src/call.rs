//! One call of a tool, and how it went.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::Outcome;

/// Who asks for a call.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Asker {
    /// Code of the host.
    Code,
    /// A model.
    #[default]
    Model,
}

/// One call of a tool.
#[derive(Clone)]
pub struct Call {
    tool: Arc<str>,
    arguments: Arc<Value>,
    asker: Asker,
    key: Option<String>,
    deadline: Option<Duration>,
    in_flight_wait: Duration,
    carried: Option<Carried>,
}

/// What a call carries from whoever makes it to the tool, which alone knows what it is.
pub(crate) type Carried = Arc<dyn Any + Send + Sync>;

impl Call {
    /// A model's call of a tool.
    pub fn new(tool: impl Into<Arc<str>>, arguments: Value) -> Self {
        Self::shared(tool, Arc::new(arguments))
    }

    /// The same, with arguments that somebody else holds too.
    pub fn shared(tool: impl Into<Arc<str>>, arguments: Arc<Value>) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            asker: Asker::Model,
            key: None,
            deadline: None,
            in_flight_wait: Duration::ZERO,
            carried: None,
        }
    }

    /// Gives the call something to carry to the tool, such as the connection it came from. Nothing is decided by it, and a
    /// call that is gone on with after a restart has it no more.
    #[must_use]
    pub fn carrying<T: Any + Send + Sync>(mut self, carried: Arc<T>) -> Self {
        self.carried = Some(carried);
        self
    }

    pub(crate) fn carried(&self) -> Option<Carried> {
        self.carried.clone()
    }

    /// Says who asks.
    #[must_use]
    pub const fn asked_by(mut self, asker: Asker) -> Self {
        self.asker = asker;
        self
    }

    /// Gives the call an idempotency key.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Gives the call less time than its limits do.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Lets the call wait for another that has its idempotency key, and then return what that one returned. Without it, such
    /// a call is refused at once.
    #[must_use]
    pub const fn wait_in_flight(mut self, wait: Duration) -> Self {
        self.in_flight_wait = wait;
        self
    }

    pub(crate) const fn in_flight_wait(&self) -> Duration {
        self.in_flight_wait
    }

    pub(crate) const fn own_deadline(&self) -> Option<Duration> {
        self.deadline
    }

    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    pub(crate) fn tool_arc(&self) -> Arc<str> {
        Arc::clone(&self.tool)
    }

    pub(crate) const fn asker(&self) -> Asker {
        self.asker
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    pub(crate) fn deadline_or(&self, default: Duration) -> Duration {
        self.deadline.unwrap_or(default)
    }

    pub(crate) fn arguments(&self) -> Arc<Value> {
        Arc::clone(&self.arguments)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("tool", &self.tool)
            .field("arguments", &self.arguments)
            .field("asker", &self.asker)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// How one call went.
#[derive(Clone, Debug)]
pub struct Report {
    /// The call's number, unique in its registry.
    pub call: u64,
    /// The tool that was asked for.
    pub tool: Arc<str>,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, waiting for people included.
    pub duration: Duration,
}
