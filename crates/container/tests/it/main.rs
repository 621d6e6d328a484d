//! An engine that says what a test wants: what is refused, in which words, and what is asked for.

#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "a test needs someone to talk to, and folders to grant")]

mod body;
mod fake;
mod inside;
mod refusal;
mod thread;
mod trouble;
