//! The keys that this process has claimed and not settled yet, so that settling one need not read its row.
//!
//! It is a cache and proves nothing: whoever writes by it compares the digest of the row, and reads the row where it has
//! another one. A transaction that was undone may therefore leave rows here that were never written.

use std::collections::BTreeMap;

use ringfence::{Fence, KeyName};

use super::key_row::KeyRow;

/// How many keys are kept.
const ROWS: usize = 1_024;
/// How long the arguments of one may be, in bytes: reading a longer one costs little beside writing it.
const ARGUMENTS: usize = 16 << 10;

/// Rows by their fences, with their digests.
#[derive(Debug, Default)]
pub(super) struct ClaimCache(BTreeMap<u64, (KeyRow, i64)>);

impl ClaimCache {
    /// Keeps a row, in place of the oldest where there are many.
    pub(super) fn insert(&mut self, row: KeyRow, digest: i64) {
        if row.arguments.len() > ARGUMENTS {
            return;
        }
        if self.0.len() >= ROWS {
            self.0.pop_first();
        }
        self.0.insert(row.fence.0, (row, digest));
    }

    /// Takes the row with this fence, if it is of this key.
    pub(super) fn take(&mut self, fence: Fence, name: &KeyName) -> Option<(KeyRow, i64)> {
        self.0.remove(&fence.0).filter(|(row, _)| row.name == *name)
    }
}
