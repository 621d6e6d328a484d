//! The policy algebra of ringfence: what a tool declares, what an operator permits, and the grant that is both.
//!
//! Everything here is pure: no files, no sockets, no clock, no environment. Every enforcer consumes a grant
//! that was computed here, so that one decision bites everywhere.

mod code;
mod refusal;

pub use code::Code;
pub use refusal::Refusal;
