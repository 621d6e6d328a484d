//! The policy algebra of ringfence: what a tool declares, what an operator permits, and the grant that is both.
//!
//! Everything here is pure: no files, no sockets, no clock, no environment. Every enforcer consumes a grant
//! that was computed here, so that one decision bites everywhere.

mod address;
mod code;
mod host;
mod network;
mod refusal;

pub use address::{AddressClass, classify, is_public};
pub use code::Code;
pub use host::{Host, HostError, HostName, HostPattern, HostSet, HostShape, Target};
pub use network::{NetworkCeiling, NetworkGrant, Private};
pub use refusal::Refusal;
