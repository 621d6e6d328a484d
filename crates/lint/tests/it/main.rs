//! The engines over source trees: which functions do what, as the names of the functions say.

#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and says what it measured and what it did not run"
)]

mod closure;
mod corpus;
mod python;
mod script;
mod servers;
