//! Processes confined by the kernel to exactly what they were granted.
//!
//! ```no_run
//! use ringfence_sandbox::{Access, Native, Sandbox, Spec, Streams};
//!
//! let sandbox = Sandbox::new(Native::new());
//! let spec = Spec::new("/usr/bin/wc").arguments(["-l", "/srv/data/log"]).tree("/srv/data", Access::READ);
//! let report = sandbox.run(&spec, Streams::default())?;
//! println!("{}", String::from_utf8_lossy(&report.stdout.bytes));
//! # Ok::<(), ringfence_sandbox::SandboxError>(())
//! ```
//!
//! A [`Spec`] says what is asked for. [`Seen`] looks at the machine. [`Plan`] joins both and is pure data: what exists
//! inside, what Landlock and seccomp allow, what may be spent. A [`Backend`] carries the plan out, or starts nothing.

#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "a plan is made everywhere, and carried out on Linux")
)]

mod adapter;
pub mod backend;
#[cfg(target_os = "linux")]
pub mod doctor;
mod error;
mod file;
mod git;
mod hidden;
mod host;
mod inert;
pub mod inner;
mod limit;
mod plan;
mod probe;
mod quarantine;
mod record;
pub mod render;
mod report;
mod sandbox;
mod seccomp;
mod select;
mod spec;
mod step;
mod stream;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod sys;

pub use adapter::{Adapter, Input, Part, Ran, Session};
pub use backend::{Backend, DenyAll, Seatbelt, Tier, Unconfined};
#[cfg(target_os = "linux")]
pub use backend::{Bwrap, Firejail, Native};
pub use error::SandboxError;
pub use file::{open_regular, read_small};
pub use hidden::{HiddenPaths, mounted_elsewhere, waypoints_of};
pub use host::{Aliases, Found, Identity, Kind, Platform, Program, SearchPath};
pub use limit::{Enforcer, LimitName};
#[cfg(target_os = "linux")]
pub use linux::namespace::gate_namespace;
#[cfg(target_os = "linux")]
pub use linux::terminal::RawTerminal;
pub use plan::{
    Entry, Landlock, Network, Openings, Plan, Prefix, ProcessLimit, Resource, Rule, Seen, SharedFiles,
};
#[cfg(target_os = "linux")]
pub use quarantine::{Origin, Recovered, origin_of, recover};
pub use record::{How, Record, Touch};
pub use report::{Capture, Ending, Quarantined, Report, Unmounted, Usage};
pub use sandbox::Sandbox;
pub use seccomp::{Architecture, Instruction, Profile, program as seccomp_program};
pub use select::{Choice, Selector, own_folder_in, private_folder};
pub use spec::{Access, Spec, Tree, default_limits};
pub use step::Step;
/// Gives back the pages of this program's own code that were only needed to start: for programs that then stay for long.
///
/// # Errors
///
/// What this process has mapped cannot be read, or the kernel refuses; nothing is lost then.
#[cfg(target_os = "linux")]
pub fn give_back_code() -> std::io::Result<usize> {
    sys::give_back_code()
}

pub use stream::{Observer, Opener, Sockets, Stream, Streams};

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence_sandbox;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
