//! Secrets that were declared and granted, by exact name.

#[cfg(target_family = "wasm")]
use crate::bindings::ringfence::tool::secrets as host;
#[cfg(not(target_family = "wasm"))]
use crate::outside::secrets as host;

use crate::Refusal;

/// Returns the value of a secret.
///
/// # Errors
///
/// A secret that was not declared, is not permitted or has no value. The host does not say which others exist.
pub fn get(name: &str) -> Result<String, Refusal> {
    host::get(name).map_err(Refusal::new)
}
