//! Which types matter to a call, what they bring along, and which methods of them it runs.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::{Graph, MAX_TYPES};
use crate::mir::head::{Head, Inside};
use crate::mir::index::Node;
use crate::mir::path::Type;
use crate::mir::runs::Traits;

impl Graph<'_> {
    /// Returns the types of a call that matter, with what closures among them hold and give and what is associated with them.
    pub(in crate::mir) fn widened(&mut self, heads: &[Head]) -> Vec<Head> {
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
    pub(in crate::mir) fn standard_methods(&mut self, head: Head, runs: Traits, among: &[Head]) -> Vec<Node> {
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

    pub(super) fn may_do(&self, node: Node) -> bool {
        self.may.is_empty() || self.may.get(node as usize).copied().unwrap_or(false)
    }

    /// Says whether a type matters to a call: it has methods that may do something, something inside it has, or it stands for such.
    pub(super) fn matters(&mut self, head: Head) -> bool {
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

    /// Returns the types in what an item gives, those that matter.
    pub(super) fn output(&mut self, node: Node) -> Rc<[Head]> {
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

    /// Says whether something is done by a method of a type, by the end of a value of it, or by a type that these lead to.
    pub(super) fn is_source(&mut self, head: Head) -> bool {
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

    /// Finds the types that do something, and those that lead to them.
    pub(super) fn find_sources(&mut self) {
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

    fn is_sure(&self, node: Node) -> bool {
        self.sure.get(node as usize) == Some(&true)
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
