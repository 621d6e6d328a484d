//! The sandbox on this machine, for real.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod adapter;
mod example;
mod gate;
mod native;
mod record;
