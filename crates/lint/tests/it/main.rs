//! The engines over source trees: which functions do what, as the names of the functions say.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod corpus;
mod python;
