//! The shape of the tree over a growing list, and its right edge.
//!
//! A node is named by its level and its position in the level. A node is complete when all leaves below it exist;
//! from then on its hash never changes, so a store can keep it for good and proofs need no rescan.
//!
//! INVARIANT: a [`Frontier`] of `size` leaves holds one hash for each set bit of `size`, the largest subtree first.

use std::ops::Range;

use super::error::TreeError;
use super::hash::Hash;

/// The largest number of records in a log, far enough from the end of 64 bits that no sum overflows.
pub const MAX_SIZE: u64 = 1 << 62;

/// Where a complete subtree stands: it covers the leaves from `index << level` on, `1 << level` of them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId {
    level: u32,
    index: u64,
}

impl NodeId {
    /// Returns the level, 0 for leaves.
    pub const fn level(&self) -> u32 {
        self.level
    }

    /// Returns the position in the level, from 0.
    pub const fn index(&self) -> u64 {
        self.index
    }
}

/// A complete subtree and its hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub id: NodeId,
    /// Its hash, which never changes.
    pub hash: Hash,
}

/// All that must be remembered of a log to go on with it: the complete subtrees at its right edge.
///
/// # Examples
///
/// ```
/// use ringfence::audit::{Frontier, Hash};
///
/// let mut frontier = Frontier::new();
/// assert!(frontier.append(Hash::leaf(b"first")).is_empty());
/// let finished = frontier.append(Hash::leaf(b"second"));
/// assert_eq!((finished[0].id.level(), finished[0].id.index()), (1, 0));
/// assert_eq!(frontier.root(), finished[0].hash);
///
/// let row = frontier.to_bytes();
/// assert_eq!(Frontier::from_bytes(&row)?, frontier);
/// # Ok::<(), ringfence::audit::TreeError>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Frontier {
    size: u64,
    nodes: Vec<Hash>,
}

impl Frontier {
    /// Starts a log without records.
    pub const fn new() -> Self {
        Self { size: 0, nodes: Vec::new() }
    }

    /// Takes up a log of `size` records with the hashes of [`Frontier::needed`].
    ///
    /// # Errors
    ///
    /// A log of that size has another number of complete subtrees, or the size is beyond [`MAX_SIZE`].
    pub fn from_parts(size: u64, nodes: Vec<Hash>) -> Result<Self, TreeError> {
        if size > MAX_SIZE {
            return Err(TreeError::Size { size });
        }
        if u32::try_from(nodes.len()) != Ok(size.count_ones()) {
            return Err(TreeError::Shape { size, nodes: nodes.len() });
        }
        Ok(Self { size, nodes })
    }

    /// Returns the nodes that make up the frontier of `size` records, in the order of [`Frontier::from_parts`].
    ///
    /// # Errors
    ///
    /// The size is beyond [`MAX_SIZE`].
    pub fn needed(size: u64) -> Result<Vec<NodeId>, TreeError> {
        if size > MAX_SIZE { Err(TreeError::Size { size }) } else { Ok(complete_nodes(0..size).collect()) }
    }

    /// Reads what [`Frontier::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// The bytes have another length, or the shape is impossible.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TreeError> {
        let length = || TreeError::Bytes { length: bytes.len() };
        let (size, rest) = bytes.split_first_chunk::<8>().ok_or_else(length)?;
        let (nodes, rest) = rest.as_chunks::<32>();
        if !rest.is_empty() {
            return Err(length());
        }
        Self::from_parts(u64::from_be_bytes(*size), nodes.iter().copied().map(Hash::from_bytes).collect())
    }

    /// Writes the frontier for one column of a row: the size in eight bytes, big-endian, then the hashes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.size.to_be_bytes().to_vec();
        bytes.extend(self.nodes.iter().flat_map(Hash::as_bytes));
        bytes
    }

    /// Returns the number of records.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the hashes of the complete subtrees, the largest first.
    pub fn nodes(&self) -> &[Hash] {
        &self.nodes
    }

    /// Appends a leaf and returns the inner nodes that it completed, the lowest first.
    pub fn append(&mut self, leaf: Hash) -> Vec<Node> {
        let mut finished = Vec::new();
        self.append_with(leaf, |node| finished.push(node));
        finished
    }

    /// Appends a leaf and hands each inner node that it completed to `finished`, the lowest first.
    pub fn append_with(&mut self, leaf: Hash, mut finished: impl FnMut(Node)) {
        let leaf_index = self.size;
        let mut hash = leaf;
        for level in 1..=leaf_index.trailing_ones() {
            // INVARIANT: each set bit of the size has its node, so there is always one to take.
            let Some(left) = self.nodes.pop() else { break };
            hash = Hash::node(left, hash);
            finished(Node { id: NodeId { level, index: leaf_index >> level }, hash });
        }
        self.nodes.push(hash);
        self.size += 1;
    }

    /// Returns the root.
    pub fn root(&self) -> Hash {
        fold(self.nodes.iter().copied()).unwrap_or_else(Hash::empty_root)
    }
}

/// Joins complete subtrees, the largest first, to the hash of the subtree that they make up.
pub(super) fn fold(nodes: impl DoubleEndedIterator<Item = Hash>) -> Option<Hash> {
    nodes.rev().reduce(|right, left| Hash::node(left, right))
}

/// Returns where a subtree of `size` leaves splits: the largest power of two below `size`.
///
/// The size is at least 2.
pub(super) const fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

/// Returns the complete nodes that make up a subtree, the largest first.
///
/// INVARIANT: a range comes from splitting a tree, so its start is a multiple of its largest complete subtree.
pub(super) fn complete_nodes(range: Range<u64>) -> impl Iterator<Item = NodeId> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        let level = range.end.checked_sub(start)?.checked_ilog2()?;
        let node = NodeId { level, index: start >> level };
        start += 1 << level;
        Some(node)
    })
}

#[cfg(test)]
mod tests;
