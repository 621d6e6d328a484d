//! The frontier against the published roots and against the definition.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::audit::naive;

#[test]
fn has_the_published_roots() {
    let mut frontier = Frontier::new();
    assert_eq!(frontier.root().to_string(), naive::ROOTS[0]);
    for (record, root) in naive::RECORDS.iter().zip(&naive::ROOTS[1..]) {
        frontier.append(Hash::leaf(record));
        assert_eq!(frontier.root().to_string(), *root);
    }
}

#[test]
fn yields_every_complete_node_once_and_right() {
    let leaves = naive::leaves(300);
    let mut frontier = Frontier::new();
    let mut kept: HashMap<NodeId, Hash> = HashMap::new();
    for (index, &leaf) in leaves.iter().enumerate() {
        for node in frontier.append(leaf) {
            assert!(node.id.level() >= 1);
            assert_eq!(kept.insert(node.id, node.hash), None);
        }
        let size = index + 1;
        let complete: usize = (1..10).map(|level| size >> level).sum();
        assert_eq!((frontier.size(), kept.len()), (size as u64, complete));
    }
    for (id, hash) in kept {
        let first = (id.index() << id.level()) as usize;
        assert_eq!(hash, naive::root(&leaves[first..first + (1 << id.level())]), "{id:?}");
    }
}

#[test]
fn is_what_its_needed_nodes_say() {
    let leaves = naive::leaves(70);
    for size in 0..=leaves.len() {
        let nodes = Frontier::needed(size as u64).unwrap().into_iter().map(|id| {
            let first = (id.index() << id.level()) as usize;
            naive::root(&leaves[first..first + (1 << id.level())])
        });
        let frontier = Frontier::from_parts(size as u64, nodes.collect()).unwrap();
        assert_eq!(frontier.root(), naive::root(&leaves[..size]), "{size}");
    }
}

#[test]
fn refuses_impossible_shapes() {
    let hash = Hash::of(b"");
    #[rustfmt::skip]
    let cases = [
        (0,            0, None),
        (6,            2, None),
        (MAX_SIZE,     1, None),
        (0,            1, Some(TreeError::Shape { size: 0, nodes: 1 })),
        (6,            1, Some(TreeError::Shape { size: 6, nodes: 1 })),
        (6,            3, Some(TreeError::Shape { size: 6, nodes: 3 })),
        (MAX_SIZE + 1, 2, Some(TreeError::Size { size: MAX_SIZE + 1 })),
        (u64::MAX,    64, Some(TreeError::Size { size: u64::MAX })),
    ];
    for (size, nodes, error) in cases {
        assert_eq!(Frontier::from_parts(size, vec![hash; nodes]).err(), error, "{size} {nodes}");
        assert_eq!(Frontier::needed(size).is_err(), size > MAX_SIZE);
    }
    for bytes in
        [vec![], vec![0; 7], vec![0; 9], vec![0; 40], [0, 0, 0, 0, 0, 0, 0, 1].repeat(5)[..39].to_vec()]
    {
        assert!(Frontier::from_bytes(&bytes).is_err(), "{bytes:?}");
    }
    // The largest log can still be appended to without a sum that overflows.
    let mut largest = Frontier::from_parts(MAX_SIZE, vec![hash]).unwrap();
    assert!(largest.append(hash).is_empty());
    assert_eq!(largest.root(), Hash::node(hash, hash));
}

proptest! {
    #[test]
    fn has_the_root_of_the_definition(size in 0_usize..2000, pause in 0_usize..2000) {
        let leaves = naive::leaves(size);
        let mut frontier = Frontier::new();
        for (index, &leaf) in leaves.iter().enumerate() {
            if index == pause {
                frontier = Frontier::from_bytes(&frontier.to_bytes()).unwrap();
            }
            frontier.append(leaf);
        }
        prop_assert_eq!(frontier.root(), naive::root(&leaves));
        prop_assert_eq!(frontier.nodes().len(), size.count_ones() as usize);
    }
}
