//! Changes of type that hide what is behind them: trait objects, function pointers, plain addresses.

use std::collections::HashMap;
use std::rc::Rc;

use super::head::Inside;
use super::index::{Index, Name, Node};
use super::path::{Path, Type};
use super::resolve::Meaning;
use super::runs::{self, Traits};
use super::solve::Graph;
use super::summary::{CastKind, Item, MentionKind, Spot, Summary};
use crate::{Effect, EffectSet};

/// How many items are looked at for the maker of a pointer.
const MAX_NEAR: usize = 64;

impl<'a> Graph<'a> {
    /// Follows the casts and the indirect calls of an item.
    pub(super) fn casts(&mut self, node: Node, item: &Item, unit: usize) {
        let summaries = self.index.summaries;
        let Some(summary) = summaries.get(unit) else { return };
        for cast in &item.casts {
            let (from, to) = (Type::read(summary.text(cast.from)), Type::read(summary.text(cast.to)));
            match cast.kind {
                CastKind::Unsize => self.hide(node, unit, &from, &to, cast.spot),
                CastKind::Transmute => {
                    let made = shape(&to).is_some() && shape(&from).is_none();
                    let used = !item.indirect.is_empty() || summary.text(item.output).contains("fn(");
                    if made && used && !item.value && !self.keeps_address_near(node) {
                        self.leaf(
                            node,
                            EffectSet::of(Effect::DynUnresolved),
                            false,
                            "transmute",
                            cast.spot,
                            &[],
                        );
                    }
                }
                CastKind::Pointer | CastKind::Raw => {}
            }
        }
        for (called, spot) in &item.indirect {
            let text = summary.text(*called);
            if text.starts_with("raw ") {
                self.leaf(
                    node,
                    EffectSet::of(Effect::DynUnresolved),
                    false,
                    "a function behind a raw pointer",
                    *spot,
                    &[],
                );
            }
            let behind = self.behind_pointer(node, unit, text);
            // What is called as another language calls, and is made nowhere here, is of another language.
            let foreign = matches!(&Type::read(text), Type::Function(signature) if signature.foreign);
            if foreign
                && behind.is_empty()
                && !self.makes_near(node, &shape(&Type::read(text)).unwrap_or_default())
            {
                self.leaf(
                    node,
                    EffectSet::of(Effect::DynUnresolved),
                    false,
                    "a foreign function pointer",
                    *spot,
                    &[],
                );
            }
            for meaning in behind {
                self.leaf(node, meaning.effects, meaning.mediated, &meaning.shown, *spot, &[]);
                self.use_meaning(node, &meaning, *spot);
            }
        }
    }

    /// Returns what may be behind the pointer or object that an indirect call goes through.
    ///
    /// What the function itself, or what it calls, makes into such a pointer is counted there already. Only where nothing of that
    /// kind is near may it be anything that the crate makes into one.
    pub(super) fn behind_pointer(&mut self, node: Node, unit: usize, text: &str) -> Vec<Rc<Meaning>> {
        let text = text.strip_prefix("raw ").unwrap_or(text);
        let found = match Path::read(text).qualified {
            Some(block) => shape(&block.subject),
            None => shape(&Type::read(text)),
        };
        let Some(found) = found else { return Vec::new() };
        if self.makes_near(node, &found) {
            return Vec::new();
        }
        let own = self.index.units.get(unit).is_some_and(|unit| unit.own);
        self.pointers_of(if own { None } else { Some(unit) }, &found)
    }

    /// Says whether an item, what encloses it, or something that these call makes a pointer of a shape.
    ///
    /// What a static holds that can change says nothing of what it holds later.
    fn makes_near(&mut self, node: Node, wanted: &str) -> bool {
        for (item, summary) in self.near(node) {
            let made = item.casts.iter().any(|cast| match cast.kind {
                CastKind::Pointer | CastKind::Unsize => {
                    shape(&Type::read(summary.text(cast.to))).is_some_and(|found| found == wanted)
                }
                CastKind::Transmute => true,
                CastKind::Raw => false,
            });
            if item.changes || made {
                return made && !item.changes;
            }
        }
        false
    }

    /// Returns an item, what encloses it, and what these call, the nearest first.
    fn near(&mut self, node: Node) -> Vec<(&'a Item, &'a Summary)> {
        let mut found = Vec::new();
        let mut outermost = node;
        while let Some(parent) = self.index.parents.get(&outermost) {
            outermost = *parent;
        }
        let mut order = vec![outermost];
        let mut at = 0;
        while let Some(next) = order.get(at).copied().filter(|_| at < MAX_NEAR) {
            at += 1;
            let Some(entry) = self.index.entries.get(next as usize).copied() else { continue };
            let summaries = self.index.summaries;
            let Some(summary) = summaries.get(entry.unit) else { continue };
            found.push((entry.item, summary));
            let mut more: Vec<Node> = self.index.children.get(next as usize).cloned().unwrap_or_default();
            for mention in &entry.item.mentions {
                more.extend(&self.meaning(entry.unit, mention.kind, mention.what).targets);
            }
            for target in more {
                if !order.contains(&target) {
                    order.push(target);
                }
            }
        }
        found
    }

    /// A type becomes a trait object.
    pub(super) fn hide(&mut self, node: Node, unit: usize, from: &Type<'_>, to: &Type<'_>, spot: Spot) {
        let Some(of) = object(to) else { return };
        let found = self.index.heads.inside(unit, from, Inside::Mentioned);
        if self.index.heads.is_standard(unit, of) {
            // Objects of std's traits are run by std, out of sight: whoever makes one is counted as running it.
            let runs = runs::by_trait(of.tail(), "").with(Traits::DROP);
            self.run(node, &found, runs, spot);
            return;
        }
        // Whoever gets the object drops it without knowing what it is.
        let owned = self.index.heads.inside(unit, from, Inside::Owned);
        self.run(node, &owned, Traits::DROP, spot);
        // Calls of an object of the program's traits are found where they are made, but not with which types it was made.
        if found.heads.len() > 1 || found.generic {
            let name = self.index.name(of.tail());
            for target in self.index.all_methods(&found.heads, name) {
                if self.index.is_generic(target) {
                    self.use_meaning(
                        node,
                        &Meaning { targets: vec![target], types: found.clone(), ..Meaning::default() },
                        spot,
                    );
                }
            }
        }
    }

    /// Says whether a function becomes a plain address near an item, which is where an address that becomes a function comes from.
    pub(super) fn keeps_address_near(&mut self, node: Node) -> bool {
        self.near(node).iter().any(|(item, _)| item.casts.iter().any(|cast| cast.kind == CastKind::Raw))
    }

    /// Returns what becomes a pointer or an object of a shape, in one crate or in all of the tool's own.
    fn pointers_of(&mut self, unit: Option<usize>, shape: &str) -> Vec<Rc<Meaning>> {
        if !self.pointers.contains_key(&unit) {
            let units: Vec<usize> = match unit {
                Some(unit) => vec![unit],
                None => (0..self.index.units.len())
                    .filter(|unit| self.index.units.get(*unit).is_some_and(|unit| unit.own))
                    .collect(),
            };
            let mut found = HashMap::new();
            for unit in units {
                self.gather(unit, &mut found);
            }
            self.pointers.insert(unit, found);
        }
        self.pointers.get(&unit).and_then(|found| found.get(shape)).cloned().unwrap_or_default()
    }

    fn gather(&mut self, unit: usize, found: &mut HashMap<String, Vec<Rc<Meaning>>>) {
        let summaries = self.index.summaries;
        let Some(summary) = summaries.get(unit) else { return };
        for cast in summary
            .items
            .iter()
            .flat_map(|item| &item.casts)
            .filter(|cast| matches!(cast.kind, CastKind::Pointer | CastKind::Unsize))
        {
            let Some(shape) = shape(&Type::read(summary.text(cast.to))) else { continue };
            let from = Type::read(summary.text(cast.from));
            let meaning = match &from {
                Type::Function(signature) if signature.item.is_some() => {
                    self.meaning(unit, MentionKind::Function, cast.from)
                }
                _ => {
                    let heads = self.index.heads.inside(unit, &from, Inside::Mentioned).heads;
                    let targets = heads
                        .iter()
                        .filter_map(|head| self.index.heads.text(*head).strip_prefix("closure:"))
                        .filter_map(|place| self.index.closures.get(place))
                        .flatten()
                        .copied()
                        .collect();
                    Rc::new(Meaning { targets, ..Meaning::default() })
                }
            };
            found.entry(shape).or_default().push(meaning);
        }
    }
}

impl Index<'_> {
    /// Returns the trait of a trait object of the program.
    pub(super) fn object(&mut self, head: super::head::Head) -> Option<Name> {
        let of = self.heads.text(head).strip_prefix("dyn:").filter(|of| !of.starts_with("std:"))?.to_owned();
        Some(self.name(&of))
    }
}

/// Finds the trait that a type is an object of.
pub(super) fn object<'p, 'a>(ty: &'p Type<'a>) -> Option<&'p Path<'a>> {
    match ty {
        Type::Dyn(traits) => traits.first(),
        Type::Reference(inner) | Type::Pointer(inner) | Type::List(inner) => object(inner),
        Type::Path(path) => path.segments.iter().flat_map(|segment| &segment.args).find_map(object),
        _ => None,
    }
}

/// Writes the type of what can be called in a type, by last names, so that two crates write it alike; `None` if nothing can.
fn shape(ty: &Type<'_>) -> Option<String> {
    match ty {
        Type::Function(signature) => Some(format!(
            "fn{:?}",
            (signature.inputs.iter().map(tails).collect::<Vec<_>>(), signature.output.as_ref().map(tails))
        )),
        Type::Dyn(traits) => traits.first().filter(|of| of.tail().starts_with("Fn")).map(|of| {
            let args = of.segments.last().map_or(&[][..], |segment| &segment.args);
            format!("dyn {:?}", args.iter().map(tails).collect::<Vec<_>>())
        }),
        Type::Reference(inner) | Type::Pointer(inner) | Type::List(inner) => shape(inner),
        Type::Path(path) => path.segments.iter().flat_map(|segment| &segment.args).find_map(shape),
        Type::Tuple(items) => items.iter().find_map(shape),
        _ => None,
    }
}

fn tails(ty: &Type<'_>) -> String {
    match ty {
        Type::Path(path) => {
            let args: Vec<String> =
                path.segments.last().map_or(&[][..], |segment| &segment.args).iter().map(tails).collect();
            format!("{}{args:?}", path.tail())
        }
        Type::Reference(inner) => format!("&{}", tails(inner)),
        Type::Pointer(inner) => format!("*{}", tails(inner)),
        Type::List(inner) => format!("[{}]", tails(inner)),
        Type::Tuple(items) => format!("{:?}", items.iter().map(tails).collect::<Vec<_>>()),
        Type::Function(_) => "fn".into(),
        Type::Dyn(traits) => format!("dyn {}", traits.first().map_or("", Path::tail)),
        Type::Closure(place) => (*place).into(),
        Type::Opaque(_) | Type::Other => "?".into(),
    }
}
