//! SHA-256 as the trees of RFC 6962 and RFC 9162 use it: a leaf and an inner node can never have the same preimage.
//!
//! INVARIANT: each hash has one spelling in hexadecimal and one in base64, and no other spelling is read.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::error::HashError;

/// A SHA-256 hash. It is shown in hexadecimal, and in JSON and in checkpoints it is base64.
///
/// # Examples
///
/// ```
/// use ringfence::audit::Hash;
///
/// let leaf = Hash::leaf(b"");
/// assert_eq!(leaf.to_string(), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
/// assert_eq!(leaf.to_base64().parse(), Ok(leaf));
/// assert_ne!(leaf, Hash::of(b"")); // the hash of a leaf is not the hash of its bytes
/// ```
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Takes a hash that was computed elsewhere.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the hash of plain bytes, which stands nowhere in a tree.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the hash of one record.
    pub fn leaf(record: &[u8]) -> Self {
        Self(Sha256::new().chain_update([0]).chain_update(record).finalize().into())
    }

    /// Returns the hash of an inner node.
    #[must_use]
    pub fn node(left: Self, right: Self) -> Self {
        Self(Sha256::new().chain_update([1]).chain_update(left.0).chain_update(right.0).finalize().into())
    }

    /// Returns the root of a tree without leaves.
    pub fn empty_root() -> Self {
        Self::of(b"")
    }

    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Writes the hash in base64, as checkpoints and proofs have it.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Reads a hash in base64.
    ///
    /// # Errors
    ///
    /// The text is not the one spelling of 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, HashError> {
        let bytes = STANDARD.decode(text).map_err(|_| HashError)?;
        Self::try_from(bytes.as_slice())
    }

    /// Reads a hash in lower-case hexadecimal.
    fn from_hexadecimal(text: &str) -> Result<Self, HashError> {
        let mut bytes = [0; 32];
        let mut digits = text.bytes().map(nibble);
        for byte in &mut bytes {
            let (Some(Some(high)), Some(Some(low))) = (digits.next(), digits.next()) else {
                return Err(HashError);
            };
            *byte = high << 4 | low;
        }
        if digits.next().is_some() { Err(HashError) } else { Ok(Self(bytes)) }
    }
}

/// Returns the value of a lower-case hexadecimal digit.
const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl TryFrom<&[u8]> for Hash {
    type Error = HashError;

    fn try_from(bytes: &[u8]) -> Result<Self, HashError> {
        bytes.try_into().map(Self).map_err(|_| HashError)
    }
}

impl FromStr for Hash {
    type Err = HashError;

    /// Reads 64 hexadecimal digits or 44 characters of base64; the length tells which.
    fn from_str(text: &str) -> Result<Self, HashError> {
        if text.len() == 64 { Self::from_hexadecimal(text) } else { Self::from_base64(text) }
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_base64(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_spelling_only() {
        let hash = Hash::empty_root();
        let hexadecimal = hash.to_string();
        let base64 = hash.to_base64();
        assert_eq!(hexadecimal.parse(), Ok(hash));
        assert_eq!(base64.parse(), Ok(hash));
        assert_eq!(base64, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        for bad in [
            String::new(),
            hexadecimal.to_uppercase(),
            format!("{hexadecimal}0"),
            hexadecimal.replace('e', "g"),
            "é".repeat(32),
            base64.trim_end_matches('=').to_owned(),
            format!("{base64}="),
            base64.replace("FU=", "FV="),
            base64.replace('+', "-").replace('/', "_"),
            format!("{base64}\n"),
        ] {
            assert_eq!(bad.parse::<Hash>(), Err(HashError), "{bad}");
        }
        assert_eq!(Hash::try_from([0; 31].as_slice()), Err(HashError));
    }
}
