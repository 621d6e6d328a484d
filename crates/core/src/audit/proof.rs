//! Proofs that a record is in the log, and that the log only grew.
//!
//! A store asks which nodes a proof `needed`, fetches those and `assemble`s; `verify` needs nothing but hashes. The
//! path of RFC 9162 also holds the subtree at the ragged right edge, which no store keeps: its complete parts are
//! fetched and joined. There is at most one such subtree in a proof, so at most `2·log2(size)` nodes are needed.
//!
//! INVARIANT: a proof has exactly as many hashes as its numbers demand; none is left unread.

use std::ops::Range;

use super::error::ProofError;
use super::hash::Hash;
use super::tree::{MAX_SIZE, NodeId, complete_nodes, fold, split};

/// A proof that one record stands at one place in a log of one size.
///
/// # Examples
///
/// ```
/// use std::collections::HashMap;
///
/// use ringfence::audit::{Frontier, Hash, InclusionProof};
///
/// let mut frontier = Frontier::new();
/// let leaves: Vec<Hash> = [b"a", b"b", b"c"].into_iter().map(|record| Hash::leaf(record)).collect();
/// let mut inner = HashMap::new();
/// for &leaf in &leaves {
///     inner.extend(frontier.append(leaf).into_iter().map(|node| (node.id, node.hash)));
/// }
///
/// let proof = InclusionProof::assemble(2, 3, |node| match node.level() {
///     0 => leaves.get(node.index() as usize).copied(),
///     _ => inner.get(&node).copied(),
/// })?;
/// proof.verify(Hash::leaf(b"c"), frontier.root())?;
/// assert!(proof.verify(Hash::leaf(b"b"), frontier.root()).is_err());
/// # Ok::<(), ringfence::audit::ProofError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InclusionProof {
    index: u64,
    size: u64,
    path: Vec<Hash>,
}

impl InclusionProof {
    /// Returns the nodes to fetch for [`InclusionProof::assemble`].
    ///
    /// # Errors
    ///
    /// There is no such leaf in a log of that size.
    pub fn needed(index: u64, size: u64) -> Result<Vec<NodeId>, ProofError> {
        Ok(Self::subtrees(index, size)?.into_iter().flat_map(complete_nodes).collect())
    }

    /// Makes the proof from the nodes of [`InclusionProof::needed`].
    ///
    /// # Errors
    ///
    /// There is no such leaf, or `lookup` does not have a node.
    pub fn assemble(
        index: u64,
        size: u64,
        lookup: impl FnMut(NodeId) -> Option<Hash>,
    ) -> Result<Self, ProofError> {
        Ok(Self { index, size, path: join(Self::subtrees(index, size)?, lookup)? })
    }

    /// Takes a proof that was made elsewhere.
    ///
    /// # Errors
    ///
    /// There is no such leaf, or the path has another length than it must have.
    pub fn from_parts(index: u64, size: u64, path: Vec<Hash>) -> Result<Self, ProofError> {
        same_length(Self::subtrees(index, size)?.len(), path.len())?;
        Ok(Self { index, size, path })
    }

    /// Returns the place of the record, from 0.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Returns the size of the log that the proof is for.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the hashes, from the leaf upwards.
    pub fn path(&self) -> &[Hash] {
        &self.path
    }

    /// Checks that `leaf` is below `root`.
    ///
    /// # Errors
    ///
    /// It is not.
    pub fn verify(&self, leaf: Hash, root: Hash) -> Result<(), ProofError> {
        let mut edge = Edge { node: self.index, last: self.size.saturating_sub(1) };
        let mut hash = leaf;
        for &sibling in &self.path {
            hash = match edge.climb()? {
                Side::Left => Hash::node(sibling, hash),
                Side::Right => Hash::node(hash, sibling),
            };
        }
        if edge.last == 0 && hash == root { Ok(()) } else { Err(ProofError::Mismatch) }
    }

    /// Returns the subtrees beside the way from the leaf to the root, the lowest first.
    fn subtrees(index: u64, size: u64) -> Result<Vec<Range<u64>>, ProofError> {
        if index >= size || size > MAX_SIZE {
            return Err(ProofError::Range { part: index, size });
        }
        let mut beside = Vec::new();
        let (mut start, mut end) = (0, size);
        while end - start > 1 {
            let middle = start + split(end - start);
            if index < middle {
                beside.push(middle..end);
                end = middle;
            } else {
                beside.push(start..middle);
                start = middle;
            }
        }
        beside.reverse();
        Ok(beside)
    }
}

/// A proof that a log of one size begins with all records of an older, smaller one.
///
/// # Examples
///
/// ```
/// use ringfence::audit::{ConsistencyProof, Frontier, Hash};
///
/// let mut frontier = Frontier::new();
/// frontier.append(Hash::leaf(b"a"));
/// let old = frontier.root();
/// frontier.append(Hash::leaf(b"b"));
///
/// let proof = ConsistencyProof::assemble(1, 2, |_| Some(Hash::leaf(b"b")))?;
/// proof.verify(old, frontier.root())?;
/// assert!(proof.verify(Hash::leaf(b"other"), frontier.root()).is_err());
/// # Ok::<(), ringfence::audit::ProofError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConsistencyProof {
    old: u64,
    new: u64,
    path: Vec<Hash>,
}

impl ConsistencyProof {
    /// Returns the nodes to fetch for [`ConsistencyProof::assemble`].
    ///
    /// # Errors
    ///
    /// The older log is the larger one.
    pub fn needed(old: u64, new: u64) -> Result<Vec<NodeId>, ProofError> {
        Ok(Self::subtrees(old, new)?.into_iter().flat_map(complete_nodes).collect())
    }

    /// Makes the proof from the nodes of [`ConsistencyProof::needed`].
    ///
    /// # Errors
    ///
    /// The older log is the larger one, or `lookup` does not have a node.
    pub fn assemble(
        old: u64,
        new: u64,
        lookup: impl FnMut(NodeId) -> Option<Hash>,
    ) -> Result<Self, ProofError> {
        Ok(Self { old, new, path: join(Self::subtrees(old, new)?, lookup)? })
    }

    /// Takes a proof that was made elsewhere.
    ///
    /// # Errors
    ///
    /// The older log is the larger one, or the path has another length than it must have.
    pub fn from_parts(old: u64, new: u64, path: Vec<Hash>) -> Result<Self, ProofError> {
        same_length(Self::subtrees(old, new)?.len(), path.len())?;
        Ok(Self { old, new, path })
    }

    /// Returns the size of the older log.
    pub const fn old_size(&self) -> u64 {
        self.old
    }

    /// Returns the size of the newer log.
    pub const fn new_size(&self) -> u64 {
        self.new
    }

    /// Returns the hashes, from the edge of the older log upwards.
    pub fn path(&self) -> &[Hash] {
        &self.path
    }

    /// Checks that the log with the root `new_root` begins with the log with the root `old_root`.
    ///
    /// # Errors
    ///
    /// It does not. Every log begins with the empty one, whose root must then be the empty root.
    pub fn verify(&self, old_root: Hash, new_root: Hash) -> Result<(), ProofError> {
        let proven = |holds: bool| if holds { Ok(()) } else { Err(ProofError::Mismatch) };
        if self.old == 0 {
            proven(old_root == Hash::empty_root())?;
            return proven(self.new != 0 || new_root == old_root);
        }
        if self.old == self.new {
            return proven(old_root == new_root);
        }
        let mut path = self.path.iter().copied();
        // A complete old tree is itself the subtree to start from, and is then left out of the path.
        let start = if self.old.is_power_of_two() { Some(old_root) } else { path.next() };
        let start = start.ok_or(ProofError::Mismatch)?;

        let shift = self.old.trailing_zeros();
        let mut edge = Edge { node: (self.old - 1) >> shift, last: (self.new - 1) >> shift };
        let (mut old_hash, mut new_hash) = (start, start);
        for sibling in path {
            match edge.climb()? {
                Side::Left => {
                    old_hash = Hash::node(sibling, old_hash);
                    new_hash = Hash::node(sibling, new_hash);
                }
                Side::Right => new_hash = Hash::node(new_hash, sibling),
            }
        }
        proven(edge.last == 0 && old_hash == old_root && new_hash == new_root)
    }

    /// Returns the subtrees that make up both trees, the lowest first.
    fn subtrees(old: u64, new: u64) -> Result<Vec<Range<u64>>, ProofError> {
        if old > new || new > MAX_SIZE {
            return Err(ProofError::Range { part: old, size: new });
        }
        let mut parts = Vec::new();
        if old == 0 {
            return Ok(parts);
        }
        let (mut start, mut end) = (0, new);
        while end != old {
            let middle = start + split(end - start);
            if old <= middle {
                parts.push(middle..end);
                end = middle;
            } else {
                parts.push(start..middle);
                start = middle;
            }
        }
        // Without a step to the right the rest is the whole old tree, whose root the verifier has.
        if start != 0 {
            parts.push(start..end);
        }
        parts.reverse();
        Ok(parts)
    }
}

/// On which side of the way up a sibling stands.
enum Side {
    Left,
    Right,
}

/// A node on the way up, and the last node of its level.
struct Edge {
    node: u64,
    last: u64,
}

impl Edge {
    /// Goes up to the next node that has a sibling, and says where that sibling stands.
    fn climb(&mut self) -> Result<Side, ProofError> {
        if self.last == 0 {
            return Err(ProofError::Mismatch);
        }
        // The last node of a level has no sibling to its right; without one to its left it moves up as it is.
        let side = if self.node & 1 == 1 || self.node == self.last { Side::Left } else { Side::Right };
        if matches!(side, Side::Left) {
            let lonely = self.node.trailing_zeros().min(63);
            self.node >>= lonely;
            self.last >>= lonely;
        }
        self.node >>= 1;
        self.last >>= 1;
        Ok(side)
    }
}

/// Joins the complete nodes of each subtree to one hash.
fn join(
    subtrees: Vec<Range<u64>>,
    mut lookup: impl FnMut(NodeId) -> Option<Hash>,
) -> Result<Vec<Hash>, ProofError> {
    let mut path = Vec::with_capacity(subtrees.len());
    for subtree in subtrees {
        let mut nodes = Vec::new();
        for id in complete_nodes(subtree) {
            nodes.push(lookup(id).ok_or(ProofError::Node { level: id.level(), index: id.index() })?);
        }
        path.extend(fold(nodes.into_iter()));
    }
    Ok(path)
}

/// Refuses a path that is shorter or longer than it must be.
const fn same_length(expected: usize, found: usize) -> Result<(), ProofError> {
    if expected == found { Ok(()) } else { Err(ProofError::Shape { expected, found }) }
}

#[cfg(test)]
mod tests;
