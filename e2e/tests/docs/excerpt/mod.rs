//! The Rust of the pages, as programs that run.

mod readme;
mod several_machines;
mod write_a_tool;
