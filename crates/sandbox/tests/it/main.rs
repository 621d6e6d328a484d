//! The sandbox on this machine, for real.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod gate;
mod native;
