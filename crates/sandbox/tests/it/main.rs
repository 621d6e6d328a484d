//! The sandbox on this machine, for real.

mod adapter;
mod example;
mod explained;
mod gate;
mod native;
mod record;
