//! The crate from outside.

#![expect(clippy::disallowed_methods, reason = "the cases are files")]

mod corpora;
mod properties;
mod scan;
mod secrets;
