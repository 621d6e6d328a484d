//! The real binary, from outside.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests start the binary they test")]

mod approvals;
mod ask;
mod audit;
mod bad_input;
mod bench;
mod beside;
mod call;
mod check;
mod clean;
mod corpora;
mod demo;
mod format;
mod guarantees;
mod held;
mod idempotency;
mod import;
mod install;
mod layers;
mod links;
mod manifest;
mod network;
mod notify;
mod office;
mod pins;
mod postgres;
mod push;
mod reference;
mod replay;
mod run;
mod scan;
mod store;
mod wrap;
