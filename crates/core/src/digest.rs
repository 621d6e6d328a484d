//! SHA-256 over canonical JSON (RFC 8785), so that equal things have equal digests wherever they are computed.

use ringfence_policy::{Declaration, Personality};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Returns the digest of a value in hexadecimal.
///
/// # Errors
///
/// The value has no canonical form, such as an integer that a double cannot hold exactly.
pub(crate) fn digest(value: &impl Serialize) -> Result<String, String> {
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    exact(&value)?;
    let bytes = serde_json_canonicalizer::to_vec(&value).map_err(|error| error.to_string())?;
    Ok(hex(&Sha256::digest(&bytes)))
}

/// Writes bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the digest of a tool's whole definition: what is listed, audited, approved and pinned.
///
/// # Errors
///
/// The definition has no canonical form.
pub fn definition_digest(declaration: &Declaration) -> Result<String, String> {
    digest(declaration)
}

/// Returns the digest of a personality, as records of calls name it. Its variables are expanded, as they were for the call.
///
/// # Errors
///
/// The personality has no canonical form.
pub fn personality_digest(personality: &Personality) -> Result<String, String> {
    digest(personality)
}

/// Returns the digest of any JSON value: what a server sent is pinned by it.
///
/// # Errors
///
/// The value has no canonical form.
pub fn json_digest(value: &serde_json::Value) -> Result<String, String> {
    digest(value)
}

/// Canonical JSON writes numbers as doubles, so that 2^53 and 2^53 + 1 would share a digest.
fn exact(value: &serde_json::Value) -> Result<(), String> {
    const LARGEST: u64 = (1 << 53) - 1;
    match value {
        serde_json::Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            match size {
                Some(size) if size > LARGEST => {
                    Err(format!("integer {number} is beyond ±(2^53−1) and has no canonical form"))
                }
                _ => Ok(()),
            }
        }
        serde_json::Value::Array(list) => list.iter().try_for_each(exact),
        serde_json::Value::Object(map) => map.values().try_for_each(exact),
        serde_json::Value::Bool(_) | serde_json::Value::Null | serde_json::Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ignores_order_and_tells_values_apart() {
        assert_eq!(digest(&json!({"a": 1, "b": 2})), digest(&json!({"b": 2, "a": 1})));
        assert_ne!(digest(&json!({"a": 1})), digest(&json!({"a": "1"})));
        assert!(digest(&json!({"a": 9_007_199_254_740_993_u64})).is_err());
        assert!(digest(&json!([-9_007_199_254_740_992_i64])).is_err());
        assert_eq!(digest(&json!({})).unwrap().len(), 64);
    }
}
