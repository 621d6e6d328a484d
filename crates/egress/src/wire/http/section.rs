//! The lines up to an empty one: the head of a request, or the trailer of a chunked body.
//!
//! INVARIANT: a complete section has no control bytes but the CRLF at the end of each line, and no line that
//! continues the one before, so that every reader cuts it into the same lines. Each byte is looked at once.

use super::{HttpFault, LONGEST_HEAD};

/// How many bytes the trailer of a chunked body may have.
const LONGEST_TRAILER: usize = 8 * 1024;

/// A section of which some bytes may have come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    kind: Kind,
    place: Place,
    seen: usize,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Head,
    Trailer,
}

/// What the last byte was.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The carriage return behind the text of a line.
    EndOfLine,
    /// The carriage return of the empty line.
    EndOfSection,
    /// The beginning of the section; there was none.
    First,
    /// The end of a line.
    Line,
    /// Part of a line.
    Text,
}

impl Section {
    /// Starts a section that has a first line.
    pub(super) const fn head() -> Self {
        Self { kind: Kind::Head, place: Place::First, seen: 0 }
    }

    /// Starts a section that may be empty.
    pub(super) const fn trailer() -> Self {
        Self { kind: Kind::Trailer, place: Place::Line, seen: 0 }
    }

    /// Tells whether some of it has come.
    pub(super) const fn has_begun(&self) -> bool {
        self.seen > 0
    }

    /// Looks at the bytes that came since the last time, and returns the section once it is complete.
    pub(super) fn complete<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<&'a [u8]>, HttpFault> {
        let (limit, fault) = match self.kind {
            Kind::Head => (LONGEST_HEAD, HttpFault::HeadLong),
            Kind::Trailer => (LONGEST_TRAILER, HttpFault::TrailerLong),
        };
        for &byte in bytes.iter().take(limit).skip(self.seen) {
            self.seen = self.seen.saturating_add(1);
            self.place = match (self.place, byte) {
                (Place::EndOfSection, b'\n') => return Ok(bytes.get(..self.seen)),
                (Place::EndOfLine, b'\n') => Place::Line,
                (Place::EndOfLine | Place::EndOfSection, _) | (_, b'\n') => return Err(HttpFault::LineEnd),
                (Place::First, b'\r') => return Err(HttpFault::EmptyLine),
                (Place::First, b' ') => return Err(HttpFault::RequestLine),
                (Place::Line, b'\r') => Place::EndOfSection,
                (Place::Line, b' ' | b'\t') => return Err(HttpFault::Fold),
                (Place::Text, b'\r') => Place::EndOfLine,
                (_, found @ (..=0x1F | 0x7F)) => return Err(HttpFault::Byte { found }),
                (Place::First | Place::Line | Place::Text, _) => Place::Text,
            };
        }
        if self.seen >= limit { Err(fault) } else { Ok(None) }
    }
}

/// Returns the lines of a complete section, without their ends and without the empty one.
pub(super) fn lines(section: &[u8]) -> impl Iterator<Item = &[u8]> {
    section
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty())
}
