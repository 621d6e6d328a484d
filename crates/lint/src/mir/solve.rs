//! Builds the graph of calls, from the tool's own functions down.
//!
//! A call names a target and types. What the target runs on types that its caller chooses is not known inside it, so it *wants*
//! it: each want is carried to the calls of the target, and met there with the types that the call names; where those are again
//! types that a caller chooses, the want goes on to that caller.
//!
//! INVARIANT: every want of a target has been applied to every call of it when the queue is empty.

mod interest;
mod want;

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use super::hash::Quick;
use super::head::{Found, Head, Inside};
use super::index::{Index, Name, Node};
use super::path::Type;
use super::resolve::Meaning;
use super::runs::Traits;
use super::summary::{MentionKind, Spot, Word};
use crate::{Effect, EffectSet};

use self::want::{Call, Task};

/// The graph of calls.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    pub(super) index: Index<'a>,
    pub(super) edges: Vec<Vec<(Node, Spot)>>,
    pub(super) leaves: Vec<Vec<Leaf>>,
    state: Vec<State>,
    calls: Vec<Call>,
    numbers: Quick<(Node, Node), u32>,
    /// For each call and what meets a want of it, how many of the call's types were handed on, and whether it was generic.
    handed: Quick<(u32, Node), (usize, bool)>,
    meanings: Quick<(usize, MentionKind, Word), Rc<Meaning>>,
    glues: Quick<Head, Rc<[Node]>>,
    outputs: Quick<Node, Rc<[Head]>>,
    /// For each item whether it may do anything; empty before the rough look.
    may: Vec<bool>,
    /// For each item whether it does something whatever types it is given.
    sure: Vec<bool>,
    interest: Quick<Head, bool>,
    sources: Quick<Head, bool>,
    /// The number of each type among those that matter.
    order: Vec<u32>,
    ordered: u32,
    pub(super) pointers: HashMap<Option<usize>, HashMap<String, Vec<Rc<Meaning>>>>,
    queue: VecDeque<Task>,
}

/// Something that an item does itself.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) effect: Effect,
    pub(super) mediated: bool,
    pub(super) shown: String,
    pub(super) spot: Spot,
    pub(super) literals: Vec<Word>,
}

#[derive(Clone, Debug, Default)]
struct State {
    reached: bool,
    runs: Traits,
    needs: HashSet<(Name, Name)>,
    /// Some want is for a type that is told by another, such as the items of an iterator.
    told: bool,
    callers: Vec<u32>,
}

/// A call with more types than this is counted with the first ones; printed types never have so many.
const MAX_TYPES: usize = 512;

impl<'a> Graph<'a> {
    pub(super) fn new(index: Index<'a>) -> Self {
        let count = index.entries.len();
        Self {
            index,
            edges: vec![Vec::new(); count],
            leaves: vec![Vec::new(); count],
            state: vec![State::default(); count],
            calls: Vec::new(),
            numbers: Quick::default(),
            handed: Quick::default(),
            meanings: Quick::default(),
            glues: Quick::default(),
            outputs: Quick::default(),
            may: Vec::new(),
            sure: Vec::new(),
            interest: Quick::default(),
            sources: Quick::default(),
            order: Vec::new(),
            ordered: 0,
            pointers: HashMap::new(),
            queue: VecDeque::new(),
        }
    }

    /// Follows everything that the given items can reach.
    pub(super) fn follow(&mut self, roots: impl Iterator<Item = Node>) {
        (self.may, self.sure) = self.survey();
        self.interest.clear();
        self.outputs.clear();
        self.find_sources();
        let always = self.index.always.clone();
        for root in roots {
            self.reach(root);
            let spot =
                self.index.entries.get(root as usize).and_then(|entry| entry.item.spot).unwrap_or_default();
            for node in &always {
                self.call(root, *node, &[], false, spot);
            }
        }
        while let Some(task) = self.queue.pop_front() {
            match task {
                Task::Apply(call, want, from) => self.apply(call, want, from),
                Task::Reach(node) => self.expand(node),
            }
        }
    }

    fn reach(&mut self, node: Node) {
        if let Some(state) = self.state.get_mut(node as usize)
            && !state.reached
        {
            state.reached = true;
            self.queue.push_back(Task::Reach(node));
        }
    }

    /// Returns the package of an item.
    pub(super) fn package(&self, node: Node) -> &'a str {
        let unit = self.index.entries.get(node as usize).map(|entry| entry.unit);
        unit.and_then(|unit| self.index.units.get(unit)).map_or("", |unit| &unit.package)
    }

    /// Says whether an item was reached.
    pub(super) fn is_reached(&self, node: Node) -> bool {
        self.state.get(node as usize).is_some_and(|state| state.reached)
    }

    /// Returns what a mention means.
    pub(super) fn meaning(&mut self, unit: usize, kind: MentionKind, what: Word) -> Rc<Meaning> {
        if let Some(known) = self.meanings.get(&(unit, kind, what)) {
            return Rc::clone(known);
        }
        let summaries = self.index.summaries;
        let text = summaries.get(unit).map_or("", |summary| summary.text(what));
        let found = self.index.meaning(unit, kind, text);
        self.meanings.insert((unit, kind, what), Rc::clone(&found));
        found
    }

    /// Returns what an item does itself, whether or not it was reached.
    pub(super) fn own_leaves(&mut self, node: Node) -> Vec<Leaf> {
        if !self.is_reached(node) {
            let Some(entry) = self.index.entries.get(node as usize).copied() else { return Vec::new() };
            if let Some(spot) = entry.item.assembly {
                self.leaf(node, EffectSet::of(Effect::Asm), false, "asm!", spot, &[]);
            }
            for mention in &entry.item.mentions {
                let meaning = self.meaning(entry.unit, mention.kind, mention.what);
                self.leaf(node, meaning.effects, meaning.mediated, &meaning.shown, mention.spot, &[]);
            }
        }
        self.leaves.get_mut(node as usize).map(std::mem::take).unwrap_or_default()
    }

    fn expand(&mut self, node: Node) {
        let Some(entry) = self.index.entries.get(node as usize).copied() else { return };
        let unit = entry.unit;
        let summaries = self.index.summaries;
        let Some(summary) = summaries.get(unit) else { return };
        for child in self.index.children.get(node as usize).cloned().unwrap_or_default() {
            let spot =
                self.index.entries.get(child as usize).and_then(|child| child.item.spot).unwrap_or_default();
            self.call(node, child, &[], true, spot);
        }
        if let Some(spot) = entry.item.assembly {
            self.leaf(node, EffectSet::of(Effect::Asm), false, "asm!", spot, &[]);
        }
        for mention in &entry.item.mentions {
            let meaning = self.meaning(unit, mention.kind, mention.what);
            let mut effects = meaning.effects;
            let mut literals = mention.literals.as_slice();
            if let Some(opened) = super::open::effects(entry.item, summary, &meaning) {
                self.leaf(node, opened, false, &meaning.shown, mention.spot, literals);
                continue;
            }
            if matches!(meaning.shown.as_str(), "std::fs::write" | "std::env::set_var") {
                // What is written is not where.
                literals = literals.get(..1).unwrap_or(literals);
            }
            if effects.contains(Effect::Exec) && literals.is_empty() {
                literals = super::open::program(entry.item, summary);
            }
            if effects.contains(Effect::DynUnresolved) && self.keeps_address_near(node) {
                effects = effects.minus(EffectSet::of(Effect::DynUnresolved));
            }
            self.leaf(node, effects, meaning.mediated, &meaning.shown, mention.spot, literals);
            self.use_meaning(node, &meaning, mention.spot);
            if mention.kind == MentionKind::Table
                && let Some((of, subject)) = summary.text(mention.what).split_once(" for ")
            {
                let object = format!("dyn {of}");
                self.hide(node, unit, &Type::read(subject), &Type::read(&object), mention.spot);
            }
        }
        for (dropped, spot) in &entry.item.drops {
            let found = self.index.heads.inside(unit, &Type::read(summary.text(*dropped)), Inside::Owned);
            self.run(node, &found, Traits::DROP, *spot);
        }
        self.casts(node, entry.item, unit);
        let found = self.lazy(node);
        self.run(node, &found, Traits::one("Future"), entry.item.spot.unwrap_or_default());
    }

    /// Returns the types in what an item gives, if one of them is a future: whoever makes a future is counted as running it.
    pub(super) fn lazy(&mut self, node: Node) -> Found {
        let Some(entry) = self.index.entries.get(node as usize).copied() else { return Found::default() };
        let summaries = self.index.summaries;
        let text = summaries.get(entry.unit).map_or("", |summary| summary.text(entry.item.output));
        let future = Traits::one("Future");
        if !entry.item.value && text.contains("::") {
            let found = self.index.heads.inside(entry.unit, &Type::read(text), Inside::Mentioned);
            if found.heads.iter().any(|head| {
                self.index
                    .methods
                    .get(head)
                    .is_some_and(|methods| methods.iter().any(|method| method.standard.meets(future)))
            }) {
                return found;
            }
        }
        Found::default()
    }

    /// Takes the calls that a mention means.
    pub(super) fn use_meaning(&mut self, node: Node, meaning: &Meaning, spot: Spot) {
        let heads = self.widened(&meaning.types.heads);
        let generic = meaning.types.generic || meaning.needs.is_some();
        for target in &meaning.targets {
            self.call(node, *target, &heads, generic, spot);
        }
        if !meaning.runs.is_empty() {
            self.run_on(node, &heads, meaning.types.generic, meaning.runs, spot);
        }
        if let Some((of, method)) = meaning.needs {
            self.need(node, of, method, meaning.told);
            for target in self.index.methods_of(&heads, of, method) {
                self.call(node, target, &heads, generic, spot);
            }
        }
    }

    /// Notes what an item does itself.
    pub(super) fn leaf(
        &mut self,
        node: Node,
        effects: EffectSet,
        mediated: bool,
        shown: &str,
        spot: Spot,
        literals: &[Word],
    ) {
        let Some(leaves) = self.leaves.get_mut(node as usize) else { return };
        for effect in effects.iter() {
            match leaves.iter_mut().find(|leaf| leaf.effect == effect && leaf.mediated == mediated) {
                Some(known) => {
                    for literal in literals {
                        if !known.literals.contains(literal) {
                            known.literals.push(*literal);
                        }
                    }
                }
                None => leaves.push(Leaf {
                    effect,
                    mediated,
                    shown: shown.to_owned(),
                    spot,
                    literals: literals.to_vec(),
                }),
            }
        }
    }
}
