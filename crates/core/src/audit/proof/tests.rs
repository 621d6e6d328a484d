//! Proofs against the published ones, against the definition, and against every small change.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::audit::Frontier;
use crate::audit::naive;

/// A log whose nodes are kept as a store keeps them.
struct Kept {
    leaves: Vec<Hash>,
    nodes: HashMap<NodeId, Hash>,
}

impl Kept {
    fn new(leaves: Vec<Hash>) -> Self {
        let mut frontier = Frontier::new();
        let inner = leaves.iter().flat_map(|&leaf| frontier.append(leaf)).map(|node| (node.id, node.hash));
        let nodes = inner.collect();
        Self { leaves, nodes }
    }

    fn fetch(&self, id: NodeId) -> Option<Hash> {
        if id.level() == 0 {
            self.leaves.get(usize::try_from(id.index()).unwrap()).copied()
        } else {
            self.nodes.get(&id).copied()
        }
    }

    fn inclusion(&self, index: usize, size: usize) -> InclusionProof {
        InclusionProof::assemble(index as u64, size as u64, |id| self.fetch(id)).unwrap()
    }

    fn consistency(&self, old: usize, new: usize) -> ConsistencyProof {
        ConsistencyProof::assemble(old as u64, new as u64, |id| self.fetch(id)).unwrap()
    }
}

fn hash(text: &str) -> Hash {
    text.parse().unwrap()
}

fn few(size: u64, needed: &[NodeId]) -> bool {
    needed.len() <= 2 * (size.next_power_of_two().ilog2() as usize)
}

/// Returns the paths that differ from `path` by one bit, one element less, more, or in another place.
fn damaged(path: &[Hash]) -> Vec<Vec<Hash>> {
    let mut all = Vec::new();
    for at in 0..path.len() {
        for bit in 0..256 {
            let mut bytes = *path[at].as_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut changed = path.to_vec();
            changed[at] = Hash::from_bytes(bytes);
            all.push(changed);
        }
        let mut dropped = path.to_vec();
        dropped.remove(at);
        all.push(dropped);
        if at > 0 && path[at] != path[at - 1] {
            let mut swapped = path.to_vec();
            swapped.swap(at, at - 1);
            all.push(swapped);
        }
    }
    for at in 0..=path.len() {
        for extra in path.iter().copied().chain([Hash::of(b"")]) {
            let mut extended = path.to_vec();
            extended.insert(at, extra);
            all.push(extended);
        }
    }
    all
}

#[test]
fn makes_the_published_proofs() {
    let kept = Kept::new(naive::RECORDS.iter().map(|record| Hash::leaf(record)).collect());
    let a = hash("96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7");
    let b = hash("5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e");
    let c = hash("6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4");
    let d = hash("bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b");
    let e = hash("ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0");
    let f = hash("0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a");
    let [first, two, four] = [1, 2, 4].map(|size| hash(naive::ROOTS[size]));

    let inclusion = [
        (0, 1, vec![]),
        (0, 8, vec![a, b, c]),
        (5, 8, vec![d, e, four]),
        (2, 3, vec![two]),
        (1, 5, vec![first, b, d]),
    ];
    for (index, size, path) in inclusion {
        let proof = kept.inclusion(index, size);
        assert_eq!(proof.path(), path, "{index} {size}");
        assert_eq!(proof.verify(kept.leaves[index], hash(naive::ROOTS[size])), Ok(()));
    }
    for (old, new, path) in
        [(1, 1, vec![]), (1, 8, vec![a, b, c]), (6, 8, vec![f, e, four]), (2, 5, vec![b, d])]
    {
        let proof = kept.consistency(old, new);
        assert_eq!(proof.path(), path, "{old} {new}");
        assert_eq!(proof.verify(hash(naive::ROOTS[old]), hash(naive::ROOTS[new])), Ok(()));
    }
}

#[test]
fn agrees_with_the_definition_for_every_small_log() {
    let kept = Kept::new(naive::leaves(70));
    // In the larger logs only close neighbours are tried in its place.
    let tried = |size: usize, part: usize, other: usize| size <= 33 || part.abs_diff(other) <= 2;
    let roots: Vec<Hash> = (0..=70).map(|size| naive::root(&kept.leaves[..size])).collect();
    for size in 1..=70 {
        let leaves = &kept.leaves[..size];
        for index in 0..size {
            let proof = kept.inclusion(index, size);
            assert_eq!(proof.path(), naive::inclusion(index, leaves), "{index} {size}");
            assert!(few(size as u64, &InclusionProof::needed(index as u64, size as u64).unwrap()));
            for (other, &leaf) in
                kept.leaves.iter().enumerate().filter(|&(other, _)| tried(size, index, other))
            {
                assert_eq!(proof.verify(leaf, roots[size]).is_ok(), other == index, "{index} {size} {other}");
            }
        }
        for old in 0..=size {
            let proof = kept.consistency(old, size);
            if old > 0 {
                assert_eq!(proof.path(), naive::consistency(old, leaves), "{old} {size}");
            }
            assert!(few(size as u64, &ConsistencyProof::needed(old as u64, size as u64).unwrap()));
            for (other, &root) in roots.iter().enumerate().filter(|&(other, _)| tried(size, old, other)) {
                assert_eq!(proof.verify(root, roots[size]).is_ok(), other == old, "{old} {size} {other}");
                // Any log grew from the empty one, whatever it holds.
                let expected = other == size || old == 0;
                assert_eq!(proof.verify(roots[old], root).is_ok(), expected, "{old} {size} {other}");
            }
        }
    }
}

#[test]
fn fails_when_anything_is_changed() {
    let kept = Kept::new(naive::leaves(40));
    for size in [1, 2, 3, 7, 8, 13, 32, 40] {
        let root = naive::root(&kept.leaves[..size]);
        for part in 0..size {
            let proof = kept.inclusion(part, size);
            for path in damaged(proof.path()) {
                let parts = InclusionProof::from_parts(part as u64, size as u64, path);
                assert!(
                    parts.and_then(|proof| proof.verify(kept.leaves[part], root)).is_err(),
                    "{part} {size}"
                );
            }
            let old_root = naive::root(&kept.leaves[..part]);
            let proof = kept.consistency(part, size);
            for path in damaged(proof.path()) {
                let parts = ConsistencyProof::from_parts(part as u64, size as u64, path);
                assert!(parts.and_then(|proof| proof.verify(old_root, root)).is_err(), "{part} {size}");
            }
        }
    }
}

#[test]
fn refuses_numbers_that_no_log_has() {
    let none = |_| None;
    #[rustfmt::skip]
    let cases = [
        (0, 0), (1, 1), (5, 3), (u64::MAX, u64::MAX), (0, MAX_SIZE + 1), (0, u64::MAX),
    ];
    for (index, size) in cases {
        let range = Err(ProofError::Range { part: index, size });
        assert_eq!(InclusionProof::assemble(index, size, none), range);
        assert_eq!(InclusionProof::from_parts(index, size, vec![]), range);
        assert!(InclusionProof::needed(index, size).is_err());
    }
    for (old, new) in [(1, 0), (4, 3), (u64::MAX, 1), (1, MAX_SIZE + 1), (u64::MAX, u64::MAX)] {
        let range = Err(ProofError::Range { part: old, size: new });
        assert_eq!(ConsistencyProof::assemble(old, new, none), range);
        assert_eq!(ConsistencyProof::from_parts(old, new, vec![]), range);
    }
    assert_eq!(InclusionProof::assemble(0, 2, none), Err(ProofError::Node { level: 0, index: 1 }));
    assert_eq!(ConsistencyProof::assemble(2, 4, none), Err(ProofError::Node { level: 1, index: 1 }));
    let shape = Err(ProofError::Shape { expected: 62, found: 0 });
    assert_eq!(InclusionProof::from_parts(3, MAX_SIZE, vec![]), shape);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn agrees_with_the_definition_for_larger_logs(size in 71_usize..3000, part in any::<prop::sample::Index>()) {
        let kept = Kept::new(naive::leaves(size));
        let root = naive::root(&kept.leaves);
        let index = part.index(size);

        let proof = kept.inclusion(index, size);
        prop_assert_eq!(proof.path(), naive::inclusion(index, &kept.leaves));
        prop_assert_eq!(proof.verify(kept.leaves[index], root), Ok(()));
        prop_assert!(few(size as u64, &InclusionProof::needed(index as u64, size as u64).unwrap()));

        let old = index + 1;
        let proof = kept.consistency(old, size);
        prop_assert_eq!(proof.path(), naive::consistency(old, &kept.leaves));
        prop_assert_eq!(proof.verify(naive::root(&kept.leaves[..old]), root), Ok(()));
        prop_assert!(few(size as u64, &ConsistencyProof::needed(old as u64, size as u64).unwrap()));
    }

    #[test]
    fn never_panics_on_foreign_numbers(
        part in any::<u64>(), size in any::<u64>(), shift in 0_u32..64, length in 0_usize..70,
    ) {
        let (part, size) = (part >> shift, size >> shift);
        let path = vec![Hash::of(b""); length];
        let verdicts = [
            InclusionProof::from_parts(part, size, path.clone())
                .and_then(|proof| proof.verify(Hash::of(b"x"), Hash::of(b"y"))),
            ConsistencyProof::from_parts(part, size, path)
                .and_then(|proof| proof.verify(Hash::of(b"x"), Hash::of(b"y"))),
        ];
        prop_assert!(verdicts.iter().all(Result::is_err));
        if let Ok(needed) = InclusionProof::needed(part, size) {
            prop_assert!(few(size, &needed));
        }
        if let Ok(needed) = ConsistencyProof::needed(part, size) {
            prop_assert!(few(size, &needed));
        }
    }
}
