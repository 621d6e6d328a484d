//! The Ed25519 keys of signed notes, in the text forms of C2SP.
//!
//! INVARIANT: a [`VerifierKey`] is a sound point in its canonical encoding, and its identifier belongs to it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::error::KeyError;

/// The type byte of Ed25519.
const ED25519: u8 = 1;
/// How a signer key's text begins.
const PRIVATE: &str = "PRIVATE+KEY+";
/// The longest name in bytes.
const NAME_LIMIT: usize = 255;

/// The short identifier of a key: enough to find it, never enough to trust it.
pub(super) type KeyId = [u8; 4];

/// A public key under its name, written `name+id+base64`.
///
/// # Examples
///
/// ```
/// use ringfence::audit::VerifierKey;
///
/// let text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
/// let key: VerifierKey = text.parse()?;
/// assert_eq!(key.name(), "PeterNeumann");
/// assert_eq!(key.to_string(), text);
/// // The name is part of what the identifier vouches for.
/// assert!(text.replace("Peter", "Petra").parse::<VerifierKey>().is_err());
/// # Ok::<(), ringfence::audit::KeyError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VerifierKey {
    name: Box<str>,
    id: KeyId,
    key: VerifyingKey,
}

impl VerifierKey {
    /// Returns the name, which stands before each of the key's signatures.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the identifier.
    pub(super) const fn id(&self) -> KeyId {
        self.id
    }

    /// Says whether `signature` is this key's over `text`.
    pub(super) fn accepts(&self, text: &[u8], signature: &[u8]) -> bool {
        // The strict form also refuses what only a crafted key or a second spelling of a signature could pass.
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.key.verify_strict(text, &signature).is_ok())
    }

    /// Takes a key under a name that is already known to be one.
    fn from_checked_name(name: Box<str>, key: VerifyingKey) -> Self {
        let id = key_id(&name, key.as_bytes());
        Self { name, id, key }
    }
}

impl FromStr for VerifierKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, id, bytes) = split(text)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::Weak)?;
        if key.is_weak() || key.to_edwards().compress().to_bytes() != *bytes {
            return Err(KeyError::Weak);
        }
        let key = Self::from_checked_name(name.into(), key);
        if hexadecimal(key.id) == id { Ok(key) } else { Err(KeyError::Id) }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [ED25519; 33];
        write_key(&mut bytes, self.key.as_bytes());
        write!(f, "{}+{}+{}", self.name, hexadecimal(self.id), STANDARD.encode(bytes))
    }
}

/// A private key under its name. It is wiped from memory when dropped, and shown by nothing but
/// [`SignerKey::to_text`].
///
/// # Examples
///
/// ```
/// use ringfence::audit::SignerKey;
///
/// // Thirty-two random bytes, from whoever has a source of them.
/// let key = SignerKey::from_seed("audit.example/log", &[7; 32])?;
/// let text = key.to_text();
/// assert!(text.starts_with("PRIVATE+KEY+audit.example/log+"));
/// assert_eq!(text.parse::<SignerKey>()?.verifier(), key.verifier());
/// assert!(!format!("{key:?}").contains("Bwc")); // the seed in base64
/// # Ok::<(), ringfence::audit::KeyError>(())
/// ```
pub struct SignerKey {
    verifier: VerifierKey,
    key: SigningKey,
}

impl SignerKey {
    /// Makes the key that belongs to a seed.
    ///
    /// # Errors
    ///
    /// The name cannot stand in a note.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<Self, KeyError> {
        if !is_name(name) {
            return Err(KeyError::Name);
        }
        let key = SigningKey::from_bytes(seed);
        Ok(Self { verifier: VerifierKey::from_checked_name(name.into(), key.verifying_key()), key })
    }

    /// Returns the public half, for whoever shall check the signatures.
    pub const fn verifier(&self) -> &VerifierKey {
        &self.verifier
    }

    /// Writes the key, secret included, as `PRIVATE+KEY+name+id+base64`.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new([ED25519; 33]);
        write_key(&mut bytes, self.key.as_bytes());
        // Room for everything at once, so that no half-written copy is left behind by growing.
        let mut text = Zeroizing::new(String::with_capacity(PRIVATE.len() + self.verifier.name.len() + 64));
        text.push_str(PRIVATE);
        text.push_str(&self.verifier.name);
        text.push('+');
        text.push_str(&hexadecimal(self.verifier.id));
        text.push('+');
        STANDARD.encode_string(bytes.as_slice(), &mut text);
        text
    }

    /// Signs a text.
    pub(super) fn sign(&self, text: &[u8]) -> [u8; 64] {
        self.key.sign(text).to_bytes()
    }
}

impl FromStr for SignerKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, id, seed) = split(text.strip_prefix(PRIVATE).ok_or(KeyError::Form)?)?;
        let key = Self::from_seed(name, &seed)?;
        if hexadecimal(key.verifier.id) == id { Ok(key) } else { Err(KeyError::Id) }
    }
}

impl fmt::Debug for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignerKey").field("verifier", &self.verifier).finish_non_exhaustive()
    }
}

/// Says whether a text may name a key: not empty, not long, no space, no control character, no plus.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_LIMIT
        && !name
            .chars()
            .any(|character| character.is_whitespace() || character.is_control() || character == '+')
}

/// Takes the text of a key apart: its name, its identifier as written, its 32 bytes.
fn split(text: &str) -> Result<(&str, &str, Zeroizing<[u8; 32]>), KeyError> {
    let (name, rest) = text.split_once('+').ok_or(KeyError::Form)?;
    let (id, encoded) = rest.split_once('+').ok_or(KeyError::Form)?;
    if !is_name(name) {
        return Err(KeyError::Name);
    }
    // The decoder asks for room in whole groups of three.
    let mut decoded = Zeroizing::new([0; 36]);
    let length = STANDARD.decode_slice(encoded, decoded.as_mut_slice()).map_err(|_| KeyError::Form)?;
    let (kind, bytes) = decoded.get(..length).and_then(<[u8]>::split_first).ok_or(KeyError::Form)?;
    if *kind != ED25519 {
        return Err(KeyError::Kind);
    }
    let mut key = Zeroizing::new([0; 32]);
    if bytes.len() != key.len() {
        return Err(KeyError::Form);
    }
    key.copy_from_slice(bytes);
    Ok((name, id, key))
}

/// Writes a key behind its type byte.
fn write_key(typed: &mut [u8; 33], key: &[u8; 32]) {
    if let Some((_, place)) = typed.split_first_mut() {
        place.copy_from_slice(key);
    }
}

/// Returns the identifier of a public key under a name.
fn key_id(name: &str, key: &[u8; 32]) -> KeyId {
    let hash = Sha256::new().chain_update(name).chain_update([b'\n', ED25519]).chain_update(key).finalize();
    let [first, second, third, fourth, ..]: [u8; 32] = hash.into();
    [first, second, third, fourth]
}

/// Writes an identifier.
fn hexadecimal(id: KeyId) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const SECRET: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";

    #[test]
    fn reads_and_writes_the_published_keys() {
        let signer: SignerKey = SECRET.parse().unwrap();
        assert_eq!(signer.verifier().to_string(), PUBLIC);
        assert_eq!(PUBLIC.parse::<VerifierKey>().unwrap(), *signer.verifier());
        assert_eq!(*signer.to_text(), SECRET);
        assert!(!format!("{signer:?}").contains("AYEKFAL"));
    }

    #[test]
    fn refuses_every_part_and_every_changed_character() {
        for text in [PUBLIC, SECRET] {
            let accepted =
                |text: &str| text.parse::<VerifierKey>().is_ok() || text.parse::<SignerKey>().is_ok();
            assert!(accepted(text));
            for start in 0..text.len() {
                for end in start..=text.len() {
                    let part = text.get(start..end).unwrap();
                    assert!(part == text || !accepted(part), "{part}");
                }
            }
            for at in 0..text.len() {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] += 1;
                assert!(!accepted(&String::from_utf8(bytes).unwrap()), "{at}");
            }
        }
    }

    #[test]
    fn names_what_is_wrong() {
        let with_key = |kind: u8, key: &[u8]| {
            let mut bytes = vec![kind];
            bytes.extend(key);
            format!("name+00000000+{}", STANDARD.encode(bytes))
        };
        let identity = [1].into_iter().chain([0; 31]).collect::<Vec<u8>>();
        #[rustfmt::skip]
        let cases = [
            (String::new(),                                KeyError::Form),
            ("name+00000000".into(),                       KeyError::Form),
            (PUBLIC.replace("PeterNeumann", ""),           KeyError::Name),
            (PUBLIC.replace("PeterNeumann", "Peter N"),    KeyError::Name),
            (PUBLIC.replace("PeterNeumann", "P\u{a0}N"),   KeyError::Name),
            (PUBLIC.replace("PeterNeumann", "P\u{7f}N"),   KeyError::Name),
            (PUBLIC.replace("PeterNeumann", &"n".repeat(256)), KeyError::Name),
            (PUBLIC.replace("c74f20a3", "C74F20A3"),       KeyError::Id),
            (PUBLIC.replace("c74f20a3", "c74f20a4"),       KeyError::Id),
            (format!("{PUBLIC}\n"),                        KeyError::Form),
            (with_key(4, &[9; 32]),                        KeyError::Kind),
            (with_key(1, &[9; 31]),                        KeyError::Form),
            (with_key(1, &[9; 33]),                        KeyError::Form),
            (with_key(1, &identity),                       KeyError::Weak),
            (with_key(1, &[0xff; 4000]),                   KeyError::Form),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<VerifierKey>(), Err(error), "{text}");
        }
        // The second spellings of the points whose coordinate is below 19, some of which are sound points.
        for low in 0xed..=0xff {
            let spelling: Vec<u8> = [low].into_iter().chain([0xff; 30]).chain([0x7f]).collect();
            assert_eq!(with_key(1, &spelling).parse::<VerifierKey>(), Err(KeyError::Weak), "{low:x}");
        }
    }
}
