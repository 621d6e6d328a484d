//! The `[gateway]` and `[[agent]]` entries of a toolbox file: where agents connect, and who they are.
//!
//! INVARIANT: the file holds the digest of a token, never the token.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::expand::expand_path;
use crate::visited::visited;
use crate::{
    EntryGap, Host, HostError, HostName, ServerEntry, ServerName, Span, TOOLBOX, Table, ToolName, Variables,
};

/// Where agents connect.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayEntry {
    /// The address; absent = loopback, on a port of the command's choice.
    #[serde(deserialize_with = "address")]
    pub listen: Option<SocketAddr>,
    /// The certificate and its key; required where the address is not loopback.
    pub tls: Option<TlsFiles>,
    /// Further names of the gateway that `Host` and `Origin` may hold.
    #[serde(deserialize_with = "hosts")]
    pub hosts: Vec<Host>,
    /// Whether the agent is offered a tool that tells what it may reach.
    #[serde(alias = "policyTool")]
    pub policy_tool: bool,
    /// How many sessions one agent may have at the same time.
    #[serde(alias = "sessionsPerAgent")]
    pub sessions_per_agent: u32,
    /// How many messages one agent may send in a minute over HTTP; each session of anonymous clients has its own count.
    #[serde(alias = "requestsPerMinute")]
    pub requests_per_minute: u32,
    /// How long the output of a call with an idempotency key is kept for those who ask again.
    #[serde(alias = "keepKeys")]
    pub keep_keys: Span,
}

/// How many sessions one agent may have where the file does not say.
const SESSIONS_PER_AGENT: u32 = 32;
/// How many sessions one agent may have at most: those of the whole gateway.
pub(crate) const MAX_SESSIONS_PER_AGENT: u32 = 256;
/// How many messages one agent may send in a minute where the file does not say: 2,000 each second.
const REQUESTS_PER_MINUTE: u32 = 120_000;
/// How many messages one agent may send in a minute at least.
const MIN_REQUESTS_PER_MINUTE: u32 = 60;
/// How long outputs are kept for their keys where the file does not say: a week.
const KEEP_KEYS: Duration = Duration::from_hours(7 * 24);
/// The shortest and the longest time that outputs are kept for their keys.
const KEEP_KEYS_RANGE: RangeInclusive<Duration> = Duration::from_hours(1)..=Duration::from_hours(366 * 24);

impl Default for GatewayEntry {
    fn default() -> Self {
        Self {
            listen: None,
            tls: None,
            hosts: Vec::new(),
            policy_tool: true,
            sessions_per_agent: SESSIONS_PER_AGENT,
            requests_per_minute: REQUESTS_PER_MINUTE,
            keep_keys: Span::new(KEEP_KEYS),
        }
    }
}

impl GatewayEntry {
    pub(crate) fn expanded(&self, variables: &Variables) -> (Self, Vec<EntryGap>) {
        let mut gaps = Vec::new();
        let mut gateway = self.clone();
        if let Some(tls) = &mut gateway.tls {
            tls.expand(Table::Gateway, variables, &mut gaps);
        }
        gaps.extend(open_without_tls(Table::Gateway, self.listen, self.tls.as_ref()));
        gaps.extend(self.out_of_bounds());
        (gateway, gaps)
    }

    /// Returns what is wrong with its numbers.
    fn out_of_bounds(&self) -> Vec<EntryGap> {
        let mut gaps = Vec::new();
        if !(1..=MAX_SESSIONS_PER_AGENT).contains(&self.sessions_per_agent) {
            let message =
                format!("{} sessions are too few or too many for one agent", self.sessions_per_agent);
            gaps.push(EntryGap::new(Table::Gateway, "", "sessions_per_agent", message, "give 1 to 256"));
        }
        if self.requests_per_minute < MIN_REQUESTS_PER_MINUTE {
            let message = format!("{} messages a minute are too few", self.requests_per_minute);
            gaps.push(EntryGap::new(Table::Gateway, "", "requests_per_minute", message, "give 60 or more"));
        }
        if !KEEP_KEYS_RANGE.contains(&self.keep_keys.duration()) {
            let message = format!("keys cannot be kept for {}", self.keep_keys);
            gaps.push(EntryGap::new(Table::Gateway, "", "keep_keys", message, "give `1h` to `8784h`"));
        }
        gaps
    }
}

/// Returns what is wrong with an address that others reach without TLS.
pub(crate) fn open_without_tls(
    table: Table,
    listen: Option<SocketAddr>,
    tls: Option<&TlsFiles>,
) -> Option<EntryGap> {
    let listen = listen.filter(|listen| tls.is_none() && !listen.ip().is_loopback())?;
    let message = format!("`{listen}` is not a loopback address, and there is no `tls`");
    let fix = "give `tls = { certificate = …, key = … }`, or listen on 127.0.0.1";
    Some(EntryGap::new(table, "", "listen", message, fix))
}

/// The files of a certificate and of its key.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificate and those above it, as PEM.
    pub certificate: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Expands variables in place, and tells of a path that has none of the values.
    pub(crate) fn expand(&mut self, table: Table, variables: &Variables, gaps: &mut Vec<EntryGap>) {
        for (field, path) in [("tls.certificate", &mut self.certificate), ("tls.key", &mut self.key)] {
            match path.to_str().ok_or_else(String::new).and_then(|text| expand_path(text, variables)) {
                Ok(expanded) => *path = expanded.into(),
                Err(message) => {
                    gaps.push(EntryGap::new(table, "", field, message, "name one file by its whole path"));
                }
            }
        }
    }
}

/// One agent that may use the gateway.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AgentEntry {
    /// What it is called.
    pub name: ToolName,
    /// The digest of its bearer token.
    pub token: TokenDigest,
    /// The servers it may use, and `toolbox` for the toolbox's own tools; absent = all of them.
    #[serde(default)]
    pub servers: Option<Vec<String>>,
    /// Whether whoever holds the token is a person who may agree to calls that need one.
    #[serde(default)]
    pub approves: bool,
    /// The tools it may use, by their full names; absent = all of those servers.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
}

/// The SHA-256 digest of a bearer token.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// Wraps a digest.
    pub const fn new(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// Returns the digest.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A text that is not the digest of a token. It is not echoed: it may be the token itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`token` is not `sha256:` and 64 small hexadecimal digits; `ringfence gateway --new-token NAME` prints one"
)]
struct TokenDigestError;

impl<'de> Deserialize<'de> for TokenDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        visited(deserializer, "the digest of a token, as a string", |text| {
            let digits = text.strip_prefix("sha256:").ok_or(TokenDigestError)?.as_bytes();
            let mut digest = [0; 32];
            let (pairs, rest) = digits.as_chunks::<2>();
            if pairs.len() != digest.len() || !rest.is_empty() {
                return Err(TokenDigestError);
            }
            let value = |digit: u8| match digit {
                b'0'..=b'9' => Ok(digit - b'0'),
                b'a'..=b'f' => Ok(digit - b'a' + 10),
                _ => Err(TokenDigestError),
            };
            for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
                *byte = value(*high)? << 4 | value(*low)?;
            }
            Ok(Self(digest))
        })
    }
}

/// Returns everything that is wrong with agents; `is_tool` knows the toolbox's own tools.
pub fn check_agents(
    agents: &[AgentEntry],
    servers: &[ServerEntry],
    is_tool: impl Fn(&str) -> bool,
) -> Vec<EntryGap> {
    let mut gaps = Vec::new();
    let is_server = |name: &str| servers.iter().any(|server| server.name.as_str() == name);
    for (index, agent) in agents.iter().enumerate() {
        let mut push = |field: &'static str, message: String, fix: &str| {
            gaps.push(EntryGap::new(Table::Agent, agent.name.as_str(), field, message, fix));
        };
        let before = agents.get(..index).unwrap_or_default();
        if before.iter().any(|other| other.name == agent.name) {
            push("name", "another agent of this file has the same name".into(), "rename one");
        }
        if let Some(other) = before.iter().find(|other| other.token == agent.token) {
            let message =
                format!("agent `{}` has the same token, so nobody could tell them apart", other.name);
            push("token", message, "give each a token of its own");
        }
        for server in agent.servers.iter().flatten() {
            if server != TOOLBOX && !is_server(server) {
                let message = format!("no server of this file is named `{}`", server.escape_debug());
                push("servers", message, "name a [[server]], or \"toolbox\" for the toolbox's own tools");
            }
        }
        for tool in agent.tools.iter().flatten() {
            let server = match ServerName::split(tool) {
                Some((server, _)) if is_server(server) => server,
                Some((TOOLBOX, name)) if is_tool(name) => TOOLBOX,
                _ if is_tool(tool) => TOOLBOX,
                _ => {
                    let message = format!(
                        "`{}` is neither `server__tool` nor a tool of this file",
                        tool.escape_debug()
                    );
                    push("tools", message, "write the name of a [[server]], `__` and the tool's name");
                    continue;
                }
            };
            if agent.servers.as_ref().is_some_and(|own| own.iter().all(|name| name != server)) {
                let message =
                    format!("`{}` is of `{server}`, which is not among its servers", tool.escape_debug());
                push("tools", message, "add it to `servers`, or drop the tool");
            }
        }
    }
    gaps
}

/// Reads an address and a port.
pub(crate) fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            format!(
                "`listen` is an address and a port, as in `127.0.0.1:7117`, not `{}`",
                text.escape_debug()
            )
        })
    };
    visited(deserializer, "an address and a port, as a string", parse).map(Some)
}

/// One host of `hosts`, read where it stands.
struct Named(Host);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| match text.parse::<IpAddr>() {
            Ok(address) => Ok(Host::Address(address)),
            Err(_) => text.parse::<HostName>().map(Host::Name),
        };
        visited::<_, _, HostError>(deserializer, "a host name, as a string", parse).map(Self)
    }
}

/// Reads names and addresses.
pub(crate) fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Host>, D::Error> {
    Ok(Vec::<Named>::deserialize(deserializer)?.into_iter().map(|Named(host)| host).collect())
}
