//! Checkpoints: what a log commits to, in the note body of C2SP, and whom to believe about it.
//!
//! INVARIANT: a [`Checkpoint`] has one spelling; its size is at most [`MAX_SIZE`], and without records its root is the
//! empty root.

use std::fmt;

use super::error::NoteError;
use super::hash::Hash;
use super::key::{SignerKey, VerifierKey};
use super::note::Note;
use super::tree::{Frontier, MAX_SIZE};

/// The size and the root of one log at one time.
///
/// # Examples
///
/// ```
/// use ringfence::audit::{Checkpoint, Frontier, Hash, SignerKey, TrustedLog};
///
/// let key = SignerKey::from_seed("audit.example/log", &[7; 32])?;
/// let mut frontier = Frontier::new();
/// frontier.append(Hash::leaf(b"a record"));
/// let checkpoint = Checkpoint::new("audit.example/log", &frontier)?;
/// let written = checkpoint.sign(&key)?.to_string();
///
/// let log = TrustedLog::new("audit.example/log", [key.verifier().clone()])?;
/// assert_eq!(log.open(&written.parse()?)?, checkpoint);
/// assert!(log.open(&written.replace("\n1\n", "\n2\n").parse()?).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checkpoint {
    origin: Box<str>,
    size: u64,
    root: Hash,
    extensions: Vec<Box<str>>,
}

impl Checkpoint {
    /// States where a log stands.
    ///
    /// # Errors
    ///
    /// The origin is empty or more than one line.
    pub fn new(origin: &str, frontier: &Frontier) -> Result<Self, NoteError> {
        if !is_line(origin) {
            return Err(NoteError::Body { part: "origin" });
        }
        Ok(Self {
            origin: origin.into(),
            size: frontier.size(),
            root: frontier.root(),
            extensions: Vec::new(),
        })
    }

    /// Adds a line that the log signs along and that means nothing to the tree.
    ///
    /// # Errors
    ///
    /// It is empty or more than one line.
    pub fn extend(mut self, line: &str) -> Result<Self, NoteError> {
        if !is_line(line) {
            return Err(NoteError::Body { part: "extension" });
        }
        self.extensions.push(line.into());
        Ok(self)
    }

    /// Returns the name of the log.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the number of records.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the root over these records.
    pub const fn root(&self) -> Hash {
        self.root
    }

    /// Returns the further lines.
    pub fn extensions(&self) -> impl Iterator<Item = &str> {
        self.extensions.iter().map(AsRef::as_ref)
    }

    /// Signs the checkpoint.
    ///
    /// # Errors
    ///
    /// The lines together are longer than a note may be.
    pub fn sign(&self, key: &SignerKey) -> Result<Note, NoteError> {
        Note::sign(&self.to_string(), key)
    }

    /// Reads the text of a note whose signature has been checked.
    fn parse(text: &str) -> Result<Self, NoteError> {
        let malformed = |part| NoteError::Body { part };
        let mut lines = text.strip_suffix('\n').ok_or(malformed("end"))?.split('\n');
        let mut next = |part| lines.next().filter(|line| is_line(line)).ok_or(malformed(part));
        let origin = next("origin")?.into();
        let size = next("size").and_then(|line| decimal(line).ok_or(malformed("size")))?;
        let root = next("root").and_then(|line| Hash::from_base64(line).map_err(|_| malformed("root")))?;
        if size == 0 && root != Hash::empty_root() {
            return Err(malformed("root"));
        }
        let extensions = lines
            .map(|line| if is_line(line) { Ok(line.into()) } else { Err(malformed("extension")) })
            .collect::<Result<_, _>>()?;
        Ok(Self { origin, size, root, extensions })
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, self.root.to_base64())?;
        self.extensions.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// A log by name, and the keys whose signature makes a checkpoint of it believable.
///
/// Several keys are for a log that changed its key. The key of a mere witness does not belong here: each key alone
/// is believed.
#[derive(Clone, Debug)]
pub struct TrustedLog {
    origin: Box<str>,
    keys: Vec<VerifierKey>,
}

impl TrustedLog {
    /// Names the log and its keys.
    ///
    /// # Errors
    ///
    /// The origin is empty or more than one line, there is no key, or two keys have the same name and identifier.
    pub fn new(origin: &str, keys: impl IntoIterator<Item = VerifierKey>) -> Result<Self, NoteError> {
        if !is_line(origin) {
            return Err(NoteError::Body { part: "origin" });
        }
        let mut known: Vec<VerifierKey> = Vec::new();
        for key in keys {
            if known.iter().any(|other| other.name() == key.name() && other.id() == key.id()) {
                return Err(NoteError::Keys);
            }
            known.push(key);
        }
        if known.is_empty() {
            return Err(NoteError::Keys);
        }
        Ok(Self { origin: origin.into(), keys: known })
    }

    /// Returns the checkpoint in a note.
    ///
    /// # Errors
    ///
    /// None of the log's keys has signed the note, a signature is forged, the text is not a checkpoint, or it is a
    /// checkpoint of another log.
    pub fn open(&self, note: &Note) -> Result<Checkpoint, NoteError> {
        let checkpoint = Checkpoint::parse(note.verify(&self.keys)?)?;
        if checkpoint.origin == self.origin {
            Ok(checkpoint)
        } else {
            Err(NoteError::Origin { expected: self.origin.clone() })
        }
    }
}

/// Says whether a text is one line that a note can hold.
fn is_line(text: &str) -> bool {
    !text.is_empty() && !text.bytes().any(|byte| byte < b' ')
}

/// Reads a size in its one spelling.
fn decimal(text: &str) -> Option<u64> {
    let size = text.parse::<u64>().ok().filter(|&size| size <= MAX_SIZE)?;
    (size.to_string() == text).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";

    fn key() -> SignerKey {
        SignerKey::from_seed("example.com/behind-the-sofa", &[7; 32]).unwrap()
    }

    fn log() -> TrustedLog {
        TrustedLog::new("example.com/behind-the-sofa", [key().verifier().clone()]).unwrap()
    }

    #[test]
    fn reads_and_writes_the_body_of_the_specification() {
        let text = format!("example.com/behind-the-sofa\n20852163\n{ROOT}\n");
        let checkpoint = log().open(&Note::sign(&text, &key()).unwrap()).unwrap();
        assert_eq!(checkpoint.size(), 20_852_163);
        assert_eq!(checkpoint.root().to_base64(), ROOT);
        assert_eq!(checkpoint.to_string(), text);

        let extended = checkpoint.extend("one more").unwrap();
        let opened = log().open(&extended.sign(&key()).unwrap()).unwrap();
        assert_eq!(opened.extensions().collect::<Vec<_>>(), ["one more"]);
        assert!(extended.clone().extend("").is_err());
        assert!(extended.extend("a\nb").is_err());
    }

    #[test]
    fn refuses_other_bodies_even_when_signed() {
        let empty = Hash::empty_root().to_base64();
        let origin = "example.com/behind-the-sofa";
        #[rustfmt::skip]
        let cases = [
            (format!("{origin}\n0\n{empty}\n"),                  None),
            (format!("{origin}\n4611686018427387904\n{ROOT}\n"), None),
            ("\n".into(),                                        Some("origin")),
            (format!("\n1\n{ROOT}\n"),                           Some("origin")),
            (format!("{origin}\n"),                              Some("size")),
            (format!("{origin}\n\n{ROOT}\n"),                    Some("size")),
            (format!("{origin}\n+1\n{ROOT}\n"),                  Some("size")),
            (format!("{origin}\n01\n{ROOT}\n"),                  Some("size")),
            (format!("{origin}\n-0\n{ROOT}\n"),                  Some("size")),
            (format!("{origin}\n 1\n{ROOT}\n"),                  Some("size")),
            (format!("{origin}\n1 \n{ROOT}\n"),                  Some("size")),
            (format!("{origin}\n4611686018427387905\n{ROOT}\n"), Some("size")),
            (format!("{origin}\n99999999999999999999\n{ROOT}\n"), Some("size")),
            (format!("{origin}\n1\n"),                           Some("root")),
            (format!("{origin}\n1\n{}\n", ROOT.replace('=', "")), Some("root")),
            (format!("{origin}\n1\n{}\n", Hash::of(b"")),        Some("root")),
            (format!("{origin}\n0\n{ROOT}\n"),                   Some("root")),
            (format!("{origin}\n1\n{ROOT}\n\n"),                 Some("extension")),
            (format!("{origin}\n1\n{ROOT}\n\nlate\n"),           Some("extension")),
        ];
        for (text, part) in cases {
            let opened = log().open(&Note::sign(&text, &key()).unwrap());
            assert_eq!(opened.err(), part.map(|part| NoteError::Body { part }), "{text:?}");
        }
    }

    #[test]
    fn believes_only_its_own_log_and_keys() {
        let stranger = SignerKey::from_seed("example.com/behind-the-sofa", &[8; 32]).unwrap();
        let ours = Checkpoint::new("example.com/behind-the-sofa", &Frontier::new()).unwrap();
        let other = Checkpoint::new("example.com/behind-the-sof", &Frontier::new()).unwrap();
        assert_eq!(log().open(&ours.sign(&key()).unwrap()), Ok(ours.clone()));
        assert_eq!(log().open(&ours.sign(&stranger).unwrap()), Err(NoteError::Unknown));
        assert!(matches!(log().open(&other.sign(&key()).unwrap()), Err(NoteError::Origin { .. })));
        assert_eq!(log().open(&ours.sign(&stranger).unwrap().cosign(&key()).unwrap()), Ok(ours));

        assert!(matches!(TrustedLog::new("log", []), Err(NoteError::Keys)));
        let twice = [key().verifier().clone(), key().verifier().clone()];
        assert!(matches!(TrustedLog::new("log", twice), Err(NoteError::Keys)));
        assert!(TrustedLog::new("two\nlines", [key().verifier().clone()]).is_err());
    }
}
