//! Says what was found in the words of every engine.

use std::collections::{BTreeMap, HashMap};

use super::index::Node;
use super::reach::Reach;
use super::solve::{Graph, Leaf};
use super::summary::Spot;
use crate::{Analysis, Effect, EffectSet, FunctionKind, Hop, Package, Place, Use, Verdict, shortened};

/// Returns what the own functions can do, and what each package holds.
pub(super) fn analysis(graph: &mut Graph<'_>, reach: &Reach, roots: &[Node]) -> Analysis {
    let mut functions: Vec<Verdict> = roots.iter().filter_map(|node| verdict(graph, reach, *node)).collect();
    functions
        .sort_by(|left, right| left.function.cmp(&right.function).then_with(|| left.place.cmp(&right.place)));
    Analysis { functions, packages: packages(graph) }
}

fn verdict(graph: &Graph<'_>, reach: &Reach, node: Node) -> Option<Verdict> {
    let entry = graph.index.entries.get(node as usize)?;
    let last = entry.name.rsplit("::").next()?;
    let made = entry.item.mentions.is_empty() && last.starts_with(char::is_uppercase);
    if entry.item.value || made || entry.name.contains("__rust_std_internal") {
        return None;
    }
    let mut uses = Vec::new();
    for ((effect, mediated, _), way) in reach.ways(node) {
        let (last, _) = way.last()?;
        let leaf = graph
            .leaves
            .get(*last as usize)?
            .iter()
            .find(|leaf| leaf.effect == effect && leaf.mediated == mediated)?;
        let end = graph.index.entries.get(*last as usize)?;
        let package = graph.index.units.get(end.unit)?.package.clone();
        let literals = literals(graph, &way, leaf);
        uses.push(Use { effect, mediated, package, way: hops(graph, &way, leaf), literals });
    }
    let kind = if last.starts_with("{closure") { FunctionKind::Closure } else { FunctionKind::Function };
    Some(Verdict {
        function: shown(graph, node),
        kind,
        place: entry.item.spot.and_then(|spot| place(graph, node, spot)),
        uses,
    })
}

fn hops(graph: &Graph<'_>, way: &[(Node, Option<Spot>)], leaf: &Leaf) -> Vec<Hop> {
    let mut hops: Vec<Hop> = Vec::new();
    let mut caller = None;
    for (node, spot) in way {
        let Some(entry) = graph.index.entries.get(*node as usize) else { continue };
        let place = match (caller, spot) {
            (Some(caller), Some(spot)) => place(graph, caller, *spot),
            _ => entry.item.spot.and_then(|spot| place(graph, *node, spot)),
        };
        // Parts of a function that the compiler set apart are no step of their own.
        if !entry.name.contains("promoted[") {
            hops.push(Hop { name: shown(graph, *node), place });
        }
        caller = Some(*node);
    }
    if let Some(caller) = caller {
        hops.push(Hop { name: leaf.shown.clone(), place: place(graph, caller, leaf.spot) });
    }
    shortened(hops)
}

/// Returns the strings at the call that touches the world; if it has none, those of the last call before it in an own package.
fn literals(graph: &Graph<'_>, way: &[(Node, Option<Spot>)], leaf: &Leaf) -> Vec<String> {
    let text = |node: Node, words: &[u32]| -> Vec<String> {
        let summary =
            graph.index.entries.get(node as usize).and_then(|entry| graph.index.summaries.get(entry.unit));
        words.iter().filter_map(|word| summary.map(|summary| summary.text(*word).to_owned())).collect()
    };
    let Some((last, _)) = way.last() else { return Vec::new() };
    let own = |node: Node| {
        graph
            .index
            .entries
            .get(node as usize)
            .and_then(|entry| graph.index.units.get(entry.unit))
            .is_some_and(|unit| unit.own)
    };
    if own(*last) || !leaf.literals.is_empty() {
        return text(*last, &leaf.literals);
    }
    let border = way.windows(2).rev().find_map(|pair| match pair {
        [(caller, _), (_, Some(spot))] if own(*caller) => Some((*caller, *spot)),
        _ => None,
    });
    let Some((caller, spot)) = border else { return Vec::new() };
    let mentions = graph.index.entries.get(caller as usize).map_or(&[][..], |entry| &entry.item.mentions);
    mentions
        .iter()
        .find(|mention| mention.spot == spot && !mention.literals.is_empty())
        .map_or_else(Vec::new, |mention| text(caller, &mention.literals))
}

/// Writes the name of an item: `crate::module::function`, `crate::Type::method`, `<crate::Type as Trait>::method`.
pub(super) fn shown(graph: &Graph<'_>, node: Node) -> String {
    let Some(entry) = graph.index.entries.get(node as usize) else { return String::new() };
    let krate = graph.index.units.get(entry.unit).map_or("", |unit| &unit.name);
    let Some((before, inside)) = entry.name.rsplit_once("<impl at ") else {
        return format!("{krate}::{}", entry.name);
    };
    let rest = inside.split_once('>').map_or("", |(_, rest)| rest);
    let Some((head, of)) = graph.index.subjects.get(&node) else {
        return format!("{krate}::{before}impl{rest}");
    };
    let text = graph.index.heads.text(*head);
    let subject = match text.split_once(':') {
        Some(("std" | "dyn" | "closure", name)) => name.trim_start_matches("std:").to_owned(),
        Some((unit, path)) => {
            let unit = unit.parse::<usize>().ok().and_then(|unit| graph.index.units.get(unit));
            format!("{}::{path}", unit.map_or(krate, |unit| &unit.name))
        }
        None => text.to_owned(),
    };
    match of {
        Some(of) => format!("<{subject} as {of}>{rest}"),
        None => format!("{subject}{rest}"),
    }
}

/// Returns a place as it is shown: below the root of its package.
pub(super) fn place(graph: &Graph<'_>, node: Node, spot: Spot) -> Option<Place> {
    let entry = graph.index.entries.get(node as usize)?;
    unit_place(graph, entry.unit, spot)
}

fn unit_place(graph: &Graph<'_>, unit: usize, spot: Spot) -> Option<Place> {
    let unit_of = graph.index.units.get(unit)?;
    let file = graph.index.summaries.get(unit)?.text(spot.0);
    if file.is_empty() {
        return None;
    }
    let path = std::path::Path::new(file);
    let below = path.strip_prefix(&unit_of.source_root).unwrap_or(path);
    let file = match below.is_absolute() {
        // A file that another package or a build script brought is shown by its name alone.
        true => format!("{}{}", unit_of.shown_root, below.file_name()?.display()),
        false => format!("{}{}", unit_of.shown_root, below.display()),
    };
    Some(Place { file, line: spot.1, column: spot.2 })
}

/// What a package holds, and where.
type Held = (EffectSet, Vec<(Effect, Hop)>);

/// Returns what each package holds, the own first.
fn packages(graph: &mut Graph<'_>) -> Vec<Package> {
    let mut found: BTreeMap<(bool, String), Held> = BTreeMap::new();
    let mut unit_keys: HashMap<usize, (bool, String)> = HashMap::new();
    for (number, unit) in graph.index.units.iter().enumerate() {
        let key = (!unit.own, unit.package.clone());
        let (holds, places) = found.entry(key.clone()).or_default();
        if unit.proc_macro_or_build {
            let effect =
                if unit.name.starts_with("build_script_") { Effect::BuildScript } else { Effect::ProcMacro };
            holds.insert(effect);
            if !places.iter().any(|(known, _)| *known == effect) {
                places.push((effect, Hop { name: unit.name.clone(), place: None }));
            }
        }
        unit_keys.insert(number, key);
    }
    let mut note = |unit: usize, effect: Effect, hop: Hop| {
        if let Some((holds, places)) = unit_keys.get(&unit).and_then(|key| found.get_mut(key))
            && !holds.contains(effect)
        {
            holds.insert(effect);
            places.push((effect, hop));
        }
    };
    for (unit, summary) in graph.index.summaries.iter().enumerate() {
        if let Some(spot) = summary.source.assembly {
            note(unit, Effect::Asm, Hop { name: "global_asm!".into(), place: unit_place(graph, unit, spot) });
        }
    }
    for (node, entry) in (0_u32..).zip(graph.index.entries.clone()) {
        for leaf in graph.own_leaves(node) {
            note(entry.unit, leaf.effect, Hop { name: leaf.shown, place: place(graph, node, leaf.spot) });
        }
    }
    found
        .into_iter()
        .map(|((other, id), (holds, mut places))| {
            let (name, version) = id.rsplit_once('@').unwrap_or((&id, ""));
            places.sort_by_key(|(effect, _)| *effect);
            Package {
                name: name.into(),
                version: version.into(),
                checksum: None,
                own: !other,
                holds,
                places,
                doubt: None,
            }
        })
        .collect()
}
