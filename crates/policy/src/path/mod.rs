//! Paths: the patterns that admit them, what a tool declares, what a personality permits, and the grant that is both.
//!
//! Pure: nothing here looks at a file system. What is asked for is a [`std::path::Path`], absolute and
//! normalised by [`normalise`]; what admits is a [`PathPattern`]. The scoped handle in the core crate sees to it
//! that the path judged here is the file that is opened.

mod cover;
mod error;
mod floor;
mod glob;
mod grant;
mod meet;
mod normal;
mod pattern;
mod reach;
mod set;
mod store_file;
mod variable;

pub(crate) use meet::{Meet, are_comparable, are_disjoint, covers_meet};

pub use error::PathError;
pub use floor::{Floor, FloorEntry, FloorKind};
pub use grant::FsGrant;
pub use normal::normalise;
pub use pattern::PathPattern;
pub use reach::{Direction, FsCeiling, FsReach, Jail, PathReach};
pub use set::PathSet;
pub use store_file::{LIVE_SUFFIX, STORE_SUFFIXES, StoreFile};
pub use variable::Variables;
