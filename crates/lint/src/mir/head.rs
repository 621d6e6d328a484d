//! Types of all crates under one number each: the outermost name of a type, told apart by crate.
//!
//! A crate prints its own types by the path of their definition, and those of others by a path through which they can be
//! reached, so one type has several names. What cannot be told apart by its name is all that it may be.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::Unit;
use super::path::{Path, Type};
use super::summary::Summary;

/// A type by its outermost name.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Head(pub(super) u32);

/// What a named type may be.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    pub(super) heads: Vec<Head>,
    /// It is a parameter of the function or impl it stands in.
    pub(super) parameter: bool,
}

/// What is found in a type.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Found {
    pub(super) heads: Vec<Head>,
    /// A parameter, or something that depends on one, is in it.
    pub(super) generic: bool,
}

/// Which types inside a type are looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Inside {
    /// Every type that is named.
    Mentioned,
    /// Those whose values go when a value of the type goes.
    Owned,
}

/// The types of all crates.
#[derive(Debug)]
pub(super) struct Heads<'a> {
    numbers: HashMap<String, Head>,
    texts: Vec<String>,
    /// For each unit the crates that its paths may start with.
    crates: Vec<HashMap<&'a str, Vec<usize>>>,
    /// For each unit all units below it, itself first.
    pub(super) below: Vec<Vec<usize>>,
    /// For each unit its own types: by full path, and full paths by last name.
    known: Vec<HashSet<String>>,
    tails: Vec<HashMap<String, Vec<String>>>,
    declared: Vec<HashSet<&'a str>>,
    modules: Vec<HashSet<&'a str>>,
    memo: HashMap<(usize, String), Rc<Named>>,
}

const STANDARD: &[&str] = &["std", "core", "alloc", "proc_macro", "test"];

/// Says whether a path looks like one of the standard library.
fn looks_standard(path: &Path<'_>) -> bool {
    path.segments.len() > 1 && path.segments.first().is_some_and(|first| STANDARD.contains(&first.name))
}

/// Says whether a path is an associated type; a type that is defined inside a method has more names behind the bracket.
pub(super) fn is_projection(path: &Path<'_>) -> bool {
    path.qualified.is_some() && path.segments.len() < 2
}

const PRIMITIVES: &[&str] = &[
    "bool", "char", "f128", "f16", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "str", "u128",
    "u16", "u32", "u64", "u8", "usize",
];

impl<'a> Heads<'a> {
    pub(super) fn new(units: &'a [Unit], summaries: &'a [Summary]) -> Self {
        let below: Vec<Vec<usize>> = (0..units.len()).map(|unit| all_below(units, unit)).collect();
        let mut crates = Vec::new();
        for (unit, below) in units.iter().zip(&below) {
            let mut names: HashMap<&str, Vec<usize>> = HashMap::new();
            for (name, number) in &unit.externs {
                names.entry(name).or_default().push(*number);
            }
            // All direct dependencies of a name are meant by it; they hide other versions further down.
            let direct: Vec<usize> = unit.externs.iter().map(|(_, number)| *number).collect();
            for number in direct.iter().chain(below.iter().skip(1)) {
                let Some(other) = units.get(*number) else { continue };
                let list = names.entry(other.name.as_str()).or_default();
                let hidden = !direct.contains(number) && list.iter().any(|known| direct.contains(known));
                if !list.contains(number) && !hidden {
                    list.push(*number);
                }
            }
            crates.push(names);
        }
        let count = units.len();
        let mut heads = Self {
            numbers: HashMap::new(),
            texts: Vec::new(),
            crates,
            below,
            known: vec![HashSet::new(); count],
            tails: vec![HashMap::new(); count],
            declared: vec![HashSet::new(); count],
            modules: vec![HashSet::new(); count],
            memo: HashMap::new(),
        };
        for (unit, summary) in summaries.iter().enumerate() {
            heads.learn(unit, summary);
        }
        heads
    }

    /// Notes the types that a crate has.
    fn learn(&mut self, unit: usize, summary: &'a Summary) {
        let mut declared: HashSet<&str> =
            summary.source.types.iter().map(|word| summary.text(*word)).collect();
        let mut modules = HashSet::new();
        let mut words: HashSet<u32> = summary.parts.iter().flat_map(|(made, part)| [*made, *part]).collect();
        for item in &summary.items {
            let name = summary.text(item.name);
            match name.split_once("::") {
                Some((module, _)) if !module.starts_with('<') => {
                    modules.insert(module);
                }
                None if name.starts_with(char::is_uppercase) && !item.value => {
                    declared.insert(name);
                }
                _ => {}
            }
            words.extend(item.inputs.iter().chain([&item.output]));
            words.extend(item.drops.iter().map(|(word, _)| *word));
            // The type of an impl that a macro made has its name in no header.
            if item.method
                && let Some(block) = item.block.and_then(|block| summary.blocks.get(block as usize))
                && let Some(Type::Path(path)) =
                    item.inputs.first().map(|word| Type::read(summary.text(*word)).behind().clone())
                && path.segments.len() == 1
                && block.subject.is_none()
                && !block.parameters.iter().any(|word| summary.text(*word) == path.tail())
                && path.tail() != "Self"
            {
                declared.insert(path.tail());
            }
        }
        let mut found = Vec::new();
        for word in words {
            paths_in(&Type::read(summary.text(word)), &mut |path| {
                let first = path.segments.first().map_or("", |first| first.name);
                let hidden = modules.contains(first)
                    || self.crates.get(unit).is_some_and(|crates| crates.contains_key(first));
                if !is_projection(path) && (!looks_standard(path) || hidden) {
                    found.push(path.plain());
                }
            });
        }
        for path in found {
            let local = match path.split_once("::") {
                Some((first, _)) => {
                    modules.contains(first)
                        || !self.crates.get(unit).is_some_and(|crates| crates.contains_key(first))
                }
                None => declared.contains(path.as_str()),
            };
            if !local {
                continue;
            }
            let tail = path.rsplit("::").next().unwrap_or("").to_owned();
            if let (Some(known), Some(tails)) = (self.known.get_mut(unit), self.tails.get_mut(unit))
                && known.insert(path.clone())
            {
                tails.entry(tail).or_default().push(path);
            }
        }
        if let (Some(slot), Some(module_slot)) = (self.declared.get_mut(unit), self.modules.get_mut(unit)) {
            *slot = declared;
            *module_slot = modules;
        }
    }

    /// Says whether a path, as a crate prints it, is one of the standard library: a module of its own or a dependency may have the
    /// same name, and then that is meant where it has such a thing.
    pub(super) fn is_standard(&self, unit: usize, path: &Path<'_>) -> bool {
        looks_standard(path)
            && !self.hides_standard(unit, path.segments.first().map_or("", |first| first.name))
    }

    fn hides_standard(&self, unit: usize, first: &str) -> bool {
        self.has_module(unit, first) || !self.crates(unit, first).is_empty()
    }

    /// Returns the number of a head by its text.
    pub(super) fn head(&mut self, text: String) -> Head {
        if let Some(head) = self.numbers.get(&text) {
            return *head;
        }
        let head = Head(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(text.clone());
        self.numbers.insert(text, head);
        head
    }

    /// Returns the text of a head.
    pub(super) fn text(&self, head: Head) -> &str {
        self.texts.get(head.0 as usize).map_or("", |text| text)
    }

    /// Returns the units that the first name of a path may mean; the unit itself is not among them.
    pub(super) fn crates(&self, unit: usize, name: &str) -> &[usize] {
        self.crates.get(unit).and_then(|crates| crates.get(name)).map_or(&[], |list| list)
    }

    /// Says whether a crate has a module of that name at its root.
    pub(super) fn has_module(&self, unit: usize, name: &str) -> bool {
        self.modules.get(unit).is_some_and(|modules| modules.contains(name))
    }

    /// Returns what a named type may be, as one crate prints it.
    pub(super) fn named(&mut self, unit: usize, path: &Path<'_>) -> Rc<Named> {
        let plain = path.plain();
        if let Some(known) = self.memo.get(&(unit, plain.clone())) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.look(unit, path, &plain));
        self.memo.insert((unit, plain), Rc::clone(&found));
        found
    }

    fn look(&mut self, unit: usize, path: &Path<'_>, plain: &str) -> Named {
        if self.is_standard(unit, path) {
            let head = self.head(format!("std:{}", path.tail()));
            return Named { heads: vec![head], parameter: false };
        }
        let Some((first, rest)) = plain.split_once("::") else {
            if PRIMITIVES.contains(&plain) {
                return Named { heads: vec![self.head(plain.to_owned())], parameter: false };
            }
            if self.declared.get(unit).is_some_and(|declared| declared.contains(plain)) {
                return Named { heads: vec![self.head(format!("{unit}:{plain}"))], parameter: false };
            }
            return Named { heads: Vec::new(), parameter: true };
        };
        let mut texts = Vec::new();
        if self.known.get(unit).is_some_and(|known| known.contains(plain)) {
            texts.push(format!("{unit}:{plain}"));
        }
        if texts.is_empty() || !self.has_module(unit, first) {
            for other in self.crates(unit, first).to_vec() {
                self.in_crate(other, rest, path.tail(), &mut texts);
            }
        }
        if texts.is_empty() && looks_standard(path) {
            texts.push(format!("std:{}", path.tail()));
        }
        if texts.is_empty() {
            let declared = self.declared.get(unit).is_some_and(|declared| declared.contains(path.tail()));
            // A type that is only ever named in passing is known by its last name alone, as headers write it.
            texts.push(if declared { format!("{unit}:{}", path.tail()) } else { format!("{unit}:{plain}") });
        }
        let heads = texts.into_iter().map(|text| self.head(text)).collect();
        Named { heads, parameter: false }
    }

    /// Finds a type by the path through which another crate reaches it.
    fn in_crate(&self, unit: usize, rest: &str, tail: &str, texts: &mut Vec<String>) {
        if self.known.get(unit).is_some_and(|known| known.contains(rest)) {
            texts.push(format!("{unit}:{rest}"));
            return;
        }
        for below in self.below.get(unit).into_iter().flatten() {
            let Some(paths) = self.tails.get(*below).and_then(|tails| tails.get(tail)) else { continue };
            texts.extend(paths.iter().map(|path| format!("{below}:{path}")));
            return;
        }
        for below in self.below.get(unit).into_iter().flatten() {
            if self.declared.get(*below).is_some_and(|declared| declared.contains(tail)) {
                texts.push(format!("{below}:{tail}"));
                return;
            }
        }
        // A type that no crate knows anything of has no methods of the program either: it is one of std that was passed on.
        texts.push(format!("std:{tail}"));
    }

    /// Finds a type as it is written in a header, by its last name, those of the same module first.
    pub(super) fn written(&mut self, unit: usize, module: &str, path: &Path<'_>) -> Vec<Head> {
        let tail = path.tail();
        if path.segments.len() == 1 && PRIMITIVES.contains(&tail) {
            return vec![self.head(tail.to_owned())];
        }
        let own = self.tails.get(unit).and_then(|tails| tails.get(tail)).cloned().unwrap_or_default();
        let exact = if module.is_empty() { tail.to_owned() } else { format!("{module}::{tail}") };
        if own.contains(&exact) {
            return vec![self.head(format!("{unit}:{exact}"))];
        }
        if !own.is_empty() {
            // One that is only ever named in passing may be meant as well.
            let passing = format!("{unit}:{tail}");
            return own
                .into_iter()
                .map(|path| format!("{unit}:{path}"))
                .chain([passing])
                .map(|text| self.head(text))
                .collect();
        }
        if self.declared.get(unit).is_some_and(|declared| declared.contains(tail)) {
            return vec![self.head(format!("{unit}:{tail}"))];
        }
        let mut texts = Vec::new();
        for below in self.below.get(unit).into_iter().flatten().skip(1) {
            if let Some(paths) = self.tails.get(*below).and_then(|tails| tails.get(tail)) {
                texts.extend(paths.iter().map(|path| format!("{below}:{path}")));
            }
        }
        let mut heads: Vec<Head> = texts.into_iter().map(|text| self.head(text)).collect();
        heads.push(self.head(format!("std:{tail}")));
        heads
    }

    /// Returns the types in a type.
    pub(super) fn inside(&mut self, unit: usize, ty: &Type<'_>, which: Inside) -> Found {
        let mut found = Found::default();
        self.collect(unit, ty, which, &mut found);
        found.heads.sort_unstable();
        found.heads.dedup();
        found
    }

    /// Adds the types in a type.
    pub(super) fn collect(&mut self, unit: usize, ty: &Type<'_>, which: Inside, found: &mut Found) {
        match ty {
            Type::Closure(place) => found.heads.push(self.head(format!("closure:{place}"))),
            Type::Dyn(traits) => {
                if let Some(first) = traits.first() {
                    let root = if self.is_standard(unit, first) { "std:" } else { "" };
                    found.heads.push(self.head(format!("dyn:{root}{}", first.tail())));
                    self.arguments(unit, first, Inside::Mentioned, found);
                }
            }
            Type::Function(signature) => {
                found.heads.extend(self.unnamed(ty));
                if let Some(item) = &signature.item {
                    self.arguments(unit, item, Inside::Mentioned, found);
                    // Whoever calls it gets what it gives, a constructor its type.
                    if let Some(output) = &signature.output {
                        self.collect(unit, output, Inside::Mentioned, found);
                    }
                }
            }
            Type::List(inner) => {
                found.heads.extend(self.unnamed(ty));
                self.collect(unit, inner, which, found);
            }
            Type::Opaque(_) => found.generic = true,
            Type::Other => {}
            Type::Path(path) if is_projection(path) => {
                self.arguments(unit, path, Inside::Mentioned, found);
            }
            Type::Path(path) => {
                let named = self.named(unit, path);
                found.heads.extend(&named.heads);
                found.generic |= named.parameter;
                if which == Inside::Mentioned
                    || !matches!(
                        path.tail(),
                        "Iter"
                            | "IterMut"
                            | "ManuallyDrop"
                            | "MaybeUninit"
                            | "NonNull"
                            | "PhantomData"
                            | "AtomicPtr"
                            | "Weak"
                    )
                {
                    self.arguments(unit, path, which, found);
                }
            }
            Type::Pointer(inner) | Type::Reference(inner) => {
                if which == Inside::Mentioned {
                    found.heads.extend(self.unnamed(ty));
                    self.collect(unit, inner, which, found);
                }
            }
            Type::Tuple(items) => {
                found.heads.extend(self.unnamed(ty));
                for item in items {
                    self.collect(unit, item, which, found);
                }
            }
        }
    }

    /// Returns the head of a type that has no name.
    pub(super) fn unnamed(&mut self, ty: &Type<'_>) -> Option<Head> {
        let text = match ty {
            Type::Function(signature) if signature.item.is_none() => "fn",
            Type::List(_) => "[]",
            Type::Pointer(_) => "*",
            Type::Tuple(_) => "()",
            _ => return None,
        };
        Some(self.head(text.to_owned()))
    }

    /// Adds the types in everything that stands in angle brackets in a path.
    pub(super) fn arguments(&mut self, unit: usize, path: &Path<'_>, which: Inside, found: &mut Found) {
        for block in
            path.qualified.iter().chain(path.segments.iter().filter_map(|segment| segment.block.as_ref()))
        {
            self.collect(unit, &block.subject, which, found);
            if let Some(of) = &block.of {
                self.arguments(unit, of, which, found);
            }
        }
        for argument in path.segments.iter().flat_map(|segment| &segment.args) {
            self.collect(unit, argument, which, found);
        }
    }
}

/// Calls `take` for every named type in a type.
fn paths_in(ty: &Type<'_>, take: &mut impl FnMut(&Path<'_>)) {
    match ty {
        Type::Closure(_) | Type::Other => {}
        Type::Dyn(traits) | Type::Opaque(traits) => {
            for path in traits {
                path.segments.iter().flat_map(|segment| &segment.args).for_each(|ty| paths_in(ty, take));
            }
        }
        Type::Function(signature) => {
            signature.inputs.iter().chain(&signature.output).for_each(|ty| paths_in(ty, take));
        }
        Type::List(inner) | Type::Pointer(inner) | Type::Reference(inner) => paths_in(inner, take),
        Type::Path(path) => {
            take(path);
            if let Some(block) = &path.qualified {
                paths_in(&block.subject, take);
            }
            path.segments.iter().flat_map(|segment| &segment.args).for_each(|ty| paths_in(ty, take));
        }
        Type::Tuple(items) => items.iter().for_each(|ty| paths_in(ty, take)),
    }
}

fn all_below(units: &[Unit], unit: usize) -> Vec<usize> {
    let mut order = vec![unit];
    let mut seen: HashSet<usize> = HashSet::from([unit]);
    let mut at = 0;
    while let Some(next) = order.get(at).copied() {
        at += 1;
        for (_, other) in units.get(next).map_or(&[][..], |unit| &unit.externs) {
            if *other < units.len() && seen.insert(*other) {
                order.push(*other);
            }
        }
    }
    order
}
