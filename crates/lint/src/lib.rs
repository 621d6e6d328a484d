//! What the code of a tool uses, its dependencies included, beside what the tool declares.
//!
//! Two engines look at Rust. The *source* engine reads text and runs nothing; the *mir* engine builds the crate inside the
//! sandbox and follows the calls of every crate as the compiler understood them. Scripts (Python, JavaScript, TypeScript) are read.
//! All say the same thing in the same words: [`Analysis`].

mod analysis;
mod dynamic;
mod effect;
pub mod python;
pub mod script;

pub use analysis::{Analysis, FunctionKind, Hop, MAX_HOPS, Package, Place, Use, Verdict, shortened};
pub use dynamic::ScriptError;
pub use effect::{Effect, EffectSet, UnknownEffect};
