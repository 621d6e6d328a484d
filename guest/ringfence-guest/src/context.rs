//! Who calls, and what a call is to be recognised by.

#[cfg(target_family = "wasm")]
use crate::bindings::ringfence::tool::call_context as host;
#[cfg(not(target_family = "wasm"))]
use crate::outside::context as host;

/// Returns the run that the call belongs to.
pub fn run() -> String {
    host::run()
}

/// Returns the key that the call is recognised by when it comes again, where it has one.
///
/// A tool passes it on to whatever it changes, so that a second attempt changes nothing twice.
pub fn idempotency_key() -> Option<String> {
    host::idempotency_key()
}
