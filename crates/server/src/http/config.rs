//! What an edge is told: who may connect, under which names it is known, and how much is allowed.

use std::fmt;
use std::time::Duration;

use crate::door::Agent;

/// Who may connect, and how much they may ask for.
#[derive(Clone, Debug, Default)]
pub struct EdgeConfig {
    /// The agents, each with the hash of its bearer token.
    pub agents: Vec<AgentToken>,
    /// Lets everybody in who can reach the address. Only on loopback, and only where there are no agents.
    pub anonymous: bool,
    /// Further names under which this host is known, with a port or without; loopback and the bound address always count.
    pub hosts: Vec<String>,
    /// What is needed to speak TLS; required where the address is not loopback.
    pub tls: Option<TlsFiles>,
    /// How much is allowed.
    pub limits: EdgeLimits,
}

/// An agent, and the SHA-256 of its bearer token.
#[derive(Clone, Debug)]
pub struct AgentToken {
    /// Who it is, and how far its token goes.
    pub agent: Agent,
    /// What [`super::token_hash`] makes of its token.
    pub hash: [u8; 32],
}

/// The PEM texts of a certificate and its key.
#[derive(Clone)]
pub struct TlsFiles {
    /// The certificate, and those above it.
    pub certificate: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
}

impl fmt::Debug for TlsFiles {
    /// The key is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsFiles").finish_non_exhaustive()
    }
}

/// How much is allowed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EdgeLimits {
    /// The largest body of a request.
    pub body: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// How many sessions there may be.
    pub sessions: usize,
    /// How many sessions one agent may have.
    pub sessions_per_agent: usize,
    /// How many messages one agent may send in a minute, all at once or spread. Each session of anonymous clients has its own count.
    pub requests_per_minute: u32,
    /// How many connections there may be. Beyond that a new one takes the place of one that has shown no token, and waits where
    /// there is none; one agent keeps at most a quarter of them.
    pub connections: usize,
    /// How many requests of one session may be under way.
    pub in_flight: usize,
    /// How long a session lives when nothing is asked and no stream is open.
    pub idle: Duration,
    /// How long a TLS handshake, the head of a request, and the time between two requests of a connection may take.
    pub header_timeout: Duration,
    /// How long the other end may take nothing of what is sent to it.
    pub write_timeout: Duration,
    /// How long nothing is sent before a comment shows that the stream is alive.
    pub keep_alive: Duration,
}

impl Default for EdgeLimits {
    fn default() -> Self {
        Self {
            body: 4 << 20,
            body_timeout: Duration::from_secs(30),
            sessions: 256,
            sessions_per_agent: 32,
            requests_per_minute: 120_000,
            connections: 1024,
            in_flight: 64,
            idle: Duration::from_secs(600),
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
        }
    }
}
