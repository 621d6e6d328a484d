//! Real MCP servers, hostile ones and real clients, through `ringfence wrap` and `ringfence gateway`.
//!
//! The servers and clients are installed by `script/mcp-servers`, or lie in `RINGFENCE_TEST_MCP`; they are never left out. Where
//! the fence is to stop something, the same is done once without it, and must succeed there. [`Tier`](ringfence_e2e::Tier) says
//! how often servers are restarted.

mod answer;
mod approval;
mod attack;
mod client;
mod conformance;
mod era;
mod gateway;
mod place;
mod process;
mod real;
mod sdk;
