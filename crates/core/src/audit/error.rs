//! Why a hash, a tree, a key, a note, a checkpoint or a proof was not accepted.

use ringfence_policy::{Code, JsonError};

/// The text or the bytes are not a hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not 32 bytes in lower-case hexadecimal or in base64")]
pub struct HashError;

/// Why a stored frontier was not accepted.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// The bytes are cut short or too many.
    #[error("{length} bytes are no frontier")]
    Bytes {
        /// How many there are.
        length: usize,
    },
    /// A tree of that size has another number of complete subtrees.
    #[error("a tree of {size} leaves has {} complete subtrees, not {nodes}", size.count_ones())]
    Shape {
        /// The leaves.
        size: u64,
        /// The hashes that were given.
        nodes: usize,
    },
    /// The size is beyond any log.
    #[error("a log of {size} records is too large")]
    Size {
        /// The leaves.
        size: u64,
    },
}

impl TreeError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Bytes { .. } | Self::Shape { .. } => Code::InputInvalid,
            Self::Size { .. } => Code::LimitExceeded,
        }
    }
}

/// Why a key was not accepted.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum KeyError {
    /// The text does not have the form of a key.
    #[error("not a key of the form `name+id+base64`")]
    Form,
    /// The identifier is not the one of that name and key.
    #[error("the key's identifier does not belong to its name and its bytes")]
    Id,
    /// Only Ed25519 is known.
    #[error("the key is not an Ed25519 key")]
    Kind,
    /// The name cannot stand in a note.
    #[error("a key's name is 1 to 255 bytes without spaces, control characters and `+`")]
    Name,
    /// The public key would accept signatures that nobody made.
    #[error("the public key is not a sound point of the curve")]
    Weak,
}

impl KeyError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Form | Self::Id | Self::Kind | Self::Name | Self::Weak => Code::InputInvalid,
        }
    }
}

/// Why a note or a checkpoint was not accepted.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoteError {
    /// The text of the note is not a checkpoint.
    #[error("the checkpoint's {part} is malformed")]
    Body {
        /// Which line.
        part: &'static str,
    },
    /// A control character, or bytes that are no text.
    #[error("the note holds something other than lines of text")]
    Characters,
    /// One key signed twice.
    #[error("the key `{name}` signs twice")]
    Duplicate {
        /// The name of the key.
        name: Box<str>,
    },
    /// A signature claims a known key and was not made with it.
    #[error("the signature of `{name}` is forged or damaged")]
    Forged {
        /// The name of the key.
        name: Box<str>,
    },
    /// Two of the keys to trust cannot be told apart, or there is none.
    #[error("a log is trusted by one or more keys of different name or identifier")]
    Keys,
    /// The note is longer than what is read.
    #[error("the note is larger than {limit} bytes")]
    Length {
        /// The limit.
        limit: usize,
    },
    /// The checkpoint is one of another log.
    #[error("the checkpoint is of another log than `{expected}`")]
    Origin {
        /// The log that was asked for.
        expected: Box<str>,
    },
    /// There is no text, no blank line after it, or no signature.
    #[error("the note is not a text, a blank line and signatures")]
    Shape,
    /// A signature line has another form.
    #[error("signature line {line} is malformed")]
    Signature {
        /// The line, from 1.
        line: usize,
    },
    /// There are more signatures than are read.
    #[error("the note has more than {limit} signatures")]
    Signatures {
        /// The limit.
        limit: usize,
    },
    /// No known key has signed it.
    #[error("no known key has signed the note")]
    Unknown,
}

impl NoteError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Body { .. }
            | Self::Characters
            | Self::Duplicate { .. }
            | Self::Forged { .. }
            | Self::Keys
            | Self::Origin { .. }
            | Self::Shape
            | Self::Signature { .. }
            | Self::Unknown => Code::InputInvalid,
            Self::Length { .. } | Self::Signatures { .. } => Code::LimitExceeded,
        }
    }
}

/// Why a proof cannot be made, was not accepted, or proves nothing.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProofError {
    /// The text of a proof file is not one.
    #[error("the proof file is malformed: {0}")]
    File(Box<str>),
    /// The record is not below the root, or the old tree is not a beginning of the new one.
    #[error("the proof does not lead to the root")]
    Mismatch,
    /// A node that the proof needs is not there.
    #[error("node {index} of level {level} is missing")]
    Node {
        /// The level, 0 for leaves.
        level: u32,
        /// The position in the level.
        index: u64,
    },
    /// The checkpoint in the file is not to be trusted.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// There is no such leaf or no such older tree.
    #[error("{part} is not within a log of {size} records")]
    Range {
        /// The leaf's index or the older size.
        part: u64,
        /// The size of the tree.
        size: u64,
    },
    /// A proof for these numbers has another length.
    #[error("the proof has {found} hashes where {expected} are needed")]
    Shape {
        /// How many it should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The checkpoint is of another size than the proof.
    #[error("the proof is for {proof} records and the checkpoint for {checkpoint}")]
    Size {
        /// The size in the proof.
        proof: u64,
        /// The size in the checkpoint.
        checkpoint: u64,
    },
    /// A file of another version.
    #[error("the proof file is not of version {known}")]
    Version {
        /// The version that is read.
        known: u64,
    },
}

impl ProofError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Note(error) => error.code(),
            Self::File(_)
            | Self::Mismatch
            | Self::Node { .. }
            | Self::Range { .. }
            | Self::Shape { .. }
            | Self::Size { .. }
            | Self::Version { .. } => Code::InputInvalid,
        }
    }
}

impl From<JsonError> for ProofError {
    fn from(error: JsonError) -> Self {
        Self::File(error.to_string().into())
    }
}

/// Why the outputs beside a record are not those that it was written with.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum OutputError {
    /// The cleaned output has another digest.
    #[error("the cleaned output is not the one that was recorded")]
    Clean,
    /// The cleaned output is not kept any more.
    #[error("the cleaned output that was recorded is gone")]
    Gone,
    /// The raw output has another digest.
    #[error("the raw output is not the one that was recorded")]
    Raw,
    /// The record does not say what its outputs were.
    #[error("the record has no readable digests of its outputs: {0}")]
    Record(Box<str>),
}

impl OutputError {
    /// Returns the stable code.
    pub const fn code(&self) -> Code {
        match self {
            Self::Clean | Self::Gone | Self::Raw | Self::Record(_) => Code::InputInvalid,
        }
    }
}
