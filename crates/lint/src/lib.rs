//! What the code of a tool uses, its dependencies included, beside what the tool declares.
//!
//! Two engines look at Rust. The *source* engine reads text and runs nothing; the *mir* engine builds the crate inside the
//! sandbox and follows the calls of every crate as the compiler understood them. Scripts (Python, JavaScript, TypeScript) are read.
//! All say the same thing in the same words: [`Analysis`].

mod analysis;
pub mod believed;
pub mod build;
pub mod catalog;
pub mod clippy;
mod compiled;
pub mod declared;
pub mod draft;
mod dynamic;
mod effect;
mod file;
pub mod judge;
pub mod mir;
mod project;
pub mod python;
pub mod script;
pub mod source;
pub mod tool;
pub mod waiver;

pub use analysis::{Analysis, FunctionKind, Hop, MAX_HOPS, Package, Place, Use, Verdict, joined, shortened};
pub use compiled::compiled;
pub use dynamic::ScriptError;
pub use effect::{Effect, EffectSet, UnknownEffect};
pub use project::{Cfg, Dependency, Project, ProjectError, Role, SourcePackage, Target, TargetKind};
pub use waiver::{Waiver, Waivers};

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
