//! Commands confined by a container engine, through the Docker Engine API.
//!
//! ```no_run
//! use ringfence_container::Engine;
//! use ringfence_sandbox::{Access, Sandbox, Spec, Streams};
//!
//! # fn example(runtime: &tokio::runtime::Runtime) -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::connect(runtime.handle().clone(), "unix:///run/podman/podman.sock")?;
//! let image = "docker.io/library/busybox@sha256:0b44030dca1d1504de8aa100696d5c86f19b06cec660cf55c2ba6c5c36d1fb89";
//! let spec = Spec::new("wc").in_image(image).arguments(["-l", "/srv/data/log"]).tree("/srv/data", Access::READ);
//! let report = Sandbox::foreign(engine).run(&spec, Streams::default())?;
//! # Ok(())
//! # }
//! ```
//!
//! An [`Engine`] is an [`Adapter`](ringfence_sandbox::Adapter) like any other and uses nothing private of the sandbox: what it says of
//! its enforcement is a claim. Every container has an image by digest, a read-only root, no capabilities, no new privileges, a user
//! namespace, the plan's seccomp profile, its limits, its paths and no network but the egress gate's. What the engine at hand cannot do
//! of that is refused by name before anything is made there.
//!
//! The client is our own few lines on `hyper`: the environment of a command holds secrets, and must not reach a log on its way.

#![cfg(target_os = "linux")]

mod address;
mod body;
mod client;
mod engine;
mod error;
mod guard;
mod hidden;
mod image;
mod input;
mod inside;
mod mount;
mod nature;
mod output;
mod owner;
mod pinned;
mod ready;
mod run;
mod sweep;
mod watch;

pub use engine::{Engine, UNSUPPORTED};
pub use error::ContainerError;

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence_container;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
