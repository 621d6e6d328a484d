//! Ways to hide what code does: see Cargo.toml.
#![allow(dead_code, non_snake_case, unused, clippy::all)]

pub mod alias;
pub mod clash;
pub mod closure;
pub mod dynamic;
pub mod drop;
pub mod foreign;
pub mod future;
pub mod generic;
pub mod macros;
pub mod open;
pub mod operator;
pub mod plain;
pub mod pointer;
pub mod shown;
pub mod state;
pub mod thread;
