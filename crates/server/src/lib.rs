//! The MCP gateway: any MCP server inside the fence, with no change to the server or the client.

mod door;
pub mod http;
mod line;
pub mod message;
mod outlet;
pub mod raw;

pub use door::{Agent, Door, Room};
pub use outlet::{Closed, Outlet};
