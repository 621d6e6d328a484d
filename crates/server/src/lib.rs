//! The MCP gateway: any MCP server inside the fence, with no change to the server or the client.
//!
//! A [`House`] holds what all sessions share: the servers, the policy, the pins. Each client gets a session of its own with
//! servers of its own, and everything it asks goes through the pipeline of `ringfence`. Messages are passed on as they were
//! written wherever nothing has to be changed, because typed models drop what they do not know.
//!
//! Edges bring clients in: [`stdio`] for those that start us, [`http`] for those that connect.

mod approver;
mod book;
mod clean;
pub mod console;
mod door;
mod era;
mod house;
pub mod http;
mod ingress;
mod line;
pub mod message;
mod outlet;
mod oversize;
mod policy_tool;
mod question;
pub mod raw;
mod session;
mod spec;
pub mod stdio;
mod tie;
mod tool;
mod upstream;

pub use book::{PinBook, Seen};
pub use door::{Agent, Door, Room};
pub use era::{LEGACY, MODERN};
pub use house::{House, HouseError, HouseOptions, MakeRegistry, NO_DEADLINE};
pub use ingress::scan_definition;
pub use outlet::{Closed, Outlet};
pub use session::Session;
pub use spec::{Accept, ErrorSink, ServerSpec, Starter, ToolRule};
pub use tool::KEY as IDEMPOTENCY_KEY;
pub use upstream::class_of;

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence_server;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
