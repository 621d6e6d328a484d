//! Tools as WebAssembly components, held to their grants by the host.
//!
//! A component can do nothing of its own: what it reaches it imports, and what it imports is in its binary. So a
//! component is judged before it runs: [`Package::read`] finds what it declares, [`imports`] what it could call, and
//! [`Host::tool`] refuses one whose imports exceed its declaration. What it may reach when it is called goes through
//! the same scoped handles as any other tool: files through [`ScopedFs`](ringfence::ScopedFs), HTTP through
//! [`ScopedFetch`](ringfence::ScopedFetch), secrets, storage and variables by the grant of the call.
//!
//! Every call gets a fresh instance, whose memory nobody has seen and nobody will see. It runs on the caller's thread
//! and gives way some two hundred times a second, so that a loop without end neither holds a thread nor outlives the
//! future that called it.
//!
//! What this runtime cannot enforce is a list: [`UNSUPPORTED`].

mod bindings;
mod call;
mod error;
mod fault;
mod files;
mod guest;
mod host;
mod http;
mod import;
mod limit;
mod link;
mod log;
mod meter;
mod package;
mod section;
mod shape;
mod state;
mod surface;
mod ticker;
mod tool;

pub use error::WasmError;
pub use host::{Host, HostBuilder};
pub use import::{Import, imports};
pub use limit::{Refused, UNSUPPORTED, Unsupported};
pub use package::Package;

/// Looks for the declaration in any bytes, for the fuzzer.
#[doc(hidden)]
pub fn find_section(bytes: &[u8]) -> Result<Option<String>, WasmError> {
    section::find(bytes)
}

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence_wasm;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
