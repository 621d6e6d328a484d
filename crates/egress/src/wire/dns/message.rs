//! The parts of a DNS message that a name server without a zone needs: the header, one question, one address record.
//!
//! A name is a sequence of labels and nothing else. A compression pointer leads to an earlier name, and the first name of
//! a message has none before it, so a pointer is refused. So are the two label types that no standard uses any more.
//!
//! INVARIANT: reading only moves forward, and a [`Name`] has at most 255 octets.

use std::net::Ipv4Addr;

/// The longest name in octets, with the length of each label and the root label (RFC 1035, 2.3.4).
const MAX_NAME: usize = 255;

/// The longest label in octets. The two high bits of a longer length mark other types of labels.
const MAX_LABEL: u8 = 63;

/// The internet class.
const IN: u16 = 1;

/// The type of a record that holds an IPv4 address.
const A: u16 = 1;

/// A compression pointer to the first octet after the header, where the name of the question begins.
const POINTER_TO_QUESTION: u16 = 0xC00C;

mod flag {
    pub(super) const RESPONSE: u16 = 0x8000;
    pub(super) const OPCODE: u16 = 0x7800;
    pub(super) const RECURSION_DESIRED: u16 = 0x0100;
    pub(super) const RECURSION_AVAILABLE: u16 = 0x0080;
    pub(super) const CHECKING_DISABLED: u16 = 0x0010;
}

/// What an answer says of its query (RFC 1035, 4.1.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ResponseCode {
    NoError,
    FormatError,
    ServerFailure,
    NoSuchName,
    NotImplemented,
    Refused,
}

impl ResponseCode {
    const fn number(self) -> u16 {
        match self {
            Self::NoError => 0,
            Self::FormatError => 1,
            Self::ServerFailure => 2,
            Self::NoSuchName => 3,
            Self::NotImplemented => 4,
            Self::Refused => 5,
        }
    }
}

/// The header of a query, without the counts of records that are not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Header {
    id: u16,
    flags: u16,
    questions: u16,
}

impl Header {
    /// Reads the header and returns it with the octets behind it.
    pub(super) fn read(message: &[u8]) -> Option<(Self, &[u8])> {
        let (id, rest) = read_u16(message)?;
        let (flags, rest) = read_u16(rest)?;
        let (questions, rest) = read_u16(rest)?;
        let (_record_counts, rest) = rest.split_at_checked(6)?;
        Some((Self { id, flags, questions }, rest))
    }

    pub(super) const fn is_response(self) -> bool {
        self.flags & flag::RESPONSE != 0
    }

    /// Tells whether the operation is the standard query.
    pub(super) const fn is_standard_query(self) -> bool {
        self.flags & flag::OPCODE == 0
    }

    pub(super) const fn questions(self) -> u16 {
        self.questions
    }

    /// Writes an answer: this header as a response, the question as it was asked, and at most one address of its name.
    pub(super) fn answer(
        self,
        code: ResponseCode,
        question: Option<&Question>,
        address: Option<(Ipv4Addr, u32)>,
    ) -> Vec<u8> {
        let kept = self.flags & (flag::OPCODE | flag::RECURSION_DESIRED | flag::CHECKING_DISABLED);
        let flags = kept | flag::RESPONSE | flag::RECURSION_AVAILABLE | code.number();
        // A record points to the name of the question, so that there is none without a question.
        let record = question.and(address);
        let mut message = Vec::with_capacity(12 + MAX_NAME + 4 + 16);
        for field in [self.id, flags, u16::from(question.is_some()), u16::from(record.is_some()), 0, 0] {
            message.extend(field.to_be_bytes());
        }
        if let Some(question) = question {
            message.extend_from_slice(&question.name.0);
            message.extend(question.kind.to_be_bytes());
            message.extend(question.class.to_be_bytes());
        }
        if let Some((address, ttl)) = record {
            for field in [POINTER_TO_QUESTION, A, IN] {
                message.extend(field.to_be_bytes());
            }
            message.extend(ttl.to_be_bytes());
            message.extend(4u16.to_be_bytes());
            message.extend(address.octets());
        }
        message
    }
}

/// A question.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Question {
    name: Name,
    kind: u16,
    class: u16,
}

impl Question {
    /// Reads the first question behind the header.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (name, rest) = Name::read(bytes)?;
        let (kind, rest) = read_u16(rest)?;
        let (class, _) = read_u16(rest)?;
        Some(Self { name, kind, class })
    }

    pub(super) const fn name(&self) -> &Name {
        &self.name
    }

    /// Tells whether IPv4 addresses are asked for.
    pub(super) const fn is_for_addresses(&self) -> bool {
        self.kind == A
    }

    pub(super) const fn is_internet(&self) -> bool {
        self.class == IN
    }
}

/// A name as it stood in the message: every label behind its length, then the empty root label.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Name(Box<[u8]>);

impl Name {
    /// Reads a name and returns it with the octets behind it.
    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = bytes;
        loop {
            let (&length, behind) = rest.split_first()?;
            if length > MAX_LABEL {
                return None;
            }
            rest = behind.get(usize::from(length)..)?;
            let read = bytes.len().checked_sub(rest.len())?;
            if read > MAX_NAME {
                return None;
            }
            if length == 0 {
                return Some((Self(bytes.get(..read)?.into()), rest));
            }
        }
    }

    /// Returns the labels without the root.
    pub(super) fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (&length, behind) = rest.split_first()?;
            let (label, behind) = behind.split_at_checked(usize::from(length))?;
            rest = behind;
            (length > 0).then_some(label)
        })
    }
}

fn read_u16(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (field, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*field), rest))
}
