//! Everything end to end, in one executable: `cargo test --workspace --test e2e -- matrix::` runs one part.

#![cfg(test)]

mod console;
mod container;
mod docs;
mod durable;
mod example;
mod matrix;
mod mcp;
mod runtime;
