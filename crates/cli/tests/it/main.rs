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
mod completions;
mod corpora;
mod demo;
mod doctor;
mod examples;
mod explain;
mod foreign;
mod format;
mod guarantees;
mod held;
mod hints;
mod idempotency;
mod import;
mod init;
mod install;
mod layers;
mod learn;
mod links;
mod machine;
mod manifest;
mod network;
mod notify;
mod office;
mod packages;
mod pins;
mod policy_race;
mod postgres;
mod promise;
mod push;
mod reference;
mod replay;
mod run;
mod scan;
mod schema;
mod start_race;
mod store;
mod supervise;
mod terminal;
mod workflow;
mod wrap;
mod wrapped;
