//! Canonical JSON (RFC 8785) and digests over it, so that equal things have equal digests wherever they are computed.
//!
//! INVARIANT: what has a canonical form holds no integer beyond ±(2^53−1), since two of those would share it.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::ManifestError;

/// The largest integer that canonical JSON tells apart from its neighbours.
const LARGEST: u64 = (1 << 53) - 1;

/// Returns the digest of a value in hexadecimal.
pub(super) fn digest(value: &impl Serialize) -> Result<String, ManifestError> {
    let bytes = canonical(value)?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the value as it is read back from its canonical form: keys sorted, numbers in their one spelling.
pub(super) fn normal(value: &impl Serialize) -> Result<Value, ManifestError> {
    serde_json::from_slice(&canonical(value)?).map_err(|error| ManifestError::unwritable(&error))
}

fn canonical(value: &impl Serialize) -> Result<Vec<u8>, ManifestError> {
    let value = serde_json::to_value(value).map_err(|error| ManifestError::unwritable(&error))?;
    check(&value)?;
    serde_json_canonicalizer::to_vec(&value).map_err(|error| ManifestError::unwritable(&error))
}

fn check(value: &Value) -> Result<(), ManifestError> {
    match value {
        Value::Array(list) => list.iter().try_for_each(check),
        Value::Bool(_) | Value::Null | Value::String(_) => Ok(()),
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            match size {
                Some(size) if size > LARGEST => Err(ManifestError::Integer { number: number.to_string() }),
                _ => Ok(()),
            }
        }
        Value::Object(map) => map.values().try_for_each(check),
    }
}

/// Writes a value over several lines, with what stands under `compact` keys on one line each.
pub(super) fn pretty(value: &Value, compact: &[&str]) -> String {
    let mut text = String::new();
    write(value, 0, compact, &mut text);
    text.push('\n');
    text
}

fn write(value: &Value, depth: usize, compact: &[&str], text: &mut String) {
    match value {
        Value::Array(list) if list.iter().any(|item| item.is_array() || item.is_object()) => {
            block(text, depth, ['[', ']'], list.iter(), |item, text| write(item, depth + 1, compact, text));
        }
        Value::Object(map) if !map.is_empty() => fields(map, depth, compact, text),
        flat => text.push_str(&flat.to_string()),
    }
}

fn fields(map: &Map<String, Value>, depth: usize, compact: &[&str], text: &mut String) {
    block(text, depth, ['{', '}'], map.iter(), |(key, value), text| {
        text.push_str(&format!("{}: ", Value::from(key.as_str())));
        if compact.contains(&key.as_str()) {
            text.push_str(&value.to_string());
        } else {
            write(value, depth + 1, compact, text);
        }
    });
}

fn block<T>(
    text: &mut String,
    depth: usize,
    [open, close]: [char; 2],
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(T, &mut String),
) {
    text.push(open);
    for (index, item) in items.enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(depth + 1));
        each(item, text);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(depth));
    text.push(close);
}
