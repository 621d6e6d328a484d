//! For authors of ringfence tools that are WebAssembly components.
//!
//! A tool is a function, a declaration of what it touches, and the macro [`tool!`] that joins them:
//!
//! ```
//! use ringfence_guest::{Failure, tool};
//!
//! #[derive(serde::Deserialize)]
//! struct Input {
//!     title: String,
//! }
//!
//! fn shout(input: Input) -> Result<String, Failure> {
//!     Ok(input.title.to_uppercase())
//! }
//!
//! tool! {
//!     declaration: r#"{
//!         "name": "shout",
//!         "description": "Write a title in capitals",
//!         "input": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
//!         "output": {"type": "string"},
//!         "capabilities": {}
//!     }"#,
//!     call: shout,
//! }
//! ```
//!
//! `cargo build --release --target wasm32-wasip2` makes a component of it. What a tool may touch it declares, an
//! operator permits, and ringfence enforces; the modules are the ways to ask:
//!
//! | capability | way |
//! |---|---|
//! | `network` | [`http`] |
//! | `secrets` | [`secrets`] |
//! | `storage` | [`storage`] |
//! | `fs_reach` | `std::fs` |
//! | `environment` | `std::env::var` |
//! | none | [`log`], [`context`], `std::time` |
//!
//! A component imports only what it uses, and one that imports more than it declares is refused at registration.
//! Outside a component, in the tests of an author, every way answers `NOT_AVAILABLE`.
//!
//! INVARIANT: a refusal of the host arrives as a value, never as a trap.

mod bindings;
pub mod context;
mod entry;
mod failure;
pub mod http;
pub mod log;
#[cfg(not(target_family = "wasm"))]
mod outside;
mod refusal;
pub mod secrets;
pub mod storage;

pub use failure::Failure;
pub use refusal::Refusal;
/// Makes a component out of a declaration and a function.
///
/// `declaration` is the name of a file beside `Cargo.toml`, or JSON itself when it starts with `{`. Its fields are those
/// of a tool in a toolbox: `name`, `description`, `input`, `output` and `capabilities` must be there; `title`, `class`,
/// `risk`, `idempotency`, `constraints` and `limits` may be. A declaration that is not like that does not compile.
///
/// `call` is a function of one argument that `serde` can read, and returns a `Result` of something that `serde` can
/// write, or a [`Failure`].
///
/// The declaration goes into the custom section `ringfence:tool` and into the export `declaration`.
///
/// ```compile_fail
/// # use ringfence_guest::{Failure, tool};
/// # fn shout(title: String) -> Result<String, Failure> { Ok(title.to_uppercase()) }
/// // the declaration is incomplete: `description` must be a text that is not empty; …
/// tool! { declaration: r#"{"name": "shout"}"#, call: shout }
/// ```
pub use ringfence_guest_macros::tool;

/// What the macro writes code against; not for people.
#[doc(hidden)]
pub mod __private {
    pub use crate::bindings::{Failure, Guest, export};
    pub use crate::entry::serve;

    pub mod bindings {
        pub use crate::bindings::*;
    }
}

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
