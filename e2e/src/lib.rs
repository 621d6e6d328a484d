//! What the escape matrix runs: one [`Probe`] per way out of a sandbox.
//!
//! A probe tries one real escape and says in one line whether it got out. Its claim is not believed alone: the
//! [`Proof`] says what the test looks for on the host (a canary's secret in the line, a file that must not be there).
//! The same probes run once without a sandbox, where each must get out; one that does not proves nothing.
//!
//! The binary `probe` runs them by name, and is also the canary: the process that holds the secrets.

#![expect(unsafe_code, reason = "the probes are hostile code: they make raw system calls")]

#[macro_use]
mod sys;

mod canary;
mod command;
mod family;
mod probe;
mod scene;
mod tier;

pub use canary::serve;
pub use command::ringfence;
pub use family::FAMILIES;
pub use probe::{Attempt, Command, Ends, Needs, Outcome, PAYLOAD, Probe, Proof, Stop, TOKEN_PREFIX};
pub use scene::Scene;
pub use tier::Tier;

/// Every probe of the matrix.
pub fn probes() -> impl Iterator<Item = &'static Probe> {
    FAMILIES.iter().copied().flatten()
}
