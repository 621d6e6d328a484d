//! What the names that code is made of are known to do: the standard library, C, and the crates that wrap system calls.
//!
//! Both engines for Rust look names up here, so that they agree. What std does inside is never followed; the name says it.
//! Opening is the effect; reading or writing what is already open is none, and neither is standard input or output.
//!
//! INVARIANT: an unknown C name is `None`, never the empty set: the caller must treat it as foreign code.

mod foreign;
mod handle;
mod standard;
mod wrapper;

pub use foreign::of_foreign;
pub use handle::of_handle;
pub use standard::of_path;
pub use wrapper::of_wrapper;

use crate::{Effect, EffectSet};

/// Returns the set of some effects.
const fn set(effects: &[Effect]) -> EffectSet {
    let mut found = EffectSet::NONE;
    let mut rest = effects;
    while let [first, more @ ..] = rest {
        found.insert(*first);
        rest = more;
    }
    found
}
