//! The lint on real programs.

mod evasion;
mod program;
mod real;
