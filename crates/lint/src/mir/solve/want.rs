//! Calls, and the wants of their targets.
//!
//! Whatever is new is applied to what is known: a new want of a target to all calls of it, and all wants of a target to what is
//! new in a call of it.

use super::{Graph, MAX_TYPES};
use crate::mir::head::{Found, Head};
use crate::mir::index::{Name, Node};
use crate::mir::runs::Traits;
use crate::mir::summary::Spot;

/// All calls of one target by one caller, with the types that they name.
#[derive(Clone, Debug)]
pub(super) struct Call {
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
pub(super) enum Task {
    /// Applies a want to a call, for the types from a position on.
    Apply(u32, Want, usize),
    Reach(Node),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Want {
    Need(Name, Name),
    Runs(Traits),
}

impl Graph<'_> {
    /// Runs traits of the standard library on types.
    pub(in crate::mir) fn run(&mut self, node: Node, found: &Found, runs: Traits, spot: Spot) {
        let heads = self.widened(&found.heads);
        self.run_on(node, &heads, found.generic, runs, spot);
    }

    pub(super) fn run_on(&mut self, node: Node, heads: &[Head], generic: bool, runs: Traits, spot: Spot) {
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

    pub(super) fn need(&mut self, node: Node, of: Name, method: Name, told: bool) {
        let Some(state) = self.state.get_mut(node as usize) else { return };
        let newly_told = told && !state.told;
        state.told |= told;
        if state.needs.insert((of, method)) || newly_told {
            self.queue.extend(state.callers.iter().map(|call| Task::Apply(*call, Want::Need(of, method), 0)));
        }
    }

    pub(super) fn apply(&mut self, number: u32, want: Want, from: usize) {
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
}
