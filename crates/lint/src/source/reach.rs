//! What every function reaches, and the shortest way there.
//!
//! INVARIANT: a way is a chain of real calls: each step calls the next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::graph::{Direct, Graph, name};
use super::kind::Kinds;
use super::model::{Sort, Spot, Unit};
use crate::{
    Analysis, Effect, EffectSet, FunctionKind, Hop, Package, Place, Project, Use, Verdict, shortened,
};

/// An effect, and whether a handle mediates it.
type Reached = (Effect, bool);

/// For each node the next step of its way, where it has one.
type Steps = Vec<Option<Next>>;

/// Where a node goes next on the shortest way to an effect.
#[derive(Clone, Copy)]
enum Next {
    Call(usize, Spot),
    Touch(usize),
}

pub(crate) fn analysis(project: &Project, kinds: &Kinds<'_>, graph: &Graph) -> Analysis {
    let units = kinds.world.units;
    let mut callers: Vec<Vec<(usize, Spot)>> = vec![Vec::new(); graph.nodes.len()];
    for (from, calls) in graph.calls.iter().enumerate() {
        for (to, spot) in calls {
            if let Some(callers) = callers.get_mut(*to) {
                callers.push((from, *spot));
            }
        }
    }
    let mut touching: BTreeMap<(Effect, bool), Vec<usize>> = BTreeMap::new();
    for (number, direct) in graph.direct.iter().enumerate() {
        touching.entry((direct.effect, direct.mediated)).or_default().push(number);
    }
    let ways: Vec<(Reached, Steps)> =
        touching.into_iter().map(|(key, users)| (key, spread(graph, &callers, &users))).collect();

    let shown = Shown { project, kinds, graph, units };
    let mut functions = Vec::new();
    for (node, (id, block)) in graph.nodes.iter().enumerate() {
        let Some(function) = kinds.function(*id) else { continue };
        let is_own =
            units.get(id.0).and_then(|unit| project.packages.get(unit.package)).is_some_and(|one| one.own);
        if !is_own || !function.has_body || (function.sort != Sort::Function && *block == 0) {
            continue;
        }
        let uses =
            ways.iter().filter_map(|((effect, mediated), next)| shown.way(node, next, *effect, *mediated));
        functions.push(Verdict {
            function: shown.name(node),
            kind: if *block == 0 { FunctionKind::Function } else { FunctionKind::Closure },
            place: shown.place(node),
            uses: uses.collect(),
        });
    }
    functions.sort_by(|left, right| (&left.function, &left.place).cmp(&(&right.function, &right.place)));
    Analysis { functions, packages: packages(&shown) }
}

/// Goes from everything that touches the world to everything that calls it, nearest first.
fn spread(graph: &Graph, callers: &[Vec<(usize, Spot)>], users: &[usize]) -> Steps {
    let mut next: Steps = vec![None; graph.nodes.len()];
    let mut open = VecDeque::new();
    for number in users {
        let Some(direct) = graph.direct.get(*number) else { continue };
        if let Some(slot @ None) = next.get_mut(direct.node) {
            *slot = Some(Next::Touch(*number));
            open.push_back(direct.node);
        }
    }
    while let Some(node) = open.pop_front() {
        for (caller, spot) in callers.get(node).into_iter().flatten() {
            if let Some(slot @ None) = next.get_mut(*caller) {
                *slot = Some(Next::Call(node, *spot));
                open.push_back(*caller);
            }
        }
    }
    next
}

struct Shown<'a> {
    project: &'a Project,
    kinds: &'a Kinds<'a>,
    graph: &'a Graph,
    units: &'a [Unit],
}

impl Shown<'_> {
    fn unit(&self, node: usize) -> Option<&Unit> {
        let (id, _) = self.graph.nodes.get(node)?;
        self.units.get(id.0)
    }

    fn name(&self, node: usize) -> String {
        let Some((id, block)) = self.graph.nodes.get(node) else { return String::new() };
        let own = name(self.kinds, *id);
        if *block == 0 { own } else { format!("{own}::{{closure#{}}}", block - 1) }
    }

    fn place(&self, node: usize) -> Option<Place> {
        let (id, block) = self.graph.nodes.get(node)?;
        let function = self.kinds.function(*id)?;
        self.at(node, function.body.blocks.get(*block)?.spot)
    }

    fn at(&self, node: usize, spot: Spot) -> Option<Place> {
        let file = self.unit(node)?.files.get(usize::try_from(spot.file).ok()?)?.clone();
        Some(Place { file, line: spot.line, column: spot.column })
    }

    fn way(&self, start: usize, next: &[Option<Next>], effect: Effect, mediated: bool) -> Option<Use> {
        let mut node = start;
        let mut way = vec![Hop { name: self.name(start), place: self.place(start) }];
        // Every step is nearer to the end, so there are no more steps than nodes.
        for _ in 0..=self.graph.nodes.len() {
            match next.get(node).copied().flatten()? {
                Next::Call(to, spot) => {
                    way.push(Hop { name: self.name(to), place: self.at(node, spot) });
                    node = to;
                }
                Next::Touch(number) => {
                    let direct = self.graph.direct.get(number)?;
                    way.push(Hop { name: direct.name.clone(), place: self.at(node, direct.spot) });
                    let package = self.unit(node).and_then(|unit| self.project.packages.get(unit.package))?;
                    return Some(Use {
                        effect,
                        mediated,
                        package: package.id(),
                        way: shortened(way),
                        literals: self.literals(start, next, effect, mediated),
                    });
                }
            }
        }
        None
    }

    /// Returns what the own code that is reached says literally.
    fn literals(&self, start: usize, next: &[Option<Next>], effect: Effect, mediated: bool) -> Vec<String> {
        let is_own = |node: usize| {
            let package = self.unit(node).and_then(|unit| self.project.packages.get(unit.package));
            package.is_some_and(|package| package.own) && next.get(node).copied().flatten().is_some()
        };
        let mut seen = BTreeSet::from([start]);
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            for (to, _) in self.graph.calls.get(node).into_iter().flatten() {
                if is_own(*to) && seen.insert(*to) {
                    open.push(*to);
                }
            }
        }
        let fits = |direct: &&Direct| {
            direct.effect == effect
                && direct.mediated == mediated
                && !direct.literals.is_empty()
                && seen.contains(&direct.node)
        };
        let all: BTreeSet<String> = self
            .graph
            .direct
            .iter()
            .filter(fits)
            .flat_map(|direct| direct.literals.iter().cloned())
            .collect();
        all.into_iter().collect()
    }
}

fn packages(shown: &Shown<'_>) -> Vec<Package> {
    let mut held: Vec<BTreeMap<Effect, Hop>> = vec![BTreeMap::new(); shown.project.packages.len()];
    let mut hold = |package: usize, effect: Effect, hop: Hop| {
        if let Some(held) = held.get_mut(package) {
            held.entry(effect).or_insert(hop);
        }
    };
    for direct in shown.graph.direct.iter().filter(|direct| !direct.mediated) {
        let Some(unit) = shown.unit(direct.node) else { continue };
        let place = shown.at(direct.node, direct.spot);
        hold(unit.package, direct.effect, Hop { name: direct.name.clone(), place });
    }
    for unit in shown.units {
        for (effect, name, spot) in &unit.holds {
            let file = usize::try_from(spot.file).ok().and_then(|file| unit.files.get(file));
            let place = file.map(|file| Place { file: file.clone(), line: spot.line, column: spot.column });
            hold(unit.package, *effect, Hop { name: name.clone(), place });
        }
    }
    for (number, package) in shown.project.packages.iter().enumerate() {
        for target in &package.targets {
            let effect = match target.kind {
                crate::TargetKind::BuildScript => Effect::BuildScript,
                crate::TargetKind::ProcMacro => Effect::ProcMacro,
                crate::TargetKind::Binary | crate::TargetKind::Library => continue,
            };
            let place = shown.project.place(package, &target.source, 1, 1);
            hold(number, effect, Hop { name: target.name.clone(), place: Some(place) });
        }
    }
    let of = |(package, held): (&crate::SourcePackage, BTreeMap<Effect, Hop>)| Package {
        name: package.name.clone(),
        version: package.version.clone(),
        checksum: package.checksum.clone().filter(|_| !package.own),
        own: package.own,
        holds: held.keys().copied().collect::<EffectSet>(),
        places: held.into_iter().collect(),
        doubt: None,
    };
    shown.project.packages.iter().zip(held).map(of).collect()
}
