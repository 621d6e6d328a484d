//! The real binary, from outside.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests start the binary they test")]

#[path = "../../../cli/tests/it/bench.rs"]
#[expect(dead_code, reason = "the tests of the command use more of it")]
mod bench;
mod component;
