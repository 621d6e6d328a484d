//! Who connects to a toolbox and who is told of it: agents, the gateway, the console, and whoever is notified.
//!
//! INVARIANT: no token is in a record, only the digest that the toolbox holds; an absent scope is every server or every tool.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::ceiling;
use super::tool::spelled;
use crate::{AgentEntry, ConsoleEntry, ContainerEntry, GatewayEntry, NetworkCeiling, Notify, Private, Span};

/// What a manifest is made from beside tools and servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outside<'a> {
    /// The agents.
    pub agents: &'a [AgentEntry],
    /// The page for people; absent = the one of a toolbox that says nothing of it.
    pub console: Option<&'a ConsoleEntry>,
    /// Which container engine runs the tools that run in images.
    pub container: Option<&'a ContainerEntry>,
    /// The endpoint; absent = the one of a toolbox that says nothing of it.
    pub gateway: Option<&'a GatewayEntry>,
    /// Whom to tell when a call waits for people.
    pub notify: &'a [Notify],
}

/// What a manifest says of one agent.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRecord {
    /// Whether whoever holds its token may agree to calls.
    #[serde(default, skip_serializing_if = "is_false")]
    pub approves: bool,
    /// The servers it may use; absent = all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<BTreeSet<String>>,
    /// The digest of its token.
    pub token: String,
    /// The tools it may use; absent = all of those servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeSet<String>>,
}

impl AgentRecord {
    pub(super) fn new(agent: &AgentEntry) -> Self {
        let set = |list: &Option<Vec<String>>| list.as_ref().map(|list| list.iter().cloned().collect());
        Self {
            approves: agent.approves,
            servers: set(&agent.servers),
            token: agent.token.to_string(),
            tools: set(&agent.tools),
        }
    }
}

/// What a manifest says of the page for people.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsoleRecord {
    /// Whether there is one.
    #[serde(skip_serializing_if = "is_true")]
    pub enabled: bool,
    /// Further names that `Host` and `Origin` may hold.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub hosts: BTreeSet<String>,
    /// The address; absent = loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Whether it speaks TLS.
    #[serde(skip_serializing_if = "is_false")]
    pub tls: bool,
    /// The key whose checkpoints of the audit log are believed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
}

impl Default for ConsoleRecord {
    fn default() -> Self {
        Self::new(&ConsoleEntry::default(), None)
    }
}

impl ConsoleRecord {
    /// A toolbox that says nothing of the console says nothing of its TLS either, whatever the gateway has.
    pub(super) fn new(console: &ConsoleEntry, gateway: Option<&GatewayEntry>) -> Self {
        let borrowed = console.listen.is_some() && gateway.is_some_and(|gateway| gateway.tls.is_some());
        Self {
            enabled: console.enabled,
            hosts: console.hosts.iter().map(ToString::to_string).collect(),
            listen: console.listen,
            tls: console.tls.is_some() || borrowed,
            trust: console.trust.clone(),
        }
    }

    /// Says whether it is that of a toolbox that says nothing of it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a manifest says of the endpoint for agents.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayRecord {
    /// Further names that `Host` and `Origin` may hold.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub hosts: BTreeSet<String>,
    /// The address; absent = loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SocketAddr>,
    /// Whether agents are offered a tool that tells what they may reach.
    #[serde(skip_serializing_if = "is_true")]
    pub policy_tool: bool,
    /// How many sessions one agent may have; absent = 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions_per_agent: Option<u32>,
    /// How many messages one agent may send in a minute; absent = 120,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// How long the output of a call with an idempotency key is kept; absent = a week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_keys: Option<Span>,
    /// Whether it speaks TLS.
    #[serde(skip_serializing_if = "is_false")]
    pub tls: bool,
}

impl Default for GatewayRecord {
    fn default() -> Self {
        Self::new(&GatewayEntry::default())
    }
}

impl GatewayRecord {
    pub(super) fn new(gateway: &GatewayEntry) -> Self {
        let usual = GatewayEntry::default();
        let (sessions, keep) = (gateway.sessions_per_agent, gateway.keep_keys);
        let requests = gateway.requests_per_minute;
        Self {
            hosts: gateway.hosts.iter().map(ToString::to_string).collect(),
            listen: gateway.listen,
            policy_tool: gateway.policy_tool,
            sessions_per_agent: (sessions != usual.sessions_per_agent).then_some(sessions),
            requests_per_minute: (requests != usual.requests_per_minute).then_some(requests),
            keep_keys: (keep != usual.keep_keys).then_some(keep),
            tls: gateway.tls.is_some(),
        }
    }

    /// Says whether it is that of a toolbox that says nothing of it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a manifest says of somebody who is told when a call waits for people.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase", tag = "kind")]
pub enum NotifyRecord {
    /// A program.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// What it may reach.
        #[serde(default)]
        network: NetworkCeiling,
    },
    /// A web server.
    Webhook {
        /// The private addresses that are permitted.
        #[serde(default)]
        private: Private,
        /// The ref of the secret that signs.
        secret: String,
        /// Its address.
        url: String,
    },
}

impl NotifyRecord {
    /// Makes the records of all, in an order that is not that of the toolbox.
    pub(super) fn all(entries: &[Notify]) -> Vec<Self> {
        let mut records: Vec<Self> = entries.iter().map(Self::new).collect();
        records.sort_by_cached_key(|record| (record.name(), format!("{record:?}")));
        records
    }

    fn new(entry: &Notify) -> Self {
        match entry {
            Notify::Command { command, network } => {
                Self::Command { command: command.clone(), network: ceiling::network(network) }
            }
            Notify::Webhook { url, secret, private } => {
                Self::Webhook { private: ceiling::private(private), secret: secret.clone(), url: url.clone() }
            }
        }
    }

    /// Returns what it is known by: the command or the address.
    pub fn name(&self) -> String {
        match self {
            Self::Command { command, .. } => format!("command {}", spelled(command)),
            Self::Webhook { url, .. } => format!("webhook {url}"),
        }
    }
}

const fn is_false(value: &bool) -> bool {
    !*value
}

const fn is_true(value: &bool) -> bool {
    *value
}
