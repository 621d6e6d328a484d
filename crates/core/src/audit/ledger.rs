//! The findings of a verification while it runs: a bounded list, and what cannot be named before the end.
//!
//! Whether a record with a foreign hash was edited or moved is known only when all such records are: a moved one has
//! the hash that is stored for another.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::hash::Hash;

/// The most findings that are listed, and the most of each kind that are kept open.
pub(super) const LISTED: usize = 1000;

/// A record whose hash is not the one that is stored for it.
#[derive(Debug)]
struct Different {
    index: u64,
    leaf: Hash,
    stored: Hash,
}

/// The findings so far.
#[derive(Debug)]
pub(super) struct Ledger {
    findings: Vec<Finding>,
    different: Vec<Different>,
    /// The gaps: the first missing index, and the last.
    gaps: BTreeMap<u64, u64>,
    left_out: u64,
}

impl Ledger {
    /// Starts without findings.
    pub(super) const fn new() -> Self {
        Self { findings: Vec::new(), different: Vec::new(), gaps: BTreeMap::new(), left_out: 0 }
    }

    /// Enters a finding.
    pub(super) fn enter(&mut self, finding: Finding) {
        if self.findings.len() < LISTED {
            self.findings.push(finding);
        } else {
            self.left_out += 1;
        }
    }

    /// Enters a record whose hash is not the stored one.
    pub(super) fn differs(&mut self, index: u64, leaf: Hash, stored: Hash) {
        if self.different.len() < LISTED {
            self.different.push(Different { index, leaf, stored });
        } else {
            self.left_out += 1;
        }
    }

    /// Enters a gap.
    pub(super) fn missing(&mut self, first: u64, last: u64) {
        if self.gaps.len() < LISTED {
            self.gaps.insert(first, last);
        } else {
            self.left_out += 1;
        }
    }

    /// Enters a record that came too late or twice. If it was missing so far, it is no longer.
    pub(super) fn misplaced(&mut self, index: u64) {
        self.enter(Finding::Reordered { index });
        let gap = self.gaps.range(..=index).next_back().map(|(&first, &last)| (first, last));
        if let Some((first, last)) = gap.filter(|&(_, last)| index <= last) {
            self.gaps.remove(&first);
            if first < index {
                self.missing(first, index - 1);
            }
            if index < last {
                self.missing(index + 1, last);
            }
        }
    }

    /// Returns the findings in the order of the log, and how many are not among them.
    pub(super) fn close(mut self) -> (Vec<Finding>, u64) {
        let stored: BTreeSet<Hash> = self.different.iter().map(|different| different.stored).collect();
        for Different { index, leaf, .. } in std::mem::take(&mut self.different) {
            let moved = stored.contains(&leaf);
            self.enter(if moved { Finding::Reordered { index } } else { Finding::Edited { index } });
        }
        for (first, last) in std::mem::take(&mut self.gaps) {
            self.enter(Finding::Missing { first, last });
        }
        self.findings.sort_by_key(|finding| finding.records().map_or(u64::MAX, |(first, _)| first));
        (self.findings, self.left_out)
    }
}
