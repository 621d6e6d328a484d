//! What checking a value against a schema may cost, found out before it is checked.
//!
//! At one place of a value, a schema is judged once for every path of in-place edges that leads to it. Going one
//! level down, those counts multiply where several branches judge the same property. The counts by depth are
//! computed when the schema is compiled; a value whose total would go over the budget is refused unchecked.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::SchemaError;
use super::graph::Graph;

/// How many judgements one value at one place may cost.
const MAX_AT_ONE_PLACE: u64 = 10_000;
/// How many subschemas may be nested in place, since each is a stack frame.
const MAX_IN_PLACE_DEPTH: usize = 64;
/// How many judgements a whole value may cost.
const BUDGET: u64 = 5_000_000;
/// How many combinations are explored before the deeper levels count as unknown.
const MAX_STATES: usize = 4_096;
/// Below this cost at one place, the limits on arguments keep every value within the budget.
const HARMLESS: u64 = 40;

/// The worst cost at one place, by depth.
#[derive(Debug)]
pub(super) struct Cost {
    /// Judgements at one place at each depth; the last entry holds for all deeper ones.
    by_depth: Vec<u64>,
    in_place_depth: usize,
}

impl Cost {
    /// Computes the cost table, or refuses a schema that loops or explodes on any value.
    pub(super) fn of(graph: &Graph) -> Result<Self, SchemaError> {
        let in_place = InPlace::of(graph)?;
        let mut by_depth = Vec::new();
        let mut seen: HashSet<State> = HashSet::new();
        let mut level: BTreeSet<State> = BTreeSet::from([vec![(0, 1)]]);
        while !level.is_empty() && by_depth.len() < 128 {
            let worst = level.iter().map(|state| in_place.cost(state)).max().unwrap_or(1);
            by_depth.push(worst);
            if worst > MAX_AT_ONE_PLACE || seen.len() > MAX_STATES {
                by_depth.push(u64::MAX);
                break;
            }
            let next: BTreeSet<State> = level.iter().flat_map(|state| in_place.step(graph, state)).collect();
            seen.extend(level);
            level = next.into_iter().filter(|state| !seen.contains(state)).collect();
        }
        // A level without new states repeats costs that were seen before.
        if by_depth.last() != Some(&u64::MAX) {
            by_depth.push(by_depth.iter().copied().max().unwrap_or(1));
        }
        if by_depth.first().is_some_and(|&worst| worst > MAX_AT_ONE_PLACE) {
            return Err(SchemaError::Explodes);
        }
        Ok(Self { by_depth, in_place_depth: in_place.depth })
    }

    /// Says whether `value` can be checked within the budget.
    pub(super) fn affords(&self, value: &Value) -> bool {
        let harmless = self.by_depth.iter().all(|&cost| cost <= HARMLESS);
        if harmless && self.in_place_depth <= 8 {
            return true;
        }
        let mut spent = 0;
        let deepest = self.spend(value, 0, &mut spent);
        spent <= BUDGET && deepest * self.in_place_depth <= 2_048
    }

    fn spend(&self, value: &Value, depth: usize, spent: &mut u64) -> usize {
        let here = self.by_depth.get(depth).or(self.by_depth.last()).copied().unwrap_or(1);
        *spent = spent.saturating_add(here);
        match value {
            Value::Array(list) => {
                list.iter().map(|item| self.spend(item, depth + 1, spent)).max().unwrap_or(depth + 1)
            }
            Value::Object(map) => {
                map.values().map(|item| self.spend(item, depth + 1, spent)).max().unwrap_or(depth + 1)
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => depth + 1,
        }
    }
}

/// Which subschemas judge one place, and how many times each.
type State = Vec<(usize, u64)>;

/// What each node brings along on the same value.
struct InPlace {
    /// Paths of in-place edges that start at a node.
    paths: Vec<u64>,
    /// The position of each node in an order with children before parents.
    ranks: Vec<usize>,
    factors: Vec<u64>,
    children: Vec<Vec<usize>>,
    depth: usize,
}

impl InPlace {
    fn of(graph: &Graph) -> Result<Self, SchemaError> {
        let children: Vec<Vec<usize>> = graph.nodes.iter().map(|node| node.in_place.clone()).collect();
        let order = children_first(&children).ok_or(SchemaError::Loop)?;
        let mut paths = vec![1_u64; children.len()];
        let mut depths = vec![1_usize; children.len()];
        for &node in &order {
            let (weight, factor) = graph.nodes.get(node).map_or((1, 1), |own| (own.weight, own.factor));
            let below = children.get(node).map_or(&[][..], Vec::as_slice);
            let sum = below
                .iter()
                .filter_map(|&child| paths.get(child))
                .fold(0_u64, |sum, &paths| sum.saturating_add(paths));
            let sum = weight.saturating_add(sum.saturating_mul(factor));
            let deepest = below.iter().filter_map(|&child| depths.get(child)).max().copied().unwrap_or(0);
            if let (Some(own), Some(depth)) = (paths.get_mut(node), depths.get_mut(node)) {
                *own = sum;
                *depth = deepest + 1;
            }
        }
        let depth = depths.into_iter().max().unwrap_or(1);
        if depth > MAX_IN_PLACE_DEPTH {
            return Err(SchemaError::TooLarge(format!("references nested deeper than {MAX_IN_PLACE_DEPTH}")));
        }
        let mut ranks = vec![0; children.len()];
        for (rank, &node) in order.iter().enumerate() {
            if let Some(slot) = ranks.get_mut(node) {
                *slot = rank;
            }
        }
        let factors = graph.nodes.iter().map(|node| node.factor).collect();
        Ok(Self { paths, ranks, factors, children, depth })
    }

    fn cost(&self, state: &State) -> u64 {
        state.iter().fold(0, |sum, &(node, count)| {
            let paths = self.paths.get(node).copied().unwrap_or(1);
            sum.saturating_add(count.saturating_mul(paths))
        })
    }

    /// Spreads a state over everything that is judged in the same place.
    fn closure(&self, state: &State) -> BTreeMap<usize, u64> {
        let mut counts: HashMap<usize, u64> = HashMap::new();
        let mut pending: Vec<usize> = Vec::new();
        for &(node, count) in state {
            let own = counts.entry(node).or_default();
            *own = own.saturating_add(count);
            pending.push(node);
        }
        let mut reached: HashSet<usize> = HashSet::new();
        while let Some(node) = pending.pop() {
            if reached.insert(node) {
                pending.extend(self.children.get(node).into_iter().flatten());
            }
        }
        let mut parents_first: Vec<usize> = reached.into_iter().collect();
        parents_first.sort_unstable_by_key(|&node| std::cmp::Reverse(self.ranks.get(node)));
        for node in parents_first {
            let factor = self.factors.get(node).copied().unwrap_or(1);
            let count = counts.get(&node).copied().unwrap_or(0).saturating_mul(factor);
            for &child in self.children.get(node).into_iter().flatten() {
                let own = counts.entry(child).or_default();
                *own = own.saturating_add(count);
            }
        }
        counts.into_iter().collect()
    }

    /// Returns the states one level further down: one for each name or position that is treated apart.
    fn step(&self, graph: &Graph, state: &State) -> Vec<State> {
        let here = self.closure(state);
        let mut any_property = Counts::default();
        let mut any_item = Counts::default();
        let mut properties: BTreeMap<&str, Counts> = BTreeMap::new();
        let mut positions: BTreeMap<usize, Counts> = BTreeMap::new();
        for (&id, &count) in &here {
            let Some(node) = graph.nodes.get(id) else { continue };
            node.any_property.iter().for_each(|&target| any_property.add(target, count));
            node.any_item.iter().for_each(|&target| any_item.add(target, count));
            for (name, targets) in &node.properties {
                targets.iter().for_each(|&target| properties.entry(name).or_default().add(target, count));
            }
            for (index, &target) in node.prefix.iter().enumerate() {
                positions.entry(index).or_default().add(target, count);
            }
        }
        let named = properties.into_values().map(|counts| counts.and(&any_property));
        let placed = positions.into_values().map(|counts| counts.and(&any_item));
        let mut states: Vec<State> = named.chain(placed).map(Counts::into_state).collect();
        states.push(any_property.into_state());
        states.push(any_item.into_state());
        states.retain(|state| !state.is_empty());
        states
    }
}

#[derive(Clone, Default)]
struct Counts(BTreeMap<usize, u64>);

impl Counts {
    fn add(&mut self, node: usize, count: u64) {
        let own = self.0.entry(node).or_default();
        *own = own.saturating_add(count);
    }

    fn and(mut self, other: &Self) -> Self {
        other.0.iter().for_each(|(&node, &count)| self.add(node, count));
        self
    }

    fn into_state(self) -> State {
        self.0.into_iter().collect()
    }
}

/// Orders nodes so that children come before parents; `None` when the edges form a cycle.
fn children_first(children: &[Vec<usize>]) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; children.len()];
    let mut order = Vec::with_capacity(children.len());
    for start in 0..children.len() {
        let mut stack = vec![(start, 0)];
        while let Some((node, next)) = stack.pop() {
            let mark = marks.get_mut(node)?;
            if next == 0 {
                match mark {
                    Mark::New => *mark = Mark::Open,
                    Mark::Open => return None,
                    Mark::Done => continue,
                }
            }
            match children.get(node)?.get(next) {
                Some(&child) => {
                    stack.push((node, next + 1));
                    stack.push((child, 0));
                }
                None => {
                    *marks.get_mut(node)? = Mark::Done;
                    order.push(node);
                }
            }
        }
    }
    Some(order)
}
