//! What a mention means: the items it may run, the types it runs them with, and what it does by its name alone.

mod program;
mod standard;

use std::rc::Rc;

use super::fit::fits;
use super::head::{Found, Inside, is_projection};
use super::index::{Index, Name, Node};
use super::path::{Path, Signature, Type};
use super::runs::Traits;
use super::summary::MentionKind;
use crate::EffectSet;

/// What a mention means.
#[derive(Clone, Debug, Default)]
pub(super) struct Meaning {
    /// What it does by its name.
    pub(super) effects: EffectSet,
    /// Whether it goes through a scoped handle.
    pub(super) mediated: bool,
    /// Whether it opens a file by options that are set elsewhere.
    pub(super) opens: bool,
    /// The name to show.
    pub(super) shown: String,
    /// What it may run.
    pub(super) targets: Vec<Node>,
    /// The types that it names.
    pub(super) types: Found,
    /// The traits of the standard library that it runs on those types.
    pub(super) runs: Traits,
    /// The method of a trait of the program that it runs on a type that the caller names.
    pub(super) needs: Option<(Name, Name)>,
    /// Whether that type is told by another that the caller names: the items of an iterator.
    pub(super) told: bool,
}

impl Meaning {
    fn by_name(shown: String, effects: EffectSet) -> Rc<Self> {
        Rc::new(Self { effects, shown, ..Self::default() })
    }
}

impl Index<'_> {
    /// Finds out what a mention means.
    pub(super) fn meaning(&mut self, unit: usize, kind: MentionKind, text: &str) -> Rc<Meaning> {
        match kind {
            MentionKind::Function => match Type::read(text) {
                Type::Function(signature) => match &signature.item {
                    Some(path) => {
                        let found = self.path(unit, path, Some(&signature));
                        let mut items = Vec::new();
                        functions_in_path(path, &mut items);
                        self.with_items(unit, found, &items)
                    }
                    None => Rc::default(),
                },
                _ => Rc::default(),
            },
            MentionKind::Held => {
                let ty = Type::read(text);
                let mut items = Vec::new();
                functions_in(&ty, &mut items);
                self.with_items(unit, Rc::default(), &items)
            }
            MentionKind::Place => match Path::read(text) {
                path if path.segments.is_empty() => Rc::default(),
                path => self.path(unit, &path, None),
            },
            MentionKind::Foreign => {
                let name = text.rsplit("::").next().unwrap_or(text);
                self.foreign(unit, &Path::read(text), name)
            }
            MentionKind::Constant => self.constant(unit, text),
            MentionKind::Table => Rc::default(),
        }
    }

    /// Adds the functions whose own types are named: whoever has a value of such a type can call it.
    fn with_items(&mut self, unit: usize, found: Rc<Meaning>, items: &[Signature<'_>]) -> Rc<Meaning> {
        if items.is_empty() {
            return found;
        }
        let mut meaning = Meaning::clone(&found);
        for signature in items {
            let Some(path) = &signature.item else { continue };
            let other = self.path(unit, path, Some(signature));
            meaning.targets.extend(&other.targets);
            if meaning.effects.is_empty() {
                meaning.shown.clone_from(&other.shown);
            }
            meaning.effects = meaning.effects.union(other.effects);
        }
        Rc::new(meaning)
    }

    /// `path, [arguments]`.
    fn constant(&mut self, unit: usize, text: &str) -> Rc<Meaning> {
        let (name, arguments) = text.rsplit_once(", [").unwrap_or((text, ""));
        let path = Path::read(name);
        if self.heads.is_standard(unit, &path) {
            return Rc::default();
        }
        let list = format!("({})", arguments.strip_suffix(']').unwrap_or(""));
        let types = self.heads.inside(unit, &Type::read(&list), Inside::Mentioned);
        let mut meaning = Meaning::clone(&self.path(unit, &path, None));
        // A constant of a trait is that of the type, if it has one of its own.
        let last = self.name(path.tail());
        let own: Vec<Node> = types
            .heads
            .iter()
            .filter_map(|head| self.methods.get(head))
            .flatten()
            .filter(|method| method.name == last)
            .map(|method| method.node)
            .collect();
        meaning.targets.extend(own);
        meaning.types.heads.extend(types.heads);
        meaning.types.generic |= types.generic;
        if types.generic
            && let Some(before) = path.segments.iter().rev().nth(1)
        {
            meaning.needs = Some((self.name(before.name), last));
        }
        Rc::new(meaning)
    }

    fn path(&mut self, unit: usize, path: &Path<'_>, signature: Option<&Signature<'_>>) -> Rc<Meaning> {
        let block = path
            .qualified
            .as_ref()
            .or_else(|| path.segments.iter().rev().find_map(|segment| segment.block.as_ref()));
        let mut types = Found::default();
        self.heads.arguments(unit, path, Inside::Mentioned, &mut types);
        types.heads.sort_unstable();
        types.heads.dedup();
        match block {
            Some(block) if block.of.is_some() => {
                let Some(of) = &block.of else { return Rc::default() };
                // A trait of std may be printed by the path of a crate that passes it on, even under another name.
                let other = if self.heads.is_standard(unit, of) {
                    None
                } else {
                    self.standard_path(unit, &of.plain())
                };
                let mut whole = of.clone();
                if let Some(other) = &other {
                    let args = whole.segments.pop().map(|last| last.args).unwrap_or_default();
                    whole = Path::read(other);
                    if let Some(last) = whole.segments.last_mut() {
                        last.args = args;
                    }
                    return self.standard_method(unit, path, block, &whole, types, signature);
                }
                let known = !Traits::one(of.tail()).is_empty()
                    || matches!(
                        of.tail(),
                        "Fn" | "FnMut"
                            | "FnOnce"
                            | "AsyncFn"
                            | "AsyncFnMut"
                            | "AsyncFnOnce"
                            | "ToSocketAddrs"
                            | "CommandExt"
                    );
                if self.heads.is_standard(unit, of) || (known && !self.defines_trait(unit, of)) {
                    self.standard_method(unit, path, block, of, types, signature)
                } else {
                    self.method(unit, path, block, of, types, signature)
                }
            }
            _ if self.heads.is_standard(unit, path) => self.standard(path, types, signature),
            Some(block) => {
                if let Type::Path(subject) = block.subject.behind()
                    && self.heads.is_standard(unit, subject)
                    && path.segments.len() == 1
                {
                    let mut whole = subject.clone();
                    whole.segments.extend(path.segments.iter().cloned());
                    return self.standard(&whole, types, signature);
                }
                let subject = self.heads.inside(unit, block.subject.behind(), Inside::Mentioned);
                let name = self.name(path.tail());
                let mut targets: Vec<Node> = subject
                    .heads
                    .iter()
                    .filter_map(|head| self.inherent.get(&(*head, name)))
                    .flatten()
                    .copied()
                    .collect();
                self.fitting(&mut targets, signature);
                Rc::new(Meaning { targets, types, shown: path.tail().to_owned(), ..Meaning::default() })
            }
            None => self.item(unit, path, types, signature),
        }
    }

    /// Returns the outermost name of a type; a tuple or a list counts with what is in it.
    fn outermost(&mut self, unit: usize, ty: &Type<'_>) -> Found {
        match ty {
            Type::Path(path) if !is_projection(path) => {
                let named = self.heads.named(unit, path);
                Found { heads: named.heads.clone(), generic: named.parameter }
            }
            Type::Path(_) | Type::Opaque(_) => Found { heads: Vec::new(), generic: true },
            _ => self.heads.inside(unit, ty, Inside::Mentioned),
        }
    }

    /// Returns the methods of some types for a trait of the program.
    pub(super) fn methods_of(&self, heads: &[super::head::Head], of: Name, method: Name) -> Vec<Node> {
        let all = heads.iter().filter_map(|head| self.methods.get(head)).flatten();
        all.filter(|found| found.name == method && found.program && found.of.is_none_or(|found| found == of))
            .map(|found| found.node)
            .collect()
    }

    /// Keeps those whose signature can be meant, if any can.
    fn fitting(&self, nodes: &mut Vec<Node>, signature: Option<&Signature<'_>>) {
        let Some(signature) = signature.filter(|_| nodes.len() > 1) else { return };
        let kept: Vec<Node> = nodes.iter().copied().filter(|node| self.node_fits(*node, signature)).collect();
        if !kept.is_empty() {
            *nodes = kept;
        }
    }

    fn node_fits(&self, node: Node, signature: &Signature<'_>) -> bool {
        let Some(entry) = self.entries.get(node as usize) else { return false };
        let Some(summary) = self.summaries.get(entry.unit) else { return false };
        let inputs = &entry.item.inputs;
        inputs.len() == signature.inputs.len()
            && inputs
                .iter()
                .zip(&signature.inputs)
                .all(|(defined, given)| fits(&Type::read(summary.text(*defined)), given))
            && signature
                .output
                .as_ref()
                .is_none_or(|given| fits(&Type::read(summary.text(entry.item.output)), given))
    }
}

/// Finds the functions whose own types are in a type.
fn functions_in<'a>(ty: &Type<'a>, found: &mut Vec<Signature<'a>>) {
    match ty {
        Type::Function(signature) if signature.item.is_some() => found.push(Signature::clone(signature)),
        Type::List(inner) | Type::Pointer(inner) | Type::Reference(inner) => functions_in(inner, found),
        Type::Path(path) => functions_in_path(path, found),
        Type::Tuple(items) => items.iter().for_each(|ty| functions_in(ty, found)),
        _ => {}
    }
}

fn functions_in_path<'a>(path: &Path<'a>, found: &mut Vec<Signature<'a>>) {
    if let Some(block) = &path.qualified {
        functions_in(&block.subject, found);
    }
    path.segments.iter().flat_map(|segment| &segment.args).for_each(|ty| functions_in(ty, found));
}

/// Returns the last name of a path that is no block of it.
fn last_name<'p>(path: &Path<'p>) -> &'p str {
    path.segments.iter().rev().find(|segment| segment.block.is_none()).map_or("", |segment| segment.name)
}
