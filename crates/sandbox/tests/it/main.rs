//! The sandbox on this machine, for real.

mod adapter;
mod blocked;
mod example;
mod explained;
mod gate;
mod input;
mod native;
mod protected;
mod record;
mod shared;
