//! Hosts: what a request asks for, and the patterns that admit it.
//!
//! [`HostName`], [`Host`] and [`Target`] stand on the asking side; [`HostPattern`] and [`HostSet`] on the
//! admitting side. They are separate types, so that a wildcard can never be asked for.
//!
//! INVARIANT: every comparison is between normalised values; no text is compared after parsing.

mod error;
mod name;
mod pattern;
mod set;
mod target;
mod text;

pub use error::HostError;
pub use name::HostName;
pub use pattern::{HostPattern, HostShape};
pub use set::HostSet;
pub use target::{Host, Target};

#[cfg(test)]
mod tests;
