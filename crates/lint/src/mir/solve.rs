//! Builds the graph of calls, from the tool's own functions down.
//!
//! A call names a target and types. What the target runs on types that its caller chooses is not known inside it, so it *wants*
//! it: each want is carried to the calls of the target, and met there with the types that the call names; where those are again
//! types that a caller chooses, the want goes on to that caller.
//!
//! INVARIANT: every want of a target has been applied to every call of it when the queue is empty.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use super::head::{Found, Head, Inside};
use super::index::{Index, Name, Node};
use super::path::Type;
use super::resolve::Meaning;
use super::runs::Traits;
use super::summary::{MentionKind, Spot, Word};
use crate::{Effect, EffectSet};

/// The graph of calls.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    pub(super) index: Index<'a>,
    pub(super) edges: Vec<Vec<(Node, Spot)>>,
    pub(super) leaves: Vec<Vec<Leaf>>,
    state: Vec<State>,
    calls: Vec<Call>,
    seen: HashSet<(Node, Node, u32, bool)>,
    joined: HashSet<(Node, Node)>,
    type_lists: Vec<Rc<[Head]>>,
    type_numbers: HashMap<Rc<[Head]>, u32>,
    meanings: HashMap<(usize, MentionKind, Word), Rc<Meaning>>,
    glues: HashMap<Head, Rc<[Node]>>,
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
    callers: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    caller: Node,
    target: Node,
    types: u32,
    generic: bool,
    spot: Spot,
}

#[derive(Clone, Copy, Debug)]
enum Want {
    Need(Name, Name),
    Runs(Traits),
}

#[derive(Clone, Copy, Debug)]
enum Task {
    Apply(u32, Want),
    Reach(Node),
}

/// A call with more types than this is counted with the first ones; printed types never have so many.
const MAX_TYPES: usize = 96;

impl<'a> Graph<'a> {
    pub(super) fn new(index: Index<'a>) -> Self {
        let count = index.entries.len();
        Self {
            index,
            edges: vec![Vec::new(); count],
            leaves: vec![Vec::new(); count],
            state: vec![State::default(); count],
            calls: Vec::new(),
            seen: HashSet::new(),
            joined: HashSet::new(),
            type_lists: Vec::new(),
            type_numbers: HashMap::new(),
            meanings: HashMap::new(),
            glues: HashMap::new(),
            pointers: HashMap::new(),
            queue: VecDeque::new(),
        }
    }

    /// Follows everything that the given items can reach.
    pub(super) fn follow(&mut self, roots: impl Iterator<Item = Node>) {
        for root in roots {
            self.reach(root);
        }
        while let Some(task) = self.queue.pop_front() {
            match task {
                Task::Apply(call, want) => self.apply(call, want),
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
        let none = self.type_list(Vec::new());
        for child in self.index.children.get(node as usize).cloned().unwrap_or_default() {
            let spot =
                self.index.entries.get(child as usize).and_then(|child| child.item.spot).unwrap_or_default();
            self.call(node, child, none, true, spot);
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
            if effects.contains(Effect::Exec) && literals.is_empty() {
                literals = super::open::program(entry.item, summary);
            }
            if effects.contains(Effect::DynUnresolved) && self.keeps_addresses(unit) {
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
    }

    /// Takes the calls that a mention means.
    pub(super) fn use_meaning(&mut self, node: Node, meaning: &Meaning, spot: Spot) {
        let types = self.widened(&meaning.types.heads);
        let generic = meaning.types.generic || meaning.needs.is_some();
        for target in &meaning.targets {
            self.call(node, *target, types, generic, spot);
        }
        if !meaning.runs.is_empty() {
            self.run(node, &meaning.types, meaning.runs, spot);
        }
        if let Some((of, method)) = meaning.needs {
            self.need(node, of, method);
            let list = self.type_lists.get(types as usize).cloned().unwrap_or_default();
            for target in self.index.methods_of(&list, of, method) {
                self.call(node, target, types, generic, spot);
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

    /// Runs traits of the standard library on types.
    pub(super) fn run(&mut self, node: Node, found: &Found, runs: Traits, spot: Spot) {
        let types = self.widened(&found.heads);
        if found.generic {
            self.want(node, runs);
        }
        for head in self.type_lists.get(types as usize).cloned().unwrap_or_default().iter() {
            for target in self.standard_methods(*head, runs) {
                self.call(node, target, types, found.generic, spot);
            }
        }
    }

    /// Adds a call; its target's wants are applied to it.
    pub(super) fn call(&mut self, caller: Node, target: Node, types: u32, generic: bool, spot: Spot) {
        if caller == target || !self.seen.insert((caller, target, types, generic)) {
            return;
        }
        if self.joined.insert((caller, target))
            && let Some(edges) = self.edges.get_mut(caller as usize)
        {
            edges.push((target, spot));
        }
        self.reach(target);
        let empty = self.type_lists.get(types as usize).is_none_or(|list| list.is_empty());
        if empty && !generic {
            return;
        }
        let number = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.calls.push(Call { caller, target, types, generic, spot });
        let Some(state) = self.state.get_mut(target as usize) else { return };
        state.callers.push(number);
        if !state.runs.is_empty() {
            self.queue.push_back(Task::Apply(number, Want::Runs(state.runs)));
        }
        for (of, method) in &state.needs {
            self.queue.push_back(Task::Apply(number, Want::Need(*of, *method)));
        }
    }

    fn want(&mut self, node: Node, runs: Traits) {
        let Some(state) = self.state.get_mut(node as usize) else { return };
        let new = runs.without(state.runs);
        if !new.is_empty() {
            state.runs = state.runs.with(new);
            self.queue.extend(state.callers.iter().map(|call| Task::Apply(*call, Want::Runs(new))));
        }
    }

    fn need(&mut self, node: Node, of: Name, method: Name) {
        let Some(state) = self.state.get_mut(node as usize) else { return };
        if state.needs.insert((of, method)) {
            self.queue.extend(state.callers.iter().map(|call| Task::Apply(*call, Want::Need(of, method))));
        }
    }

    fn apply(&mut self, call: u32, want: Want) {
        let Some(call) = self.calls.get(call as usize).copied() else { return };
        let list = self.type_lists.get(call.types as usize).cloned().unwrap_or_default();
        match want {
            Want::Runs(runs) => {
                if call.generic {
                    self.want(call.caller, runs);
                }
                for head in list.iter() {
                    for target in self.standard_methods(*head, runs) {
                        self.met(call, &list, target);
                    }
                }
            }
            Want::Need(of, method) => {
                if call.generic {
                    self.need(call.caller, of, method);
                }
                let mut targets = self.index.methods_of(&list, of, method);
                for head in list.iter() {
                    if self.index.is_object_of(*head, of) {
                        targets.extend(self.index.implementors(of, method).map(|(_, node)| node));
                    }
                }
                if targets.is_empty() && !list.is_empty() {
                    targets.extend(self.index.default_of(of, method));
                }
                for target in targets {
                    self.met(call, &list, target);
                }
            }
        }
    }

    /// A want of a call's target is met by `target`: what it gives may be wanted too.
    fn met(&mut self, call: Call, list: &Rc<[Head]>, target: Node) {
        self.call(call.caller, target, call.types, call.generic, call.spot);
        let mut wider = list.to_vec();
        wider.extend(self.output(target));
        wider.sort_unstable();
        wider.dedup();
        if wider.len() > list.len() && wider.len() <= MAX_TYPES {
            let types = self.type_list(wider);
            self.call(call.caller, call.target, types, call.generic, call.spot);
        }
    }

    /// Returns the types in what an item gives, those that have methods.
    fn output(&mut self, node: Node) -> Vec<Head> {
        let Some(entry) = self.index.entries.get(node as usize).copied() else { return Vec::new() };
        let summaries = self.index.summaries;
        let Some(summary) = summaries.get(entry.unit) else { return Vec::new() };
        let found = self.index.heads.inside(
            entry.unit,
            &Type::read(summary.text(entry.item.output)),
            Inside::Mentioned,
        );
        found.heads.into_iter().filter(|head| self.index.is_of_interest(*head)).collect()
    }

    /// Returns the types of a call that matter, with what closures among them give and what types are associated with them.
    fn widened(&mut self, heads: &[Head]) -> u32 {
        let mut list: Vec<Head> =
            heads.iter().copied().filter(|head| self.index.is_of_interest(*head)).collect();
        let mut at = 0;
        while let Some(head) = list.get(at).copied().filter(|_| list.len() < MAX_TYPES) {
            at += 1;
            let mut more: Vec<Head> = self.index.associated.get(&head).cloned().unwrap_or_default();
            if let Some(place) = self.index.heads.text(head).strip_prefix("closure:") {
                for node in self.index.closures.get(place).cloned().unwrap_or_default() {
                    more.extend(self.output(node));
                }
            }
            for head in more {
                if !list.contains(&head) && self.index.is_of_interest(head) {
                    list.push(head);
                }
            }
        }
        list.sort_unstable();
        list.dedup();
        self.type_list(list)
    }

    fn type_list(&mut self, list: Vec<Head>) -> u32 {
        if let Some(number) = self.type_numbers.get(list.as_slice()) {
            return *number;
        }
        let number = u32::try_from(self.type_lists.len()).unwrap_or(u32::MAX);
        let list: Rc<[Head]> = list.into();
        self.type_lists.push(Rc::clone(&list));
        self.type_numbers.insert(list, number);
        number
    }

    /// Returns the methods of a type for traits of the standard library.
    fn standard_methods(&mut self, head: Head, runs: Traits) -> Vec<Node> {
        let mut targets = Vec::new();
        let others = runs.without(Traits::DROP);
        let heads = match self.index.object(head) {
            Some(of) => self.index.types_with(of),
            None => vec![head],
        };
        for head in heads {
            let methods = self.index.methods.get(&head).into_iter().flatten();
            targets.extend(methods.filter(|method| method.standard.meets(others)).map(|method| method.node));
        }
        if runs.meets(Traits::DROP) {
            targets.extend(self.glue(head).iter());
        }
        targets
    }

    /// Returns what runs when a value of a type goes: the `Drop` of it and of everything inside.
    fn glue(&mut self, head: Head) -> Rc<[Node]> {
        if let Some(known) = self.glues.get(&head) {
            return Rc::clone(known);
        }
        let mut seen = HashSet::from([head]);
        let mut order = vec![head];
        let mut nodes = Vec::new();
        let mut at = 0;
        while let Some(next) = order.get(at).copied() {
            at += 1;
            nodes.extend(
                self.index
                    .methods
                    .get(&next)
                    .into_iter()
                    .flatten()
                    .filter(|method| method.standard.meets(Traits::DROP))
                    .map(|method| method.node),
            );
            let objects = self.index.object(next).map(|of| self.index.types_with(of)).unwrap_or_default();
            for inner in self.index.parts.get(&next).into_iter().flatten().copied().chain(objects) {
                if seen.insert(inner) {
                    order.push(inner);
                }
            }
        }
        let nodes: Rc<[Node]> = nodes.into();
        self.glues.insert(head, Rc::clone(&nodes));
        nodes
    }
}
