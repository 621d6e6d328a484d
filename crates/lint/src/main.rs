//! The `ringfence-lint` command.

fn main() {}
