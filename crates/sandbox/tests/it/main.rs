//! The sandbox on this machine, for real.

mod adapter;
mod example;
mod gate;
mod input;
mod native;
mod record;
mod shared;
