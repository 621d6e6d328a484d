//! The sandbox on this machine, for real.

mod adapter;
mod example;
mod gate;
mod native;
mod protected;
mod record;
