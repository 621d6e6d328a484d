//! A first, rough look at the whole program: which items may do anything at all.
//!
//! Most code does nothing to the world, whatever types it is given. What the rough look clears need not be followed with care. It
//! is generous: a method of a trait may be that of any type, so what it clears is clear.
//!
//! INVARIANT: an item that the careful look would find to do something is never cleared.

use std::collections::{HashMap, VecDeque};

use super::head::{Found, Inside};
use super::index::{Name, Node};
use super::path::Type;
use super::runs::{self, Traits};
use super::solve::Graph;
use super::summary::{CastKind, MentionKind};

/// The rough graph: items, and after them one node for each trait of std and each method of a trait of the program.
#[derive(Debug, Default)]
struct Rough {
    callers: Vec<Vec<u32>>,
    needs: HashMap<(Name, Name), u32>,
    active: Vec<u32>,
    items: u32,
}

impl Rough {
    fn edge(&mut self, from: u32, to: u32) {
        if self.callers.len() <= to as usize {
            self.callers.resize(to as usize + 1, Vec::new());
        }
        if let Some(callers) = self.callers.get_mut(to as usize) {
            callers.push(from);
        }
    }

    /// Returns the items from which something that is done can be reached, through nodes below a number.
    fn reaching(&self, below: u32) -> Vec<bool> {
        let mut found = vec![false; self.callers.len().max(self.items as usize)];
        let mut queue: VecDeque<u32> = self.active.iter().copied().collect();
        while let Some(node) = queue.pop_front() {
            match found.get_mut(node as usize) {
                Some(slot) if !*slot && node < below => *slot = true,
                _ => continue,
            }
            queue.extend(self.callers.get(node as usize).into_iter().flatten());
        }
        found.truncate(self.items as usize);
        found
    }

    fn wants(&mut self, from: u32, runs: Traits) {
        for bit in runs.bits() {
            self.edge(from, self.items + bit);
        }
    }

    fn need(&mut self, of: Name, method: Name) -> (u32, bool) {
        let next = self.items + Traits::COUNT + u32::try_from(self.needs.len()).unwrap_or(u32::MAX);
        let number = *self.needs.entry((of, method)).or_insert(next);
        (number, number == next)
    }
}

impl Graph<'_> {
    /// Returns for each item whether it may do anything, and whether it does something whatever types it is given.
    pub(super) fn survey(&mut self) -> (Vec<bool>, Vec<bool>) {
        let mut rough =
            Rough { items: u32::try_from(self.index.entries.len()).unwrap_or(u32::MAX), ..Rough::default() };
        for node in 0..rough.items {
            self.look(node, &mut rough);
        }
        for method in self.index.methods.values().flatten() {
            for bit in method.standard.bits() {
                rough.edge(rough.items + bit, method.node);
            }
        }
        let may = rough.reaching(u32::MAX);
        let sure = rough.reaching(rough.items);
        (may, sure)
    }

    fn look(&mut self, node: Node, rough: &mut Rough) {
        let Some(entry) = self.index.entries.get(node as usize).copied() else { return };
        let unit = entry.unit;
        let summaries = self.index.summaries;
        let Some(summary) = summaries.get(unit) else { return };
        for child in self.index.children.get(node as usize).into_iter().flatten() {
            rough.edge(node, *child);
        }
        if entry.item.assembly.is_some() {
            rough.active.push(node);
        }
        for mention in &entry.item.mentions {
            let meaning = self.meaning(unit, mention.kind, mention.what);
            self.mean(node, &meaning, rough);
            if mention.kind == MentionKind::Table
                && let Some((of, subject)) = summary.text(mention.what).split_once(" for ")
            {
                let object = format!("dyn {of}");
                self.hidden(node, unit, &Type::read(subject), &Type::read(&object), rough);
            }
        }
        for (dropped, _) in &entry.item.drops {
            let found = self.index.heads.inside(unit, &Type::read(summary.text(*dropped)), Inside::Owned);
            self.run_roughly(node, &found, Traits::DROP, rough);
        }
        for cast in &entry.item.casts {
            match cast.kind {
                CastKind::Unsize => {
                    self.hidden(
                        node,
                        unit,
                        &Type::read(summary.text(cast.from)),
                        &Type::read(summary.text(cast.to)),
                        rough,
                    );
                }
                CastKind::Transmute => rough.active.push(node),
                CastKind::Pointer | CastKind::Raw => {}
            }
        }
        self.futures(node, rough);
        for (called, _) in &entry.item.indirect {
            if summary.text(*called).starts_with("raw ") || summary.text(*called).contains("extern ") {
                rough.active.push(node);
            }
            for meaning in self.behind_pointer(node, unit, summary.text(*called)) {
                self.mean(node, &meaning, rough);
            }
        }
    }

    fn futures(&mut self, node: Node, rough: &mut Rough) {
        let found = self.lazy(node);
        self.run_roughly(node, &found, Traits::one("Future"), rough);
    }

    fn mean(&mut self, node: Node, meaning: &super::resolve::Meaning, rough: &mut Rough) {
        if !meaning.effects.is_empty() {
            rough.active.push(node);
        }
        for target in &meaning.targets {
            rough.edge(node, *target);
        }
        if !meaning.runs.is_empty() {
            self.run_roughly(node, &meaning.types, meaning.runs, rough);
        }
        if let Some((of, method)) = meaning.needs {
            let (number, new) = rough.need(of, method);
            rough.edge(node, number);
            if new {
                let targets: Vec<Node> = self
                    .index
                    .implementors(of, method)
                    .map(|(_, node)| node)
                    .chain(self.index.default_of(of, method).iter().copied())
                    .chain(self.index.for_all(of, method))
                    .collect();
                for target in targets {
                    rough.edge(number, target);
                }
            }
        }
    }

    fn run_roughly(&mut self, node: Node, found: &Found, runs: Traits, rough: &mut Rough) {
        if found.generic {
            rough.wants(node, runs);
        }
        let heads = self.widened(&found.heads);
        for head in &heads {
            for target in self.standard_methods(*head, runs, &heads) {
                rough.edge(node, target);
            }
        }
    }

    fn hidden(&mut self, node: Node, unit: usize, from: &Type<'_>, to: &Type<'_>, rough: &mut Rough) {
        let Some(of) = super::hide::object(to) else { return };
        let found = self.index.heads.inside(unit, from, Inside::Mentioned);
        if self.index.heads.is_standard(unit, of) {
            self.run_roughly(node, &found, runs::by_trait(of.tail(), "").with(Traits::DROP), rough);
            return;
        }
        let owned = self.index.heads.inside(unit, from, Inside::Owned);
        self.run_roughly(node, &owned, Traits::DROP, rough);
        let name = self.index.name(of.tail());
        for target in self.index.all_methods(&found.heads, name) {
            rough.edge(node, target);
        }
    }
}
