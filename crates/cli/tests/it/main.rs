//! The real binary, from outside.

#![cfg(test)]

mod ask;
mod bad_input;
mod bench;
mod call;
mod check;
mod corpora;
mod demo;
mod help;
mod layers;
