//! What the operator says of a server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ringfence::egress::Witness;
use ringfence::policy::{Constraints, Idempotency, Limits, Risk, SafetyClass, Size, Span};
use ringfence::{Capabilities, Running, ToolError};

use crate::message::MAX_MESSAGE;

/// A server behind the fence.
#[derive(Clone)]
pub struct ServerSpec {
    /// What the operator calls it.
    pub name: String,
    /// Whether its tools and prompts carry its name.
    pub prefixed: bool,
    /// What it reaches, and every tool of it: it is one process.
    pub capabilities: Capabilities,
    /// What becomes of definitions that nobody has accepted.
    pub accept: Accept,
    /// What the operator says of single tools, by the server's name for them.
    pub tools: BTreeMap<String, ToolRule>,
    /// How long it stays when nothing is asked of it.
    pub idle: Duration,
    /// How long one call of any of its tools may take; no limit where none is given.
    pub wall: Option<Span>,
    /// The largest message that it may send, in bytes.
    pub max_message: usize,
    /// Whether it may have the client's model complete texts.
    pub sampling: bool,
    /// Whether it may ask the person at the client.
    pub elicitation: bool,
    /// Starts it.
    pub starter: Arc<dyn Starter>,
}

/// What becomes of definitions that nobody has accepted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Accept {
    /// Those in which the scan finds nothing are accepted when they are first seen.
    Clean,
    /// Each waits for a person.
    #[default]
    Review,
}

/// What the operator says of one tool.
#[derive(Clone, Debug)]
pub struct ToolRule {
    /// Its class, where that is more than its capabilities imply.
    pub class: Option<SafetyClass>,
    /// What it could do at worst.
    pub risk: Risk,
    /// Whether and by what its calls are recognised.
    pub idempotency: Idempotency,
    /// When and how often it may be called.
    pub constraints: Constraints,
    /// What a call may spend.
    pub limits: Limits,
    /// Whether it is offered at all.
    pub enabled: bool,
}

impl Default for ToolRule {
    fn default() -> Self {
        Self {
            class: None,
            risk: Risk::default(),
            idempotency: Idempotency::default(),
            constraints: Constraints::default(),
            limits: Limits::default(),
            enabled: true,
        }
    }
}

/// Is given what a server writes to its standard error.
pub type ErrorSink = Box<dyn FnMut(&[u8]) + Send>;

/// Starts a server inside the fence.
pub trait Starter: Send + Sync {
    /// Starts it anew. `errors` is given what it says on its error stream, and `witness` is told what it reaches.
    fn start(
        &self,
        errors: ErrorSink,
        witness: Arc<dyn Witness>,
    ) -> BoxFuture<'_, Result<Running, ToolError>>;

    /// Returns the values of the secrets that it was started with, so that they do not come back from it.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }
}

impl ServerSpec {
    /// Returns the client's capabilities that the operator withholds from it.
    pub(crate) fn withheld(&self) -> Vec<&'static str> {
        let switches = [(self.sampling, "sampling"), (self.elicitation, "elicitation")];
        switches.into_iter().filter_map(|(is_permitted, name)| (!is_permitted).then_some(name)).collect()
    }

    /// Returns what a call of one of its tools may spend: of the tool's time and the server's, the shorter.
    pub(crate) fn limits_of(&self, rule: &ToolRule) -> Limits {
        let wall = rule.limits.wall.into_iter().chain(self.wall).min();
        // An output is a message, and what may be sent may be kept.
        let most = (self.max_message > MAX_MESSAGE).then(|| Size::new(self.max_message as u64));
        Limits { wall, output: rule.limits.output.or(most), ..rule.limits }
    }

    /// Returns the name under which something of this server is offered.
    pub(crate) fn offered(&self, name: &str) -> String {
        if self.prefixed { format!("{}__{name}", self.name) } else { name.to_owned() }
    }

    /// Returns the server's own name for something that is offered.
    pub(crate) fn own<'a>(&self, offered: &'a str) -> Option<&'a str> {
        if self.prefixed {
            offered.strip_prefix(self.name.as_str())?.strip_prefix("__")
        } else {
            Some(offered)
        }
    }
}

impl std::fmt::Debug for ServerSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerSpec").field("name", &self.name).finish_non_exhaustive()
    }
}
