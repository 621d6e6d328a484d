//! What the measurement of the egress gate is made of: a far end, a client, the gate and its peers.
//!
//! The client is the same code in every case: outside for the direct way and for the proxies, inside a sandbox for the
//! gate. The far end is a process of its own, so that the measuring process holds the gate and nothing else.

mod client;
mod far;
mod peer;
mod turn;
mod worker;

pub use client::client;
pub use far::{Far, far_end};
pub use peer::{Peer, peers};
pub use turn::{Samples, Turn, interleave};
pub use worker::{ADDRESS, NAME, Worker};

/// Where the far end answers a small request with a small answer, as on 80 and 443.
pub const SMALL: u16 = 7000;
/// Where it sends as many bytes as it is asked for.
pub const BULK: u16 = 7001;
/// Where it takes connections and says nothing.
pub const IDLE: u16 = 7002;
