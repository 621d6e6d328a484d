//! Cleaning a stream in bounded memory: the same output as cleaning the whole, however it comes in pieces.

use super::edit::Layer;
use super::escape::Escapes;
use super::finding::{Action, Finding, FindingKind};
use super::{pass, segment};

/// How many findings are kept for whoever does not take them.
const KEPT: usize = 4_096;

/// Cleans a stream.
///
/// Holds back at most [`WINDOW`](crate::WINDOW) bytes and what one more push brings. Bytes that are not UTF-8 become U+FFFD, except 80 to 9F: alone,
/// they are the controls that terminals take them for.
///
/// # Examples
///
/// ```
/// let mut cleaner = ringfence_text::Cleaner::new();
/// let mut out = cleaner.push(b"a\x1b[3");
/// out += &cleaner.push(b"1mb");
/// out += &cleaner.finish();
///
/// assert_eq!(out, "ab");
/// assert_eq!(cleaner.found(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Cleaner {
    machine: Escapes,
    /// The start of a character whose end has not come.
    partial: Vec<u8>,
    /// How many raw bytes were read.
    read: usize,
    buffer: Buffer,
    begun: bool,
    findings: Vec<Finding>,
    found: u64,
}

impl Cleaner {
    /// Starts a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and returns what is clean so far.
    pub fn push(&mut self, chunk: &[u8]) -> String {
        let joined;
        let bytes = if self.partial.is_empty() {
            chunk
        } else {
            let mut held = std::mem::take(&mut self.partial);
            held.extend_from_slice(chunk);
            joined = held;
            &joined
        };
        self.decode(bytes);
        let mut out = String::new();
        while let Some(length) = segment::cut(&self.buffer.text) {
            self.release(length, &mut out);
        }
        out
    }

    /// Ends the stream and returns the rest.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.partial);
        if !held.is_empty() {
            self.replace(held.len(), "\u{FFFD}");
        }
        let mut out = String::new();
        self.release(self.buffer.text.len(), &mut out);
        out
    }

    /// Returns how many things were found so far.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// Takes the findings since the last time: the first 4,096 of them.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    fn decode(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (valid, rest) = match std::str::from_utf8(bytes) {
                Ok(text) => (text, &[][..]),
                Err(error) => {
                    let (valid, rest) = bytes.split_at_checked(error.valid_up_to()).unwrap_or_default();
                    (std::str::from_utf8(valid).unwrap_or_default(), rest)
                }
            };
            self.feed(valid);
            let Err(error) = std::str::from_utf8(rest) else { return };
            let Some(length) = error.error_len() else {
                self.partial = rest.to_vec();
                return;
            };
            match rest.first() {
                Some(byte @ 0x80..=0x9F) => {
                    let control = char::from(*byte);
                    self.replace(1, control.encode_utf8(&mut [0; 2]));
                }
                _ => self.replace(length, "\u{FFFD}"),
            }
            bytes = rest.get(length..).unwrap_or_default();
        }
    }

    fn feed(&mut self, text: &str) {
        let mut found = Vec::new();
        self.buffer.read(&mut self.machine, text, self.read, &mut found);
        self.read += text.len();
        self.note(found);
    }

    /// Reads something in the place of raw bytes.
    fn replace(&mut self, length: usize, with: &str) {
        let mut found = Vec::new();
        self.buffer.replace(&mut self.machine, with, self.read..self.read + length, &mut found);
        self.read += length;
        self.note(found);
    }

    /// Cleans the first bytes of the buffer.
    fn release(&mut self, length: usize, out: &mut String) {
        let mut findings = Vec::new();
        let part = self.buffer.text.get(..length).unwrap_or_default();
        match pass::segment(part, !self.begun, &self.buffer.layer, &mut findings) {
            Some(cleaned) => out.push_str(&cleaned),
            None => out.push_str(part),
        }
        self.begun = true;
        self.buffer.drop_front(length);
        self.note(findings);
    }

    fn note(&mut self, findings: Vec<Finding>) {
        self.found += findings.len() as u64;
        let room = KEPT.saturating_sub(self.findings.len());
        self.findings.extend(findings.into_iter().take(room));
    }
}

/// Text after the first stage, and where it comes from.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) text: String,
    pub(super) layer: Layer,
    /// The end of the last sequence that was dropped, in raw bytes.
    dropped: Option<usize>,
}

impl Buffer {
    /// Reads raw text that starts at a place of the whole.
    pub(super) fn read(
        &mut self,
        machine: &mut Escapes,
        text: &str,
        base: usize,
        findings: &mut Vec<Finding>,
    ) {
        if self.text.is_empty() && self.layer.pieces.is_empty() {
            self.layer.base = base;
        }
        machine.read(text, |span, kept| {
            if kept {
                self.text.push_str(text.get(span).unwrap_or_default());
            } else {
                self.drop_raw(base + span.start..base + span.end, findings);
            }
        });
    }

    /// Reads a code point that stands for raw bytes.
    pub(super) fn replace(
        &mut self,
        machine: &mut Escapes,
        with: &str,
        raw: std::ops::Range<usize>,
        findings: &mut Vec<Finding>,
    ) {
        if self.text.is_empty() && self.layer.pieces.is_empty() {
            self.layer.base = raw.start;
        }
        machine.read(with, |_, kept| {
            if kept {
                let start = self.text.len();
                self.text.push_str(with);
                self.layer.pieces.push((raw.clone(), start..self.text.len()));
                findings.push(Finding {
                    kind: FindingKind::Encoding,
                    label: "not-utf-8",
                    span: raw.clone(),
                    action: Action::Replaced(with.to_owned().into()),
                });
            } else {
                self.drop_raw(raw.clone(), findings);
            }
        });
    }

    fn drop_raw(&mut self, raw: std::ops::Range<usize>, findings: &mut Vec<Finding>) {
        let at = self.text.len();
        let joins = self.dropped == Some(raw.start);
        self.dropped = Some(raw.end);
        match self.layer.pieces.last_mut() {
            Some((input, out)) if joins && out.start == at && out.end == at && input.end == raw.start => {
                input.end = raw.end;
            }
            _ => self.layer.pieces.push((raw.clone(), at..at)),
        }
        match findings.last_mut() {
            Some(last) if joins && last.kind == FindingKind::Escape && last.span.end == raw.start => {
                last.span.end = raw.end;
            }
            // The sequence began in a piece whose findings were told already.
            _ if joins => {}
            _ => findings.push(Finding {
                kind: FindingKind::Escape,
                label: "escape",
                span: raw,
                action: Action::Removed,
            }),
        }
    }

    fn drop_front(&mut self, length: usize) {
        self.layer = self.layer.shifted(length);
        self.text.drain(..length);
    }
}
