//! Which effects every item can reach, and the shortest way to each package that does it.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::index::Node;
use super::solve::Graph;
use super::summary::Spot;
use crate::Effect;

/// An effect, whether it goes through a scoped handle, and the package whose code does it.
pub(super) type Kind = (Effect, bool, u32);

/// The next step on the way to an effect.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The item does it itself.
    Here,
    /// The item calls another that does it or goes on.
    Through(Node, Spot),
}

/// For every effect the items that can reach it.
#[derive(Debug)]
pub(super) struct Reach {
    steps: Vec<(Kind, HashMap<Node, Step>)>,
}

impl Reach {
    pub(super) fn new(graph: &Graph<'_>) -> Self {
        let mut callers: HashMap<Node, Vec<(Node, Spot)>> = HashMap::new();
        for (caller, edges) in (0_u32..).zip(&graph.edges) {
            for (target, spot) in edges {
                callers.entry(*target).or_default().push((caller, *spot));
            }
        }
        let mut starts: BTreeMap<(Effect, bool, &str), Vec<Node>> = BTreeMap::new();
        for (node, leaves) in (0_u32..).zip(&graph.leaves) {
            let package = graph.package(node);
            for leaf in leaves {
                starts.entry((leaf.effect, !leaf.mediated, package)).or_default().push(node);
            }
        }
        let mut steps = Vec::new();
        for (number, ((effect, plain, _), nodes)) in (0_u32..).zip(starts) {
            let mut found: HashMap<Node, Step> = HashMap::new();
            let mut queue: VecDeque<Node> = nodes.iter().copied().collect();
            found.extend(nodes.into_iter().map(|node| (node, Step::Here)));
            while let Some(node) = queue.pop_front() {
                for (caller, spot) in callers.get(&node).into_iter().flatten() {
                    if !found.contains_key(caller) {
                        found.insert(*caller, Step::Through(node, *spot));
                        queue.push_back(*caller);
                    }
                }
            }
            steps.push(((effect, !plain, number), found));
        }
        Self { steps }
    }

    /// Returns what an item can reach, in the order of reports, with the way: each call, and the item that does it.
    pub(super) fn ways(&self, node: Node) -> impl Iterator<Item = (Kind, Vec<(Node, Option<Spot>)>)> {
        self.steps.iter().filter_map(move |(kind, found)| {
            let mut way = vec![(node, None)];
            let mut at = found.get(&node)?;
            while let Step::Through(next, spot) = at {
                way.push((*next, Some(*spot)));
                at = found.get(next)?;
            }
            Some((*kind, way))
        })
    }
}
