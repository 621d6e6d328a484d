//! The sandbox on this machine, for real.

mod adapter;
mod example;
mod gate;
mod input;
mod native;
mod protected;
mod record;
mod shared;
