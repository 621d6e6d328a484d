//! The crate from outside.

#![cfg(test)]

mod scan;
#![expect(clippy::disallowed_methods, reason = "the shared cases are files")]
mod corpora;
mod properties;
mod secrets;
