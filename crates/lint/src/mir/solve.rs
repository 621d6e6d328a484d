//! Builds the graph of calls, from the tool's own functions down.
//!
//! A call names a target and types. What the target runs on types that its caller chooses is not known inside it, so it *wants*
//! it: each want is carried to the calls of the target, and met there with the types that the call names; where those are again
//! types that a caller chooses, the want goes on to that caller.
//!
//! INVARIANT: every want of a target has been applied to every call of it when the queue is empty.

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

/// All calls of one target by one caller, with the types that they name.
#[derive(Clone, Debug)]
struct Call {
    caller: Node,
    target: Node,
    heads: Vec<Head>,
    /// The same types as a set, by the order in which they were found to matter.
    held: Vec<u64>,
    generic: bool,
    spot: Spot,
}

impl Call {
    /// Adds a type; says whether it is new.
    fn insert(&mut self, bit: u32) -> bool {
        let (word, mask) = ((bit / 64) as usize, 1 << (bit % 64));
        if self.held.len() <= word {
            self.held.resize(word + 1, 0);
        }
        self.held.get_mut(word).is_some_and(|word| {
            let new = *word & mask == 0;
            *word |= mask;
            new
        })
    }
}

#[derive(Clone, Copy, Debug)]
enum Want {
    Need(Name, Name),
    Runs(Traits),
}

#[derive(Clone, Copy, Debug)]
enum Task {
    /// Applies a want to a call, for the types from a position on.
    Apply(u32, Want, usize),
    Reach(Node),
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

    /// Runs traits of the standard library on types.
    pub(super) fn run(&mut self, node: Node, found: &Found, runs: Traits, spot: Spot) {
        let heads = self.widened(&found.heads);
        self.run_on(node, &heads, found.generic, runs, spot);
    }

    fn run_on(&mut self, node: Node, heads: &[Head], generic: bool, runs: Traits, spot: Spot) {
        if generic {
            self.want(node, runs);
        }
        for head in heads {
            for target in self.standard_methods(*head, runs, heads) {
                self.call(node, target, heads, generic, spot);
            }
        }
    }

    /// Adds a call; its target's wants are applied to what is new in it.
    pub(super) fn call(&mut self, caller: Node, target: Node, heads: &[Head], generic: bool, spot: Spot) {
        if caller == target || !self.may_do(target) {
            return;
        }
        // Types that lead to nothing by themselves lead to nothing together, if the caller's caller adds none.
        let heads = if generic || heads.iter().any(|head| self.is_source(*head)) { heads } else { &[] };
        let number = match self.numbers.get(&(caller, target)) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
                self.numbers.insert((caller, target), number);
                self.calls.push(Call {
                    caller,
                    target,
                    heads: Vec::new(),
                    held: Vec::new(),
                    generic: false,
                    spot,
                });
                if let Some(edges) = self.edges.get_mut(caller as usize) {
                    edges.push((target, spot));
                }
                if let Some(state) = self.state.get_mut(target as usize) {
                    state.callers.push(number);
                }
                self.reach(target);
                number
            }
        };
        let (Some(call), Some(state)) =
            (self.calls.get_mut(number as usize), self.state.get(target as usize))
        else {
            return;
        };
        let from = call.heads.len();
        for head in heads {
            let bit = match self.order.get(head.0 as usize) {
                Some(bit) if *bit != u32::MAX => *bit,
                _ => {
                    self.order.resize(self.order.len().max(head.0 as usize + 1), u32::MAX);
                    let next = self.ordered;
                    self.ordered += 1;
                    if let Some(slot) = self.order.get_mut(head.0 as usize) {
                        *slot = next;
                    }
                    next
                }
            };
            if call.heads.len() < MAX_TYPES && call.insert(bit) {
                call.heads.push(*head);
            }
        }
        if call.heads.len() == from && (call.generic || !generic) {
            return;
        }
        call.generic |= generic;
        if !state.runs.is_empty() {
            self.queue.push_back(Task::Apply(number, Want::Runs(state.runs), from));
        }
        self.queue.extend(
            state.needs.iter().map(|(of, method)| Task::Apply(number, Want::Need(*of, *method), from)),
        );
    }

    fn want(&mut self, node: Node, runs: Traits) {
        let Some(state) = self.state.get_mut(node as usize) else { return };
        let new = runs.without(state.runs);
        if !new.is_empty() {
            state.runs = state.runs.with(new);
            self.queue.extend(state.callers.iter().map(|call| Task::Apply(*call, Want::Runs(new), 0)));
        }
    }

    fn need(&mut self, node: Node, of: Name, method: Name, told: bool) {
        let Some(state) = self.state.get_mut(node as usize) else { return };
        let newly_told = told && !state.told;
        state.told |= told;
        if state.needs.insert((of, method)) || newly_told {
            self.queue.extend(state.callers.iter().map(|call| Task::Apply(*call, Want::Need(of, method), 0)));
        }
    }

    fn apply(&mut self, number: u32, want: Want, from: usize) {
        let Some(call) = self.calls.get(number as usize) else { return };
        let (caller, target, generic, spot) = (call.caller, call.target, call.generic, call.spot);
        let heads = call.heads.clone();
        let new = heads.get(from..).unwrap_or(&[]);
        let told = self.state.get(target as usize).is_some_and(|state| state.told);
        let mut targets = Vec::new();
        let mut telling = Vec::new();
        match want {
            Want::Runs(runs) => {
                if generic {
                    self.want(caller, runs);
                }
                for head in new {
                    targets.extend(self.standard_methods(*head, runs, &heads));
                    if told {
                        telling.extend(self.standard_methods(*head, runs.and(Traits::telling()), &heads));
                    }
                }
            }
            Want::Need(of, method) => {
                if generic {
                    self.need(caller, of, method, told);
                }
                targets = self.index.methods_of(new, of, method);
                for head in new {
                    if self.index.is_object_of(*head, of) {
                        targets.extend(self.index.implementors(of, method).map(|(_, node)| node));
                    }
                }
                if targets.is_empty()
                    && !heads.is_empty()
                    && self.index.methods_of(&heads, of, method).is_empty()
                {
                    targets.extend(self.index.default_of(of, method));
                }
            }
        }
        if told {
            let mut more: Vec<Head> =
                new.iter().filter_map(|head| self.index.associated.get(head)).flatten().copied().collect();
            if let Want::Need(..) = want {
                telling.clone_from(&targets);
            }
            for met in telling {
                more.extend(self.output(met).iter());
            }
            more.retain(|head| self.matters(*head));
            self.call(caller, target, &more, generic, spot);
        }
        for met in targets {
            // Most wants are met by what met one before.
            let handed = self.handed.entry((number, met)).or_default();
            let new =
                if handed.1 == generic { heads.get(handed.0..).unwrap_or(&[]) } else { heads.as_slice() };
            let first = *handed == (0, false);
            if !new.is_empty() || first {
                *handed = (heads.len(), generic);
                self.call(caller, met, new, generic, spot);
            }
        }
    }

    fn may_do(&self, node: Node) -> bool {
        self.may.is_empty() || self.may.get(node as usize).copied().unwrap_or(false)
    }

    /// Says whether a type matters to a call: it has methods that may do something, something inside it has, or it stands for such.
    fn matters(&mut self, head: Head) -> bool {
        if let Some(known) = self.interest.get(&head) {
            return *known;
        }
        let methods = self
            .index
            .methods
            .get(&head)
            .is_some_and(|methods| methods.iter().any(|method| self.may_do(method.node)));
        let inside = self.glue(head).iter().any(|node| self.may_do(*node));
        let methods = methods
            || self.index.givers.get(&head).is_some_and(|nodes| nodes.iter().any(|node| self.may_do(*node)));
        let object = self.index.object(head).map(|of| self.index.types_with(of)).unwrap_or_default();
        let associated = self.index.associated.get(&head).is_some_and(|heads| {
            heads.iter().any(|head| {
                self.index
                    .methods
                    .get(head)
                    .is_some_and(|methods| methods.iter().any(|method| self.may_do(method.node)))
            })
        });
        let found = methods
            || inside
            || associated
            || object.iter().any(|head| {
                self.index
                    .methods
                    .get(head)
                    .is_some_and(|methods| methods.iter().any(|method| self.may_do(method.node)))
            });
        self.interest.insert(head, found);
        found
    }

    /// Says whether something is done by a method of a type, by the end of a value of it, or by a type that these lead to.
    fn is_source(&mut self, head: Head) -> bool {
        if let Some(known) = self.sources.get(&head) {
            return *known;
        }
        // What is not in the list has no methods of its own: an object stands for the types behind it.
        let behind = self.index.object(head).map(|of| self.index.types_with(of)).unwrap_or_default();
        let found = self.glue(head).iter().any(|node| self.is_sure(*node))
            || behind.iter().any(|head| self.sources.get(head) == Some(&true));
        self.sources.insert(head, found);
        found
    }

    fn is_sure(&self, node: Node) -> bool {
        self.sure.get(node as usize) == Some(&true)
    }

    /// Finds the types that do something, and those that lead to them.
    fn find_sources(&mut self) {
        let index = &self.index;
        let heads: HashSet<Head> = index
            .methods
            .keys()
            .chain(index.associated.keys())
            .chain(index.parts.keys())
            .chain(index.givers.keys())
            .copied()
            .collect();
        let mut lead: HashMap<Head, Vec<Head>> = HashMap::new();
        let mut open = Vec::new();
        for head in &heads {
            let methods: Vec<Node> =
                self.index.methods.get(head).into_iter().flatten().map(|method| method.node).collect();
            let givers = self.index.givers.get(head).cloned().unwrap_or_default();
            if methods.iter().chain(&givers).any(|node| self.is_sure(*node))
                || self.glue(*head).iter().any(|node| self.is_sure(*node))
            {
                open.push(*head);
            }
            let mut next: Vec<Head> = self.index.associated.get(head).cloned().unwrap_or_default();
            for node in methods {
                next.extend(self.output(node).iter());
            }
            for next in next {
                lead.entry(next).or_default().push(*head);
                if let Some(of) = self.index.object(next) {
                    for behind in self.index.types_with(of) {
                        lead.entry(behind).or_default().push(*head);
                    }
                }
            }
        }
        self.sources = heads.into_iter().map(|head| (head, false)).collect();
        while let Some(head) = open.pop() {
            if self.sources.insert(head, true) != Some(true) {
                open.extend(lead.get(&head).into_iter().flatten());
            }
        }
    }

    /// Returns the types in what an item gives, those that matter.
    fn output(&mut self, node: Node) -> Rc<[Head]> {
        if let Some(known) = self.outputs.get(&node) {
            return Rc::clone(known);
        }
        let summaries = self.index.summaries;
        let mut found = Vec::new();
        if let Some(entry) = self.index.entries.get(node as usize).copied()
            && let Some(summary) = summaries.get(entry.unit)
        {
            found = self
                .index
                .heads
                .inside(entry.unit, &Type::read(summary.text(entry.item.output)), Inside::Mentioned)
                .heads;
            found.retain(|head| self.matters(*head));
        }
        let found: Rc<[Head]> = found.into();
        self.outputs.insert(node, Rc::clone(&found));
        found
    }

    /// Returns the types of a call that matter, with what closures among them hold and give and what is associated with them.
    pub(super) fn widened(&mut self, heads: &[Head]) -> Vec<Head> {
        let mut list = heads.to_vec();
        let mut at = 0;
        while let Some(head) = list.get(at).copied().filter(|_| list.len() < MAX_TYPES) {
            at += 1;
            let mut more: Vec<Head> = Vec::new();
            let text = self.index.heads.text(head);
            // What is associated with a type of std is too far off to be meant.
            if text.starts_with(|c: char| c.is_ascii_digit()) {
                more.extend(self.index.associated.get(&head).into_iter().flatten());
            } else if text.starts_with("closure:") {
                more.extend(self.index.parts.get(&head).into_iter().flatten());
            }
            if let Some(place) = self.index.heads.text(head).strip_prefix("closure:") {
                for node in self.index.closures.get(place).cloned().unwrap_or_default() {
                    more.extend(self.output(node).iter());
                }
            }
            for head in more {
                if !list.contains(&head) {
                    list.push(head);
                }
            }
        }
        list.retain(|head| self.matters(*head));
        list
    }

    /// Returns the methods of a type for traits of the standard library, with the types that are `among` those of the call.
    pub(super) fn standard_methods(&mut self, head: Head, runs: Traits, among: &[Head]) -> Vec<Node> {
        let mut targets = Vec::new();
        let others = runs.without(Traits::DROP);
        let heads = match self.index.object(head) {
            Some(of) => self.index.types_with(of),
            None => vec![head],
        };
        for head in heads {
            let methods = self.index.methods.get(&head).into_iter().flatten();
            targets.extend(
                methods
                    .filter(|method| method.standard.meets(others))
                    .filter(|method| self.index.is_given(method, among))
                    .map(|method| method.node),
            );
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
