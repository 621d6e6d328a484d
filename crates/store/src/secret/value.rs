//! From bytes to a secret.
//!
//! INVARIANT: nothing here copies a value but into the [`Secret`] itself, which wipes it.

use ringfence::{Secret, SecretError};

/// Reads a value that is kept exactly.
pub(super) fn exact(bytes: &[u8]) -> Result<Secret, SecretError> {
    let text = std::str::from_utf8(bytes).map_err(|_| SecretError::new("the value is not UTF-8 text"))?;
    if text.is_empty() {
        return Err(SecretError::new("the value is empty"));
    }
    Ok(Secret::new(text.to_owned()))
}

/// Reads a value that an editor or `echo` may have ended with a newline: one is removed.
pub(super) fn line(bytes: &[u8]) -> Result<Secret, SecretError> {
    let text = match bytes.strip_suffix(b"\n") {
        Some(text) => text.strip_suffix(b"\r").unwrap_or(text),
        None => bytes,
    };
    exact(text)
}
