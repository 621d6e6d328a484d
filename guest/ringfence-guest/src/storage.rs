//! Keys and values in the one namespace that was declared.

use std::time::Duration;

#[cfg(target_family = "wasm")]
use crate::bindings::ringfence::tool::storage as host;
#[cfg(not(target_family = "wasm"))]
use crate::outside::storage as host;

use crate::Refusal;

/// Returns a value; nothing where there is none or it has expired.
///
/// # Errors
///
/// Storage that was not declared or not granted, and a store that does not answer.
pub fn get(key: &str) -> Result<Option<String>, Refusal> {
    host::get(key).map_err(Refusal::new)
}

/// Stores a value for the declared time.
///
/// # Errors
///
/// As for [`get`], and a value that is too large.
pub fn set(key: &str, value: &str) -> Result<(), Refusal> {
    host::set(key, value, None).map_err(Refusal::new)
}

/// Stores a value for a time, counted in whole seconds and at least one.
///
/// # Errors
///
/// As for [`set`].
pub fn set_for(key: &str, value: &str, time: Duration) -> Result<(), Refusal> {
    host::set(key, value, Some(time.as_secs().max(1))).map_err(Refusal::new)
}

/// Removes a key; nothing happens when it is not there.
///
/// # Errors
///
/// As for [`get`].
pub fn delete(key: &str) -> Result<(), Refusal> {
    host::delete(key).map_err(Refusal::new)
}

/// Returns the keys that start with a prefix, sorted.
///
/// # Errors
///
/// As for [`get`].
pub fn list(prefix: &str) -> Result<Vec<String>, Refusal> {
    host::list(prefix).map_err(Refusal::new)
}
