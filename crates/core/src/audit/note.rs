//! Signed notes in the form of C2SP: a text, a blank line, and one line for each signature.
//!
//! A note can be shown and signed, but its text is not to be had before a known key has vouched for it.
//!
//! INVARIANT: a [`Note`] is lines of text without control characters and has at least one signature, no two of them
//! by the same key. Writing it and reading it back gives the same note.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::NoteError;
use super::key::{KeyId, SignerKey, VerifierKey, is_name};

/// The largest note in bytes.
const LENGTH_LIMIT: usize = 256 << 10;
/// The most signatures of a note.
const SIGNATURE_LIMIT: usize = 64;

/// A note that nobody has vouched for yet.
///
/// # Examples
///
/// ```
/// use ringfence::audit::{Note, SignerKey};
///
/// let key = SignerKey::from_seed("audit.example/log", &[7; 32])?;
/// let stranger = SignerKey::from_seed("stranger.example", &[8; 32])?;
///
/// let written = Note::sign("two lines\nof text\n", &key)?.to_string();
/// let note: Note = written.parse()?;
/// assert_eq!(note.verify([key.verifier()])?, "two lines\nof text\n");
/// assert!(note.verify([stranger.verifier()]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Note {
    text: Box<str>,
    signatures: Vec<NoteSignature>,
}

/// One line below the text.
#[derive(Clone, Debug, Eq, PartialEq)]
struct NoteSignature {
    name: Box<str>,
    id: KeyId,
    bytes: Vec<u8>,
}

impl Note {
    /// Signs a text, which ends with a newline.
    ///
    /// # Errors
    ///
    /// The text is empty, too long, does not end with a newline, or holds a control character.
    pub fn sign(text: &str, key: &SignerKey) -> Result<Self, NoteError> {
        check_characters(text)?;
        if !text.ends_with('\n') {
            return Err(NoteError::Shape);
        }
        Self { text: text.into(), signatures: Vec::new() }.cosign(key)
    }

    /// Adds the signature of one more key.
    ///
    /// # Errors
    ///
    /// The key has signed already, or there are too many signatures.
    pub fn cosign(mut self, key: &SignerKey) -> Result<Self, NoteError> {
        self.push(NoteSignature {
            name: key.verifier().name().into(),
            id: key.verifier().id(),
            bytes: key.sign(self.text.as_bytes()).to_vec(),
        })?;
        if self.to_string().len() > LENGTH_LIMIT {
            return Err(NoteError::Length { limit: LENGTH_LIMIT });
        }
        Ok(self)
    }

    /// Reads a note from bytes that may be anything.
    ///
    /// # Errors
    ///
    /// The bytes are not exactly one note.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NoteError> {
        std::str::from_utf8(bytes).map_err(|_| NoteError::Characters)?.parse()
    }

    /// Returns the text, when one of `keys` has signed it.
    ///
    /// Signatures by other keys are ignored, whatever they are.
    ///
    /// # Errors
    ///
    /// No known key has signed it, or a signature in the name of a known key is not by that key.
    pub fn verify<'k>(&self, keys: impl IntoIterator<Item = &'k VerifierKey>) -> Result<&str, NoteError> {
        let mut vouched = false;
        for key in keys {
            for signature in self.signatures.iter().filter(|signature| signature.is_by(key)) {
                if !key.accepts(self.text.as_bytes(), &signature.bytes) {
                    return Err(NoteError::Forged { name: key.name().into() });
                }
                vouched = true;
            }
        }
        if vouched { Ok(&self.text) } else { Err(NoteError::Unknown) }
    }

    /// Adds a signature, unless that key has one already.
    fn push(&mut self, signature: NoteSignature) -> Result<(), NoteError> {
        if self.signatures.len() >= SIGNATURE_LIMIT {
            return Err(NoteError::Signatures { limit: SIGNATURE_LIMIT });
        }
        if self.signatures.iter().any(|other| other.name == signature.name && other.id == signature.id) {
            return Err(NoteError::Duplicate { name: signature.name });
        }
        self.signatures.push(signature);
        Ok(())
    }
}

impl NoteSignature {
    /// Says whether the signature claims to be by that key.
    fn is_by(&self, key: &VerifierKey) -> bool {
        *self.name == *key.name() && self.id == key.id()
    }

    /// Reads one line without its newline.
    fn parse(line: &str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix("— ")?.split_once(' ')?;
        let decoded = STANDARD.decode(encoded).ok()?;
        let (id, bytes) = decoded.split_first_chunk::<4>()?;
        let whole = is_name(name) && !bytes.is_empty();
        whole.then(|| Self { name: name.into(), id: *id, bytes: bytes.to_vec() })
    }
}

impl FromStr for Note {
    type Err = NoteError;

    fn from_str(written: &str) -> Result<Self, NoteError> {
        check_characters(written)?;
        // A signature line is never empty, so the last blank line is the one that ends the text.
        let (text, signatures) = written.rsplit_once("\n\n").ok_or(NoteError::Shape)?;
        let signatures = signatures.strip_suffix('\n').ok_or(NoteError::Shape)?;
        let mut note = Self { text: format!("{text}\n").into(), signatures: Vec::new() };
        for (at, line) in signatures.split('\n').enumerate() {
            note.push(NoteSignature::parse(line).ok_or(NoteError::Signature { line: at + 1 })?)?;
        }
        Ok(note)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| {
            let bytes: Vec<u8> = signature.id.iter().chain(&signature.bytes).copied().collect();
            writeln!(f, "— {} {}", signature.name, STANDARD.encode(bytes))
        })
    }
}

/// Refuses a text that is too long or holds a control character other than a newline.
fn check_characters(text: &str) -> Result<(), NoteError> {
    if text.len() > LENGTH_LIMIT {
        return Err(NoteError::Length { limit: LENGTH_LIMIT });
    }
    if text.bytes().any(|byte| byte < b' ' && byte != b'\n') {
        return Err(NoteError::Characters);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
