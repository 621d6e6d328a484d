//! The digest of a row: whoever reads a row compares, so that a flipped bit is an error and never an answer.
//!
//! It finds damage, not forgery: whoever can write to the file can write digests too. 64 bits of SHA-256 are enough for
//! that, and SQLite can combine them.
//!
//! INVARIANT: two rows that differ in a column or its type have different input, since every column has its length.

use ringfence::audit::Hash;
use rusqlite::Error;
use rusqlite::types::Type;

/// Collects the columns of a row.
pub(super) struct RowDigest(Vec<u8>);

impl RowDigest {
    /// Starts the digest of a row of this table.
    pub(super) fn new(table: &str) -> Self {
        Self(Vec::with_capacity(256)).text(table)
    }

    /// Adds a text.
    pub(super) fn text(self, text: &str) -> Self {
        self.column(1, text.as_bytes())
    }

    /// Adds a text or NULL.
    pub(super) fn optional_text(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => self.column(0, b""),
        }
    }

    /// Adds a number.
    pub(super) fn number(self, number: i64) -> Self {
        self.column(2, &number.to_le_bytes())
    }

    /// Adds a number or NULL.
    pub(super) fn optional_number(self, number: Option<i64>) -> Self {
        match number {
            Some(number) => self.number(number),
            None => self.column(0, b""),
        }
    }

    /// Adds bytes.
    pub(super) fn bytes(self, bytes: &[u8]) -> Self {
        self.column(3, bytes)
    }

    /// Returns the digest.
    pub(super) fn finish(self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = *Hash::of(&self.0).as_bytes();
        i64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// Compares with the stored digest.
    pub(super) fn check(self, stored: i64, what: &'static str) -> rusqlite::Result<()> {
        if self.finish() == stored { Ok(()) } else { Err(damaged(what)) }
    }

    fn column(mut self, kind: u8, bytes: &[u8]) -> Self {
        self.0.push(kind);
        self.0.extend_from_slice(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Says that a row is not what was written.
pub(super) fn damaged(what: &'static str) -> Error {
    Error::FromSqlConversionFailure(0, Type::Blob, what.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_counts() {
        let digests = [
            RowDigest::new("a").finish(),
            RowDigest::new("b").finish(),
            RowDigest::new("a").text("").finish(),
            RowDigest::new("a").optional_text(None).finish(),
            RowDigest::new("a").number(0).finish(),
            RowDigest::new("a").text("xy").text("z").finish(),
            RowDigest::new("a").text("x").text("yz").finish(),
            RowDigest::new("a").bytes(b"").finish(),
        ];
        let different: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(different.len(), digests.len());
        assert!(RowDigest::new("a").check(digests[0], "x").is_ok());
        assert!(RowDigest::new("a").check(digests[0] ^ 1, "x").is_err());
    }
}
