//! The policy algebra of ringfence: what a tool declares, what an operator permits, and the grant that is both.
//!
//! Everything here is pure: no files, no sockets, no clock, no environment. Every enforcer consumes a grant
//! that was computed here, so that one decision bites everywhere.

mod code;
mod path;
mod refusal;

pub use code::Code;
pub use path::{
    Direction, Floor, FloorEntry, FloorKind, FsCeiling, FsGrant, FsReach, Jail, PathError, PathPattern,
    PathReach, PathSet, Variables, normalise,
};
pub use refusal::Refusal;
