//! Why an edge cannot be opened, or stopped.

use std::io;
use std::net::SocketAddr;

/// Why an edge cannot be opened, or stopped.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum EdgeError {
    /// The address could not be taken.
    #[error("cannot listen on `{address}`: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// Anybody could listen in.
    #[error("`{address}` is not loopback, and there is no TLS certificate")]
    PlainText {
        /// The address.
        address: SocketAddr,
    },
    /// Anybody could ask anything.
    #[error("`{address}` is not loopback, and anybody would be let in")]
    AnonymousAbroad {
        /// The address.
        address: SocketAddr,
    },
    /// A token would mean nothing.
    #[error("anybody would be let in, though there are agents with tokens")]
    AnonymousBesideAgents,
    /// Nobody could ask anything.
    #[error("there is no agent, so nobody could connect")]
    NoAgents,
    /// Two agents cannot be told apart.
    #[error("the agents `{first}` and `{second}` have the same token or the same name")]
    SameAgent {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A further name of this host is no host name.
    #[error("`{host}` in `hosts` is no host name")]
    Host {
        /// What was given.
        host: String,
    },
    /// A limit that nothing could pass.
    #[error("the limit `{limit}` is out of range")]
    Limit {
        /// Its name.
        limit: &'static str,
    },
    /// The certificate or its key cannot be used.
    #[error("the TLS certificate cannot be used: {reason}")]
    Tls {
        /// Why not.
        reason: String,
    },
    /// No connection can be accepted any more.
    #[error("cannot accept connections: {source}")]
    Accept {
        /// Why not.
        source: io::Error,
    },
}

impl EdgeError {
    /// Says what could be done about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::PlainText { .. } => {
                Some("give `tls` in `[gateway]` or `[console]`, or listen on 127.0.0.1")
            }
            Self::AnonymousAbroad { .. } => Some("add an `[[agent]]` with a token, or listen on 127.0.0.1"),
            Self::AnonymousBesideAgents => Some("leave out one of the two"),
            Self::NoAgents => Some("add an `[[agent]]` with a token"),
            Self::SameAgent { .. } => Some("give every agent a name and a token of its own"),
            Self::Host { .. } => Some("write a name or an address, with a port or without"),
            Self::Tls { .. } => Some("both files are PEM texts, and belong together"),
            Self::Bind { .. } => Some(
                "another program may listen there already, or the address is not this machine's: choose another, such as 127.0.0.1:0 for a free port",
            ),
            Self::Limit { .. } | Self::Accept { .. } => None,
        }
    }
}
