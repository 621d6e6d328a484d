//! The HTTP edge: both eras of the protocol on one endpoint, for agents that show a token.
//!
//! Every request passes the same steps in the same order: `guard` (is it meant for this host, and from a page that may ask),
//! `token` (whose is it), `rate` (how often), and only then is anything of it looked at. What is asked is then either
//! `modern` (every request speaks for itself), `legacy` (sessions), or `old` (the two endpoints of 2024-11-05).
//!
//! INVARIANT: nothing reaches a room that was not sent by the agent for whom the room was opened.

#![expect(
    clippy::result_large_err,
    reason = "what is refused is an answer like every other, and is sent as it is"
)]

mod alias;
mod body;
mod carry;
mod config;
mod connection_slots;
mod edge;
mod envelope;
mod error;
mod feed;
mod guard;
mod legacy;
mod listener;
mod log;
mod modern;
mod negotiate;
mod old;
mod param;
mod rate;
mod reply;
mod route;
mod session;
mod sse;
mod table;
mod tls;
mod token;
mod version;
mod write_timeout;

pub use config::{AgentToken, EdgeConfig, EdgeLimits, TlsFiles};
pub use edge::Edge;
pub use error::EdgeError;
pub use token::{new_token, token_hash};

pub(crate) use connection_slots::ConnectionSlot;
pub(crate) use guard::Guard;
pub(crate) use listener::{Bounds, Listener};
pub(crate) use rate::{Rate, peer_key};
pub(crate) use route::Peer;
pub(crate) use tls::acceptor;
pub(crate) use token::random;
