//! Verifying a whole log in one pass: every record is hashed once, and the tree is compared with every promise.
//!
//! The store hands over records in the order of their index, and each checkpoint before the records pass its size. A
//! record's stored hash and the stored frontier are believed by themselves in nothing; they only tell *where* a
//! record was changed. What is believed is a signature, and a checkpoint that was kept elsewhere.
//!
//! INVARIANT: memory does not grow with the number of records; findings beyond the first thousand of a kind are counted, not listed.

use std::collections::BTreeMap;

use super::checkpoint::{Checkpoint, TrustedLog};
use super::column::Columns;
use super::error::OutputError;
use super::finding::{Finding, Promise, Verified};
use super::hash::Hash;
use super::ledger::Ledger;
use super::note::Note;
use super::output::{OutputDigests, check_outputs};
use super::tree::{Frontier, MAX_SIZE, Node};

/// One record as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredRecord<B> {
    /// Its place.
    pub index: u64,
    /// Its bytes.
    pub bytes: B,
    /// The hash of its leaf that is stored beside it, if one is.
    pub leaf: Option<Hash>,
}

/// Verifies a log whose records come in the order of their index and whose checkpoints in the order of their size.
///
/// `tail` is how many records at the end may be without a signed checkpoint, and `trusted` a checkpoint that was kept
/// elsewhere.
///
/// # Examples
///
/// ```
/// use ringfence::audit::{Checkpoint, Frontier, Hash, SignerKey, StoredRecord, TrustedLog, verify_log};
///
/// let key = SignerKey::from_seed("audit.example/log", &[7; 32])?;
/// let log = TrustedLog::new("audit.example/log", [key.verifier().clone()])?;
/// let mut frontier = Frontier::new();
/// for record in ["one", "two", "three"] {
///     frontier.append(Hash::leaf(record.as_bytes()));
/// }
/// let note = Checkpoint::new("audit.example/log", &frontier)?.sign(&key)?.to_string();
///
/// let stored = |bytes, index| StoredRecord { index, bytes, leaf: None };
/// let intact = [stored("one", 0), stored("two", 1), stored("three", 2)];
/// assert!(verify_log(&log, 0, intact, [&note], None).is_intact());
///
/// let cut = [stored("one", 0), stored("two", 1)];
/// let verified = verify_log(&log, 0, cut, [&note], None);
/// assert_eq!(verified.findings[0].word(), "truncated");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_log<B: AsRef<[u8]>>(
    log: &TrustedLog,
    tail: u64,
    records: impl IntoIterator<Item = StoredRecord<B>>,
    checkpoints: impl IntoIterator<Item = impl AsRef<str>>,
    trusted: Option<&Checkpoint>,
) -> Verified {
    let mut verification = Verification::new(log, tail);
    if let Some(checkpoint) = trusted {
        verification.trust(checkpoint);
    }
    let mut checkpoints = checkpoints.into_iter();
    // One checkpoint ahead of the records is enough, and all that is kept.
    let mut ahead = 0;
    for record in records {
        while ahead <= verification.seen()
            && let Some(note) = checkpoints.next()
        {
            ahead = verification.checkpoint(note.as_ref()).unwrap_or(ahead);
        }
        verification.record(record.index, record.bytes.as_ref(), record.leaf);
    }
    for note in checkpoints {
        verification.checkpoint(note.as_ref());
    }
    verification.finish()
}

/// A verification under way, for a store that hands over one thing after another.
#[derive(Debug)]
pub struct Verification<'a> {
    log: &'a TrustedLog,
    tail: u64,
    /// How many places have been passed, which is the index of the next record.
    seen: u64,
    /// The tree over the records as they are, until one is missing.
    tree: Option<Frontier>,
    /// The tree over the stored hashes, from the first record on that differs from its own.
    claimed: Option<Frontier>,
    /// The promises for this size and later ones.
    promised: BTreeMap<u64, Vec<(Promise, Hash)>>,
    /// The first size of `promised`.
    due: u64,
    checkpoints: u64,
    agreeing: u64,
    /// The largest size for which there is a signature.
    covered: u64,
    proven: u64,
    /// The last signed promise did not hold, so that the next failure is no news.
    broken: bool,
    /// The record that came last does not have its stored hash.
    differs: bool,
    /// The record that came last is filed under something else.
    misfiled: bool,
    /// The first record of the last node that is another.
    other: Option<u64>,
    ledger: Ledger,
}

impl<'a> Verification<'a> {
    /// Starts before the first record. `tail` is how many records at the end may be without a signed checkpoint; only `u64::MAX`
    /// lets a log with records have none at all.
    pub const fn new(log: &'a TrustedLog, tail: u64) -> Self {
        Self {
            log,
            tail,
            seen: 0,
            tree: Some(Frontier::new()),
            claimed: None,
            promised: BTreeMap::new(),
            due: u64::MAX,
            checkpoints: 0,
            agreeing: 0,
            covered: 0,
            proven: 0,
            broken: false,
            differs: false,
            misfiled: false,
            other: None,
            ledger: Ledger::new(),
        }
    }

    /// Returns how many places of the log have been passed.
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    /// Takes a checkpoint that is stored beside the log, and returns its size when it is believed.
    ///
    /// A checkpoint must come before the records pass its size.
    pub fn checkpoint(&mut self, note: &str) -> Option<u64> {
        let ordinal = self.checkpoints;
        self.checkpoints += 1;
        match note.parse::<Note>().and_then(|note| self.log.open(&note)) {
            Ok(checkpoint) => {
                self.promise(Promise::Checkpoint, checkpoint.size(), checkpoint.root());
                Some(checkpoint.size())
            }
            Err(why) => {
                self.ledger.enter(Finding::Unsigned { ordinal, why });
                None
            }
        }
    }

    /// Takes an opened checkpoint that was kept elsewhere. It must come before the records pass its size.
    pub fn trust(&mut self, checkpoint: &Checkpoint) {
        self.promise(Promise::Trusted, checkpoint.size(), checkpoint.root());
    }

    /// Takes the frontier that is stored beside the log. It must come before the records pass its size.
    ///
    /// Records after it are no finding: the log may have grown since it was read.
    pub fn frontier(&mut self, frontier: &Frontier) {
        self.promise(Promise::Frontier, frontier.size(), frontier.root());
    }

    /// Takes a record, and the hash that is stored for it.
    pub fn record(&mut self, index: u64, bytes: &[u8], stored: Option<Hash>) {
        self.record_with(index, bytes, stored, |_| ());
    }

    /// Takes a record, and hands each inner node that it completes to `finished`, the lowest first, so that a store can
    /// compare it with its own. The nodes are over the stored hashes: one changed record is one finding.
    pub fn record_with(
        &mut self,
        index: u64,
        bytes: &[u8],
        stored: Option<Hash>,
        mut finished: impl FnMut(Node),
    ) {
        let leaf = Hash::leaf(bytes);
        self.differs = stored.is_some_and(|stored| stored != leaf);
        self.misfiled = false;
        if let Some(stored) = stored
            && stored != leaf
        {
            self.ledger.differs(index, leaf, stored);
            // A record out of its place is in neither tree.
            if index == self.seen && self.claimed.is_none() {
                self.claimed.clone_from(&self.tree);
            }
        }
        if index < self.seen || index >= MAX_SIZE {
            self.ledger.misplaced(index);
            return;
        }
        if index > self.seen {
            self.ledger.missing(self.seen, index - 1);
            // Without the missing hashes no root can be computed any more.
            self.tree = None;
            self.claimed = None;
            self.seen = index;
        }
        let is_claimed = self.claimed.is_some();
        if let Some(claimed) = &mut self.claimed {
            claimed.append_with(stored.unwrap_or(leaf), &mut finished);
        }
        if let Some(tree) = &mut self.tree {
            tree.append_with(leaf, |node| {
                if !is_claimed {
                    finished(node);
                }
            });
        }
        self.seen += 1;
        if self.seen >= self.due {
            self.settle();
        }
    }

    /// Takes what the record that came last is filed under.
    pub fn columns(&mut self, index: u64, record: &[u8], columns: &Columns<'_>) {
        // One that was edited is a finding already, and says nothing of what it was filed under.
        if self.differs {
            return;
        }
        let column = Columns::read(record).map_or(Some("kind"), |own| own.difference(columns));
        self.misfiled = column.is_some();
        if let Some(column) = column {
            self.ledger.enter(Finding::Misfiled { index, column });
        }
    }

    /// Takes a record that came last and is not found by its time.
    pub fn unlisted(&mut self, index: u64) {
        let column = "time";
        if !self.differs && !self.misfiled {
            self.ledger.enter(Finding::Misfiled { index, column });
        }
    }

    /// Takes a place of the tree whose stored node is not the one that [`Verification::record_with`] told of, is
    /// missing, or is one too many. Of nodes above each other only the lowest is a finding: it says where to look.
    pub fn other_node(&mut self, level: u32, index: u64) {
        let width = 1_u64.checked_shl(level).unwrap_or(u64::MAX);
        let first = index.saturating_mul(width);
        let last = first.saturating_add(width - 1);
        if self.other.is_some_and(|other| (first..=last).contains(&other)) {
            return;
        }
        self.other = Some(first);
        self.ledger.enter(Finding::Node { first, last });
    }

    /// Takes the outputs that are kept beside a record.
    pub fn outputs(&mut self, index: u64, record: &[u8], raw: Option<&[u8]>, clean: Option<&[u8]>) {
        // A record that was edited is a finding already, and says nothing of outputs that are not there.
        if self.differs && raw.is_none() && clean.is_none() {
            return;
        }
        if let Err(why) = check_outputs(record, raw, clean) {
            self.ledger.enter(Finding::Swapped { index, why });
            return;
        }
        // A raw output is kept for as long as its owner likes; what the model saw belongs to the record.
        if clean.is_none() && OutputDigests::read(record).is_ok_and(|digests| digests.clean.is_some()) {
            self.ledger.enter(Finding::Swapped { index, why: OutputError::Gone });
        }
    }

    /// Takes how many records the stored frontier has, where it was read in one state with the records: what stands behind them was
    /// not appended by a store.
    pub fn expect_size(&mut self, size: u64) {
        if self.seen > size {
            self.ledger.enter(Finding::Added { first: size, last: self.seen - 1 });
        }
    }

    /// Ends with the last record that there is.
    pub fn finish(mut self) -> Verified {
        let beyond = self.promised.last_key_value().filter(|&(&size, _)| size > self.seen);
        if let Some((&promised, by)) = beyond
            && let Some(&(by, _)) = by.first()
        {
            self.ledger.enter(Finding::Truncated { records: self.seen, promised, by });
        }
        // Whoever removes every checkpoint must not pass for a log that has none yet.
        let is_unsigned = self.covered == 0 && self.seen > 0 && self.tail < u64::MAX;
        if is_unsigned || self.seen.saturating_sub(self.covered) > self.tail {
            self.ledger.enter(Finding::Uncovered { first: self.covered, last: self.seen - 1 });
        }
        let (findings, left_out) = self.ledger.close();
        Verified {
            records: self.seen,
            proven: self.proven,
            root: self.tree.map(|tree| tree.root()),
            agreeing: self.agreeing,
            findings,
            left_out,
        }
    }

    /// Notes what the root of some size must be, and compares it when the log has just that size.
    fn promise(&mut self, by: Promise, size: u64, root: Hash) {
        if by != Promise::Frontier {
            self.covered = self.covered.max(size);
        }
        // There is only one log without records.
        if size == 0 {
            return;
        }
        if size < self.seen {
            // Once records are missing nothing can be compared any more, in whatever order.
            if self.tree.is_some() {
                self.ledger.enter(Finding::Late { size, seen: self.seen - 1 });
            }
            return;
        }
        let promises = self.promised.entry(size).or_default();
        if promises.contains(&(by, root)) {
            return;
        }
        let signed = |promise: &&(Promise, Hash)| promise.0 != Promise::Frontier;
        if by != Promise::Frontier && promises.iter().filter(signed).any(|&(_, other)| other != root) {
            self.ledger.enter(Finding::Split { size });
        }
        promises.push((by, root));
        self.due = self.due.min(size);
        if size == self.seen {
            self.compare(by, root);
        }
    }

    /// Compares the promises for the size just reached, and forgets those for smaller ones.
    fn settle(&mut self) {
        self.promised = self.promised.split_off(&self.seen);
        for (by, root) in self.promised.get(&self.seen).cloned().unwrap_or_default() {
            self.compare(by, root);
        }
        // What is for this very size stays until the next record, so that a second promise is seen beside it.
        self.due = self.promised.keys().next().map_or(u64::MAX, |&size| size.max(self.seen + 1));
    }

    /// Compares one promise with the log as it stands.
    fn compare(&mut self, by: Promise, root: Hash) {
        let Some(tree) = &self.tree else { return };
        let holds = tree.root() == root;
        let holds_as_claimed = self.claimed.as_ref().is_some_and(|claimed| claimed.root() == root);
        let signed = by != Promise::Frontier;
        if !holds && !holds_as_claimed {
            if !self.broken {
                self.ledger.enter(Finding::Forked { since: self.proven, size: self.seen, by });
            }
            self.broken |= signed;
        } else if signed {
            // What is signed is what was logged: it is gone on with, whether the records or their hashes told it.
            if let Some(claimed) = self.claimed.take()
                && !holds
            {
                self.tree = Some(claimed);
            }
            self.broken = false;
            self.agreeing += 1;
            self.proven = self.seen;
        }
    }
}

#[cfg(test)]
mod tests;
