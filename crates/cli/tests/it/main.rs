//! The real binary, from outside.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests start the binary they test")]

mod ask;
mod audit;
mod bad_input;
mod bench;
mod call;
mod check;
mod clean;
mod corpora;
mod demo;

mod layers;
mod network;
mod pins;
mod reference;
mod run;
mod scan;
