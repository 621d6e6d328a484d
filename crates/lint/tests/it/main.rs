//! The lint as people run it, and its engines over source trees whose functions say by their names what they do.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test starts programs, stops at the first surprise, and says what it measured and what it did not run"
)]

mod bench;
mod build;
mod closure;
mod corpus;
mod evasion;
mod finding;
mod python;
mod reference;
mod script;
mod servers;
