//! From a solved flow to what the engines report: for each function what it reaches and on which way.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::flow::{Direct, Flow, FunctionId, PackageId, Site};
use crate::{Analysis, Effect, EffectSet, Hop, Package, Use, Verdict, shortened};

const MAX_LITERALS: usize = 20;

/// For one effect: from each function that reaches it, the next step towards it.
type Steps = HashMap<FunctionId, (FunctionId, Site)>;

impl Flow<'_> {
    /// Writes down what was found. `packages` are in the order of their numbers, with what they are already set.
    pub(crate) fn analysis(&self, mut packages: Vec<Package>) -> Analysis {
        for direct in &self.directs {
            let Some(function) = self.function_at(direct.function) else { continue };
            let Some(package) = packages.get_mut(function.package.0 as usize) else { continue };
            if !package.holds.contains(direct.effect) {
                package.holds.insert(direct.effect);
                package.places.push((direct.effect, self.last_hop(direct)));
            }
        }
        for package in &mut packages {
            package.places.sort_by_key(|(effect, _)| *effect);
        }
        let mut functions = self.verdicts(&packages);
        functions.sort_by(|a, b| (&a.function, &a.place).cmp(&(&b.function, &b.place)));
        // The two sides of an assignment part by part are walked twice.
        functions.dedup_by(|a, b| a.function == b.function && a.place == b.place);
        packages.sort_by(|a, b| (!a.own, &a.name, &a.version).cmp(&(!b.own, &b.name, &b.version)));
        Analysis { functions, packages }
    }

    fn verdicts(&self, packages: &[Package]) -> Vec<Verdict> {
        let is_own = |package: PackageId| packages.get(package.0 as usize).is_some_and(|package| package.own);
        let mut callers: HashMap<FunctionId, Vec<(FunctionId, Site)>> = HashMap::new();
        let mut callees: BTreeMap<FunctionId, Vec<FunctionId>> = BTreeMap::new();
        let mut edges: Vec<_> = self.edges.iter().map(|((from, to), site)| (*from, *to, *site)).collect();
        edges.sort_unstable_by_key(|(from, to, _)| (*from, *to));
        for (from, to, site) in edges {
            callers.entry(to).or_default().push((from, site));
            callees.entry(from).or_default().push(to);
        }
        let mut directs: BTreeMap<(Effect, FunctionId), Vec<&Direct>> = BTreeMap::new();
        for direct in &self.directs {
            directs.entry((direct.effect, direct.function)).or_default().push(direct);
        }
        let steps: Vec<(Effect, Steps, BTreeSet<FunctionId>)> = Effect::ALL
            .into_iter()
            .map(|effect| {
                let sources: BTreeSet<FunctionId> = directs
                    .range((effect, FunctionId(0))..=(effect, FunctionId(u32::MAX)))
                    .map(|((_, id), _)| *id)
                    .collect();
                (effect, towards(&sources, &callers), sources)
            })
            .collect();
        let mut verdicts = Vec::new();
        for (index, function) in self.functions.iter().enumerate() {
            let id = FunctionId(index as u32);
            if !is_own(function.package) {
                continue;
            }
            let place = self.place(function.file, function.offset);
            let first = Hop { name: function.name.clone(), place: place.clone() };
            let reached: EffectSet = steps
                .iter()
                .filter(|(_, steps, sources)| sources.contains(&id) || steps.contains_key(&id))
                .map(|(effect, _, _)| *effect)
                .collect();
            let near =
                if reached.is_empty() { BTreeSet::new() } else { self.own_reach(id, &callees, &is_own) };
            let uses = steps.iter().filter(|(effect, _, _)| reached.contains(*effect)).filter_map(
                |(effect, steps, _)| {
                    let mut way = vec![first.clone()];
                    let mut at = id;
                    while let Some((next, site)) = steps.get(&at) {
                        let name = self.function_at(*next)?.name.clone();
                        way.push(Hop { name, place: self.place(site.file, site.offset) });
                        at = *next;
                    }
                    let last = directs.get(&(*effect, at))?.first()?;
                    way.push(self.last_hop(last));
                    let package = packages.get(self.function_at(at)?.package.0 as usize)?.id();
                    let mut literals: BTreeSet<&String> = last.literals.iter().collect();
                    for function in &near {
                        let found = directs.get(&(*effect, *function)).into_iter().flatten();
                        literals.extend(found.flat_map(|direct| &direct.literals));
                    }
                    let literals = literals.into_iter().take(MAX_LITERALS).cloned().collect();
                    Some(Use { effect: *effect, mediated: false, package, way: shortened(way), literals })
                },
            );
            let uses = uses.collect();
            verdicts.push(Verdict { function: function.name.clone(), kind: function.kind, place, uses });
        }
        verdicts
    }

    /// Returns the functions of the own packages that a function reaches without leaving them.
    fn own_reach(
        &self,
        start: FunctionId,
        callees: &BTreeMap<FunctionId, Vec<FunctionId>>,
        is_own: &dyn Fn(PackageId) -> bool,
    ) -> BTreeSet<FunctionId> {
        let mut seen = BTreeSet::from([start]);
        let mut waiting = vec![start];
        while let Some(at) = waiting.pop() {
            for next in callees.get(&at).into_iter().flatten() {
                if self.function_at(*next).is_some_and(|data| is_own(data.package)) && seen.insert(*next) {
                    waiting.push(*next);
                }
            }
        }
        seen
    }

    fn last_hop(&self, direct: &Direct) -> Hop {
        let place = direct.site.and_then(|site| self.place(site.file, site.offset));
        Hop { name: direct.name.clone(), place }
    }
}

/// Goes back from the functions that do something to all that reach them, shortest way first.
fn towards(sources: &BTreeSet<FunctionId>, callers: &HashMap<FunctionId, Vec<(FunctionId, Site)>>) -> Steps {
    let mut steps = Steps::new();
    let mut waiting: VecDeque<FunctionId> = sources.iter().copied().collect();
    while let Some(at) = waiting.pop_front() {
        for (caller, site) in callers.get(&at).into_iter().flatten() {
            if !sources.contains(caller) && !steps.contains_key(caller) {
                steps.insert(*caller, (at, *site));
                waiting.push_back(*caller);
            }
        }
    }
    steps
}
