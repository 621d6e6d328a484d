//! What the gate reads of foreign bytes: DNS queries, the first words of TLS, and requests of HTTP/1.
//!
//! Nothing here opens, reads or waits: bytes go in and a verdict comes out, so that each reader can be tested and
//! fuzzed alone. Public for the fuzz targets; no part of the promised interface.
//!
//! INVARIANT: no input makes a reader panic, and what a reader does not understand it refuses.

pub mod dns;
pub mod hello;
pub mod http;
