//! Randomness from the operating system: for names that nobody may guess or share, and for jitter.

use std::fmt::Write as _;

/// Returns `N` random bytes.
///
/// # Errors
///
/// The operating system has none, in a sentence.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("there is no randomness: {error}"))?;
    Ok(bytes)
}

/// Returns a random name of 32 hexadecimal characters.
///
/// # Errors
///
/// The operating system has no randomness.
pub(crate) fn name() -> Result<String, String> {
    let mut name = String::with_capacity(32);
    for byte in bytes::<16>()? {
        // Writing to a string does not fail.
        let _written = write!(name, "{byte:02x}");
    }
    Ok(name)
}
