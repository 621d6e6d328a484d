//! A line of the log on its way into a database.

use ringfence::audit::{AuditLine, Hash};

/// The largest record and the largest output that are kept; nothing larger could be verified.
pub(crate) const LIMIT: usize = 64 << 20;

/// A line with its hash.
pub(crate) struct Line {
    pub(crate) line: AuditLine,
    pub(crate) leaf: Hash,
}

impl Line {
    /// Hashes a line, in the task or on the thread of whoever appends it.
    ///
    /// # Errors
    ///
    /// It is too large to be kept, in words.
    pub(crate) fn new(line: AuditLine) -> Result<Self, String> {
        let lengths = [Some(&line.record), line.raw.as_ref(), line.clean.as_ref()];
        if lengths.into_iter().flatten().any(|text| text.len() > LIMIT) {
            return Err(format!("it is larger than {LIMIT} bytes"));
        }
        let leaf = Hash::leaf(line.record.as_bytes());
        Ok(Self { line, leaf })
    }

    /// Returns about how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.line.record.len() + length(&self.line.raw) + length(&self.line.clean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_could_not_be_verified() {
        let text = |length| Some("x".repeat(length));
        #[rustfmt::skip]
        let cases = [
            // record     raw               clean             kept
            (LIMIT,       None,             None,             true),
            (LIMIT + 1,   None,             None,             false),
            (2,           text(LIMIT),      None,             true),
            (2,           text(LIMIT + 1),  None,             false),
            (2,           None,             text(LIMIT + 1),  false),
        ];
        for (record, raw, clean, kept) in cases {
            let record = "x".repeat(record);
            let line = AuditLine {
                kind: "call",
                at: 0,
                run: None,
                tool: None,
                code: None,
                class: None,
                host: None,
                principal: None,
                record,
                raw,
                clean,
            };
            assert_eq!(Line::new(line).is_ok(), kept);
        }
    }
}
