//! The names of people who may decide, and the tokens that prove them.
//!
//! INVARIANT: a token is shown once, to whoever made it; a store keeps its hash. It has 256 random bits, so that the hash
//! needs no salt and no slowness.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::digest::hex;
use crate::random;

/// What every token starts with, so that scanners know it.
const PREFIX: &str = "rfa_";

/// The name of a person who may decide: 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`, `+` and `@`. One spelling each, so that two
/// names are two people.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApproverName(String);

/// A name that cannot be one.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the name of an approver has 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`, `+` and `@`")]
pub struct ApproverNameError;

impl ApproverName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ApproverName {
    type Err = ApproverNameError;

    fn from_str(name: &str) -> Result<Self, ApproverNameError> {
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'+' | b'@');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            return Err(ApproverNameError);
        }
        Ok(Self(name.to_owned()))
    }
}

impl TryFrom<String> for ApproverName {
    type Error = ApproverNameError;

    fn try_from(name: String) -> Result<Self, ApproverNameError> {
        name.parse()
    }
}

impl From<ApproverName> for String {
    fn from(name: ApproverName) -> Self {
        name.0
    }
}

impl fmt::Display for ApproverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The hash of a token.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A token. It is wiped from memory when dropped, and never shown by accident.
pub struct ApproverToken(Zeroizing<String>);

impl ApproverToken {
    /// Makes a new token.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub fn generate() -> Result<Self, String> {
        let bytes = Zeroizing::new(random::bytes::<32>()?);
        Ok(Self(Zeroizing::new(format!("{PREFIX}{}", *Zeroizing::new(hex(&*bytes))))))
    }

    /// Takes what a person typed or kept in a file. Whether it is anybody's token is for the store to say.
    pub fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.trim().to_owned()))
    }

    /// Returns the token, for the person who is to keep it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the hash that a store keeps.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for ApproverToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApproverToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_hide() {
        let (one, other) = (ApproverToken::generate().unwrap(), ApproverToken::generate().unwrap());
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.expose().len(), 68);
        assert_eq!(ApproverToken::new(&format!(" {}\n", one.expose())).hash(), one.hash());
        assert_eq!(format!("{one:?}"), "ApproverToken");
        let cleaned = ringfence_text::clean(one.expose()).text;
        assert!(
            !cleaned.contains(one.expose()),
            "an output of a tool does not hand it to a model: {cleaned}"
        );
    }

    #[test]
    fn two_names_are_two_people() {
        for (name, fits) in [
            ("ada", true),
            ("ada.l+ops@example.org", true),
            ("", false),
            ("Ada", false),
            ("ada ", false),
            ("adа", false),
        ] {
            assert_eq!(name.parse::<ApproverName>().is_ok(), fits, "{name:?}");
        }
        assert!("a".repeat(65).parse::<ApproverName>().is_err());
    }
}
