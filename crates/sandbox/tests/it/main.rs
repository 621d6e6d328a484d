//! The sandbox on this machine, for real.

mod native;
