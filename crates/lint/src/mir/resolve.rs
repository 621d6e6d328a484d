//! What a mention means: the items it may run, the types it runs them with, and what it does by its name alone.

use std::rc::Rc;

use super::fit::fits;
use super::head::{Found, Inside, is_projection};
use super::index::{Index, Name, Node};
use super::path::{Path, Qualified, Signature, Type};
use super::runs::{self, Traits};
use super::summary::MentionKind;
use crate::{Effect, EffectSet, catalog};

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

    /// A function of the standard library.
    fn standard(&mut self, path: &Path<'_>, types: Found, signature: Option<&Signature<'_>>) -> Rc<Meaning> {
        let plain = path.plain();
        let shown = plain.replacen("core::", "std::", 1).replacen("alloc::", "std::", 1);
        let mut runs = runs::by_path(path);
        if signature.is_some_and(|signature| runs::drops(path, &signature.inputs)) {
            runs = runs.with(Traits::DROP);
        }
        runs = runs.with(self.objects(&types));
        if plain.contains("io::Error::") || plain.contains("io::error::Error::") {
            runs = runs.with(runs::by_trait("Error", ""));
        }
        let mut effects = catalog::of_path(&plain);
        if path.tail().starts_with("transmute")
            && let Some([from, to]) = path.segments.last().map(|segment| segment.args.as_slice())
            && holds_pointer(to)
            && !holds_pointer(from)
            && !matches!(to, Type::Path(path) if path.segments.len() == 1)
        {
            effects.insert(Effect::DynUnresolved);
        }
        Rc::new(Meaning {
            effects,
            opens: plain == "std::fs::OpenOptions::open",
            shown,
            types,
            runs,
            ..Meaning::default()
        })
    }

    /// Returns the traits of the objects among some types: what becomes such an object is run by it.
    fn objects(&self, types: &Found) -> Traits {
        let names = types.heads.iter().filter_map(|head| self.heads.text(*head).strip_prefix("dyn:std:"));
        names.fold(Traits::NONE, |runs, name| runs.with(runs::by_trait(name, "")))
    }

    /// A method of a trait of the standard library.
    fn standard_method(
        &mut self,
        unit: usize,
        path: &Path<'_>,
        block: &Qualified<'_>,
        of: &Path<'_>,
        types: Found,
        signature: Option<&Signature<'_>>,
    ) -> Rc<Meaning> {
        let method = last_name(path);
        let shown = format!("{}::{method}", of.plain()).replacen("core::", "std::", 1);
        let mut effects = catalog::of_path(&shown);
        if of.tail() == "ToSocketAddrs" && !names_text(&block.subject) {
            effects = EffectSet::NONE;
        }
        let mut meaning = Meaning { effects, shown, types, ..Meaning::default() };
        if matches!(of.tail(), "Fn" | "FnMut" | "FnOnce" | "AsyncFn" | "AsyncFnMut" | "AsyncFnOnce") {
            return Rc::new(meaning);
        }
        if let Some(found) = self.conversion(unit, block, of) {
            meaning.targets = found;
            meaning.runs = self.objects(&meaning.types);
            return Rc::new(meaning);
        }
        let wanted = (self.name(of.tail()), self.name(method));
        let subject = self.outermost(unit, block.subject.behind());
        let bit = Traits::one(of.tail());
        for found in subject.heads.iter().filter_map(|head| self.methods.get(head)).flatten() {
            let same = found.of.is_none_or(|found| found == wanted.0)
                && (found.standard.meets(bit) || bit.is_empty());
            if same && found.name == wanted.1 && self.is_given(found, &meaning.types.heads) {
                meaning.targets.push(found.node);
            }
        }
        self.fitting(&mut meaning.targets, signature);
        if meaning.targets.is_empty() {
            meaning.runs = runs::by_trait(of.tail(), method).with(self.objects(&meaning.types));
            if signature.is_some_and(|signature| runs::drops(path, &signature.inputs)) {
                meaning.runs = meaning.runs.with(Traits::DROP);
            }
        }
        Rc::new(meaning)
    }

    /// Finds the `From` that a conversion runs, by the types of both sides; `None` if that cannot be told.
    fn conversion(&mut self, unit: usize, block: &Qualified<'_>, of: &Path<'_>) -> Option<Vec<Node>> {
        let argument = of.segments.last()?.args.first()?;
        let (from, to) = match of.tail() {
            "Into" | "TryInto" => (block.subject.clone(), argument.clone()),
            "FromResidual" => (last_argument(argument), last_argument(&block.subject)),
            _ => return None,
        };
        let Type::Path(target) = &to else { return None };
        let named = self.heads.named(unit, target);
        if named.parameter || is_projection(target) || matches!(from, Type::Other | Type::Opaque(_)) {
            return None;
        }
        let wanted = self.name(if of.tail() == "TryInto" { "try_from" } else { "from" });
        let all: Vec<Node> = named
            .heads
            .iter()
            .filter_map(|head| self.methods.get(head))
            .flatten()
            .filter(|method| method.name == wanted)
            .map(|method| method.node)
            .collect();
        if all.is_empty() {
            return None;
        }
        let fitting = |node: &Node| {
            let entry = self.entries.get(*node as usize)?;
            let input = self.summaries.get(entry.unit)?.text(*entry.item.inputs.first()?);
            Some(fits(&Type::read(input), &from))
        };
        Some(all.iter().copied().filter(|node| fitting(node).unwrap_or(true)).collect())
    }

    /// A method of a trait of the program.
    fn method(
        &mut self,
        unit: usize,
        path: &Path<'_>,
        block: &Qualified<'_>,
        of: &Path<'_>,
        types: Found,
        signature: Option<&Signature<'_>>,
    ) -> Rc<Meaning> {
        let method = last_name(path);
        let (of, method) = (self.name(of.tail()), self.name(method));
        let shown = path.tail().to_owned();
        let mut meaning = Meaning { shown, types, ..Meaning::default() };
        if let Type::Dyn(traits) = block.subject.behind() {
            // The trait may be implemented for the object type itself.
            let own = self.heads.inside(unit, block.subject.behind(), Inside::Mentioned);
            meaning.targets = self.methods_of(&own.heads, of, method);
            let objects = traits.first().map(Path::tail).map(|tail| self.name(tail));
            if meaning.targets.is_empty() || objects == Some(of) {
                let all = self
                    .implementors(of, method)
                    .map(|(_, node)| node)
                    .chain(self.default_of(of, method).iter().copied());
                meaning.targets = all.collect();
            }
            return Rc::new(meaning);
        }
        let subject = self.outermost(unit, block.subject.behind());
        if subject.generic && subject.heads.is_empty() {
            meaning.needs = Some((of, method));
            meaning.told = matches!(block.subject.behind(), Type::Path(path) if is_projection(path));
            meaning.targets = self.for_all(of, method).collect();
            return Rc::new(meaning);
        }
        meaning.targets = self.methods_of(&subject.heads, of, method);
        self.fitting(&mut meaning.targets, signature);
        if meaning.targets.is_empty() {
            meaning.targets = self.for_all(of, method).collect();
        }
        if meaning.targets.is_empty() {
            meaning.targets = self.default_of(of, method).to_vec();
        }
        Rc::new(meaning)
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

    /// A function, static or method without a trait, of a crate of the program.
    fn item(
        &mut self,
        unit: usize,
        path: &Path<'_>,
        types: Found,
        signature: Option<&Signature<'_>>,
    ) -> Rc<Meaning> {
        let plain = path.plain();
        let mut meaning = Meaning { types, shown: plain.clone(), ..Meaning::default() };
        let (first, rest) = plain.split_once("::").unwrap_or((&plain, ""));
        let crates = if rest.is_empty() { Vec::new() } else { self.heads.crates(unit, first).to_vec() };
        meaning.targets = self.exact(unit, &plain).to_vec();
        if !meaning.targets.is_empty() {
            return Rc::new(meaning);
        }
        for other in &crates {
            if let Some(found) = self.known_crate(unit, *other, rest) {
                return found;
            }
            meaning.targets.extend(self.exact(*other, rest));
        }
        if !meaning.targets.is_empty() {
            self.fitting(&mut meaning.targets, signature);
            return Rc::new(meaning);
        }
        if signature.is_some_and(|signature| signature.foreign) {
            let owner = crates.first().copied().unwrap_or(unit);
            return self.foreign(owner, path, path.tail());
        }
        meaning.targets = self.inherent_of(unit, path);
        self.fitting(&mut meaning.targets, signature);
        if meaning.targets.is_empty()
            && let Some(other) = self.standard_path(unit, &plain)
        {
            return self.standard(&Path::read(&other), meaning.types, signature);
        }
        if meaning.targets.is_empty() {
            meaning.targets = self.reached_otherwise(unit, &crates, path, signature);
        }
        if meaning.targets.is_empty()
            && ["std::", "core::", "alloc::"].iter().any(|root| plain.starts_with(root))
        {
            return self.standard(path, meaning.types, signature);
        }
        Rc::new(meaning)
    }

    /// `Type::method`.
    fn inherent_of(&mut self, unit: usize, path: &Path<'_>) -> Vec<Node> {
        let mut ty = path.clone();
        let Some(last) = ty.segments.pop() else { return Vec::new() };
        if ty.segments.is_empty() {
            return Vec::new();
        }
        let name = self.name(last.name);
        let named = self.heads.named(unit, &ty);
        named.heads.iter().filter_map(|head| self.inherent.get(&(*head, name))).flatten().copied().collect()
    }

    /// An item that is reached by another path than that of its definition: by its last name, in its crate and those below.
    fn reached_otherwise(
        &mut self,
        unit: usize,
        crates: &[usize],
        path: &Path<'_>,
        signature: Option<&Signature<'_>>,
    ) -> Vec<Node> {
        let last = self.name(path.tail());
        let own = [unit];
        for start in if crates.is_empty() { &own[..] } else { crates } {
            for below in self.heads.below.get(*start).into_iter().flatten() {
                let fitting =
                    |node: &Node| signature.is_none_or(|signature| self.node_fits(*node, signature));
                let found: Vec<Node> = self.with_last(*below, last).iter().copied().filter(fitting).collect();
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    /// What is known of a crate by name: the scoped handles, and the crates that wrap system calls.
    fn known_crate(&mut self, from: usize, krate: usize, rest: &str) -> Option<Rc<Meaning>> {
        let unit = self.units.get(krate)?;
        if from == krate {
            return None;
        }
        let shown = format!("{}::{rest}", unit.name);
        if unit.name == "ringfence" && !unit.own {
            // These are other crates under another name.
            if ["egress::", "policy::", "sandbox::", "text::"].iter().any(|module| rest.starts_with(module)) {
                return None;
            }
            let mut back = rest.rsplit("::");
            let (method, handle) = (back.next().unwrap_or(""), back.next().unwrap_or(""));
            let effects = catalog::of_handle(handle, method).unwrap_or_default();
            return Some(Rc::new(Meaning { effects, mediated: true, shown, ..Meaning::default() }));
        }
        catalog::of_wrapper(&unit.name, rest).map(|effects| Meaning::by_name(shown, effects))
    }

    /// A function or variable of another language.
    fn foreign(&mut self, owner: usize, path: &Path<'_>, name: &str) -> Rc<Meaning> {
        // The names of that crate are those of C, whatever they are on other systems.
        let is_libc = self.units.get(owner).is_some_and(|unit| unit.name == "libc");
        let renamed = self.summaries.get(owner).filter(|_| !is_libc).and_then(|summary| {
            let pairs = &summary.source.renamed;
            pairs
                .iter()
                .find(|(rust, _)| summary.text(*rust) == name)
                .map(|(_, linked)| summary.text(*linked).to_owned())
        });
        let name = renamed.unwrap_or_else(|| name.to_owned());
        if let Some(nodes) = self.exported.get(name.as_str()).filter(|nodes| !nodes.is_empty()) {
            return Rc::new(Meaning { targets: nodes.clone(), shown: name, ..Meaning::default() });
        }
        // The numbers at the end of a symbol's name tell versions apart.
        let effects = catalog::of_foreign(name.trim_start_matches('\u{1}'))
            .unwrap_or_else(|| EffectSet::of(Effect::Ffi));
        let shown = if path.segments.len() > 1 { path.plain() } else { format!("extern {name}") };
        Meaning::by_name(shown, effects)
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

/// Returns the last generic argument of a type: of a result its error.
fn last_argument<'a>(ty: &Type<'a>) -> Type<'a> {
    match ty {
        Type::Path(path) => {
            path.segments.last().and_then(|segment| segment.args.last()).cloned().unwrap_or(Type::Other)
        }
        _ => Type::Other,
    }
}

/// Says whether a type is or holds a function pointer.
fn holds_pointer(ty: &Type<'_>) -> bool {
    match ty {
        Type::Function(_) => true,
        Type::Path(path) => path.segments.iter().flat_map(|segment| &segment.args).any(holds_pointer),
        Type::List(inner) | Type::Reference(inner) | Type::Pointer(inner) => holds_pointer(inner),
        Type::Tuple(items) => items.iter().any(holds_pointer),
        _ => false,
    }
}

/// Says whether an address may be a name: text is in the type, or what the caller chooses.
fn names_text(ty: &Type<'_>) -> bool {
    match ty {
        Type::Path(path) => {
            matches!(path.tail(), "str" | "String")
                || path.qualified.is_some()
                || path.segments.len() == 1
                || path.segments.iter().flat_map(|segment| &segment.args).any(names_text)
        }
        Type::List(inner) | Type::Reference(inner) => names_text(inner),
        Type::Tuple(items) => items.first().is_some_and(names_text),
        Type::Opaque(_) => true,
        _ => false,
    }
}

/// Returns the last name of a path that is no block of it.
fn last_name<'p>(path: &Path<'p>) -> &'p str {
    path.segments.iter().rev().find(|segment| segment.block.is_none()).map_or("", |segment| segment.name)
}
