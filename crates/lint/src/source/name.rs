//! What names mean: imports, re-exports, globs and aliases, across all packages.
//!
//! A name may have several meanings (a type and a function, two alternatives of a condition that nobody can judge); all are kept.
//!
//! INVARIANT: a path that leads into something that was not read ends in a gap, never in nothing.

mod prelude;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::model::{Item, Route, Unit};
use crate::Project;
use prelude::{externs, prelude};

/// The number of a thing and of the unit it is in.
pub(crate) type Id = (usize, usize);

/// What a name means.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Found {
    Foreign(Id),
    Function(Id),
    /// A module that was not read in full, where the name may be.
    Gap(Id),
    Macro(Id),
    Module(Id),
    /// A path of the standard library, or of the C library (`libc::open`).
    Outside(Rc<str>),
    Trait(Id),
    Type(Id),
}

type Many = Rc<Vec<Found>>;

/// A name that is looked up in a module of a unit.
type Looked = (usize, usize, String);

/// The items of a module by name.
type Items<'a> = HashMap<&'a str, Vec<Item>>;

/// Every unit, and how they see each other.
pub(crate) struct World<'a> {
    pub(crate) project: &'a Project,
    pub(crate) units: &'a [Unit],
    /// What each unit calls the others.
    externs: Vec<HashMap<String, Found>>,
    items: Vec<Vec<Items<'a>>>,
    macros: Vec<HashMap<&'a str, Vec<usize>>>,
    known: RefCell<HashMap<Looked, (Many, Many)>>,
    globs: RefCell<HashMap<(usize, usize, usize), Many>>,
    active: RefCell<HashSet<Looked>>,
    is_tainted: Cell<bool>,
}

impl<'a> World<'a> {
    pub(crate) fn new(project: &'a Project, units: &'a [Unit]) -> Self {
        let items = |unit: &'a Unit| {
            let of_module = |module: &'a super::model::Module| {
                let mut map: HashMap<&str, Vec<Item>> = HashMap::new();
                for (name, item) in &module.items {
                    map.entry(name).or_default().push(*item);
                }
                map
            };
            unit.modules.iter().map(of_module).collect()
        };
        let macros = |unit: &'a Unit| {
            let mut map: HashMap<&str, Vec<usize>> = HashMap::new();
            for (name, item) in unit.modules.iter().flat_map(|module| &module.items) {
                if let Item::Macro(number) = item {
                    map.entry(name).or_default().push(*number);
                }
            }
            map
        };
        Self {
            project,
            units,
            externs: externs(project, units),
            items: units.iter().map(items).collect(),
            macros: units.iter().map(macros).collect(),
            known: RefCell::default(),
            globs: RefCell::default(),
            active: RefCell::default(),
            is_tainted: Cell::new(false),
        }
    }

    /// Returns what a path means in a module, with how many of its last segments were not looked at.
    pub(crate) fn resolve(&self, unit: usize, module: usize, route: &Route) -> Vec<(Found, usize)> {
        let Some((first, rest)) = route.segments.split_first() else { return Vec::new() };
        let (start, rest): (Vec<Found>, &[String]) = match first.as_str() {
            "crate" | "$crate" => (vec![Found::Module((unit, 0))], rest),
            "self" => (vec![Found::Module((unit, self.enclosing(unit, module)))], rest),
            "super" => {
                let mut at = self.parent(unit, self.enclosing(unit, module));
                let mut rest = rest;
                while let Some(("super", more)) = rest.split_first().map(|(one, more)| (one.as_str(), more)) {
                    at = self.parent(unit, at);
                    rest = more;
                }
                (vec![Found::Module((unit, at))], rest)
            }
            _ if route.global => {
                let named = self.named(unit, first);
                if named.is_empty() { (self.root(unit, first), rest) } else { (named, rest) }
            }
            _ => (self.first(unit, module, first), rest),
        };
        start.into_iter().flat_map(|found| self.walk(unit, found, rest)).collect()
    }

    /// Returns the macros of a name: along its path, or anywhere in the unit or in what it uses.
    pub(crate) fn macros(&self, unit: usize, module: usize, route: &Route) -> Vec<Id> {
        let by_path: Vec<Id> = self
            .resolve(unit, module, route)
            .into_iter()
            .filter_map(|(found, rest)| match found {
                Found::Macro(id) if rest == 0 => Some(id),
                _ => None,
            })
            .collect();
        if !by_path.is_empty() {
            return by_path;
        }
        let all = |unit: usize| {
            let known = self.macros.get(unit).and_then(|macros| macros.get(route.last()));
            known.into_iter().flatten().map(move |number| (unit, *number)).collect::<Vec<_>>()
        };
        // An exported macro is at the root of its unit, wherever it is written.
        let start = Route { segments: route.segments.iter().take(1).cloned().collect(), ..route.clone() };
        match route.segments.len() {
            0 | 1 => all(unit),
            _ => self
                .resolve(unit, module, &start)
                .into_iter()
                .filter_map(|(found, _)| match found {
                    Found::Module((unit, _)) => Some(all(unit)),
                    _ => None,
                })
                .flatten()
                .collect(),
        }
    }

    fn walk(&self, from: usize, found: Found, rest: &[String]) -> Vec<(Found, usize)> {
        let Some((next, more)) = rest.split_first() else { return vec![(found, 0)] };
        match found {
            Found::Module((unit, module)) => {
                let inner = self.inside(from, unit, module, next);
                if inner.is_empty() && self.has_gap(unit, module) {
                    return vec![(Found::Gap((unit, module)), 0)];
                }
                inner.into_iter().flat_map(|one| self.walk(from, one, more)).collect()
            }
            Found::Outside(path) => {
                let path = rest.iter().fold(path.to_string(), |path, segment| format!("{path}::{segment}"));
                vec![(Found::Outside(path.into()), 0)]
            }
            other => vec![(other, rest.len())],
        }
    }

    /// Returns what the first segment of a path means.
    fn first(&self, unit: usize, module: usize, name: &str) -> Vec<Found> {
        let mut at = module;
        let mut weak = Vec::new();
        loop {
            let (strong, outside) = self.lookup(unit, at, name, false);
            if !strong.is_empty() {
                return strong.to_vec();
            }
            weak.extend(outside.iter().cloned());
            match self.units.get(unit).and_then(|one| one.modules.get(at)) {
                Some(one) if one.is_body => at = self.parent(unit, at),
                _ => break,
            }
        }
        let named = self.named(unit, name);
        if !named.is_empty() {
            return named;
        }
        if let Some(path) = prelude(name) {
            return vec![Found::Outside(path.into())];
        }
        if !weak.is_empty() {
            return weak;
        }
        match self.units.get(unit) {
            Some(one) if one.edition == 2015 => self.root(unit, name),
            _ if self.has_gap(unit, at) => vec![Found::Gap((unit, at))],
            _ => Vec::new(),
        }
    }

    fn root(&self, unit: usize, name: &str) -> Vec<Found> {
        let (strong, weak) = self.lookup(unit, 0, name, false);
        if strong.is_empty() { weak.to_vec() } else { strong.to_vec() }
    }

    fn inside(&self, from: usize, unit: usize, module: usize, name: &str) -> Vec<Found> {
        let (strong, weak) = self.lookup(unit, module, name, from != unit);
        if strong.is_empty() { weak.to_vec() } else { strong.to_vec() }
    }

    /// Returns the package that a unit calls by a name.
    fn named(&self, unit: usize, name: &str) -> Vec<Found> {
        match name {
            "std" | "core" | "alloc" | "proc_macro" => vec![Found::Outside("std".into())],
            _ => self.externs.get(unit).and_then(|externs| externs.get(name)).into_iter().cloned().collect(),
        }
    }

    /// Returns what a module calls by a name: what is certain, and what a glob of the standard library may bring.
    fn lookup(&self, unit: usize, module: usize, name: &str, is_outside: bool) -> (Many, Many) {
        let key = (unit, module, if is_outside { format!("::{name}") } else { name.to_owned() });
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        if !self.active.borrow_mut().insert(key.clone()) {
            self.is_tainted.set(true);
            return Default::default();
        }
        let is_first = self.active.borrow().len() == 1;
        let found = self.searched(unit, module, name, is_outside);
        let found = (Rc::new(found.0), Rc::new(found.1));
        self.active.borrow_mut().remove(&key);
        if is_first {
            self.is_tainted.set(false);
        }
        if is_first || !self.is_tainted.get() {
            self.known.borrow_mut().insert(key, found.clone());
        }
        found
    }

    fn searched(&self, unit: usize, module: usize, name: &str, is_outside: bool) -> (Vec<Found>, Vec<Found>) {
        let mut strong: Vec<Found> = Vec::new();
        let mut weak: Vec<Found> = Vec::new();
        let items =
            self.items.get(unit).and_then(|modules| modules.get(module)).and_then(|items| items.get(name));
        strong.extend(items.into_iter().flatten().map(|item| found(unit, *item)));
        let Some(own) = self.units.get(unit).and_then(|one| one.modules.get(module)) else {
            return (strong, weak);
        };
        let seen = |import: &&super::model::Import| !is_outside || import.is_public;
        for import in own.imports.iter().filter(seen) {
            if import.name.as_deref() == Some(name) {
                let is_self = import.route.global && import.route.segments == ["self"];
                let meaning = if is_self {
                    vec![(Found::Module((unit, 0)), 0)]
                } else {
                    self.resolve(unit, module, &import.route)
                };
                strong.extend(meaning.into_iter().map(|(found, _)| found));
            }
        }
        if strong.is_empty() {
            for (number, import) in own.imports.iter().enumerate().filter(|(_, import)| seen(import)) {
                if import.name.is_some() {
                    continue;
                }
                for source in self.glob(unit, module, number, &import.route).iter() {
                    match source {
                        Found::Module((other, inner)) => {
                            let (more, outside) = self.lookup(*other, *inner, name, *other != unit);
                            if more.is_empty() && self.has_gap(*other, *inner) {
                                weak.push(Found::Gap((*other, *inner)));
                            }
                            strong.extend(more.iter().cloned());
                            weak.extend(outside.iter().cloned());
                        }
                        Found::Outside(path) => weak.push(Found::Outside(format!("{path}::{name}").into())),
                        Found::Type(id) if self.has_variant(*id, name) => strong.push(source.clone()),
                        _ => {}
                    }
                }
            }
        }
        let unique = |found: Vec<Found>| {
            let mut seen = HashSet::new();
            found.into_iter().filter(|one| seen.insert(one.clone())).collect()
        };
        (unique(strong), unique(weak))
    }

    fn glob(&self, unit: usize, module: usize, number: usize, route: &Route) -> Many {
        let key = (unit, module, number);
        if let Some(known) = self.globs.borrow().get(&key) {
            return Rc::clone(known);
        }
        let before = self.is_tainted.replace(false);
        let found: Many =
            Rc::new(self.resolve(unit, module, route).into_iter().map(|(found, _)| found).collect());
        if !self.is_tainted.get() {
            self.globs.borrow_mut().insert(key, Rc::clone(&found));
        }
        self.is_tainted.set(before || self.is_tainted.get());
        found
    }

    /// Says whether a type has a variant of a name.
    pub(crate) fn has_variant(&self, id: Id, name: &str) -> bool {
        let known = self.units.get(id.0).and_then(|unit| unit.types.get(id.1));
        known.is_some_and(|one| one.variants.iter().any(|variant| variant == name))
    }

    pub(crate) fn has_gap(&self, unit: usize, module: usize) -> bool {
        self.units
            .get(unit)
            .and_then(|one| one.modules.get(module))
            .is_some_and(|module| module.gap.is_some())
    }

    /// Returns the module that a body is written in.
    fn enclosing(&self, unit: usize, module: usize) -> usize {
        let mut at = module;
        while let Some(one) =
            self.units.get(unit).and_then(|unit| unit.modules.get(at)).filter(|one| one.is_body)
        {
            at = one.parent.unwrap_or(0);
        }
        at
    }

    fn parent(&self, unit: usize, module: usize) -> usize {
        self.units.get(unit).and_then(|one| one.modules.get(module)).and_then(|one| one.parent).unwrap_or(0)
    }

    /// Returns the path of a module, from its unit on.
    pub(crate) fn module_path(&self, unit: usize, module: usize) -> String {
        let mut names = Vec::new();
        let mut at = Some(module);
        while let Some(one) = at.and_then(|at| self.units.get(unit)?.modules.get(at)) {
            if !one.name.is_empty() {
                names.push(one.name.as_str());
            }
            at = one.parent;
        }
        names.push(self.units.get(unit).map_or("", |unit| unit.name.as_str()));
        names.reverse();
        names.join("::")
    }

    /// Returns the name of the package of a unit.
    pub(crate) fn package_name(&self, unit: usize) -> &'a str {
        let package = self.units.get(unit).and_then(|unit| self.project.packages.get(unit.package));
        package.map_or("", |package| package.name.as_str())
    }
}

fn found(unit: usize, item: Item) -> Found {
    match item {
        Item::Foreign(number) => Found::Foreign((unit, number)),
        Item::Function(number) => Found::Function((unit, number)),
        Item::Macro(number) => Found::Macro((unit, number)),
        Item::Module(number) => Found::Module((unit, number)),
        Item::Trait(number) => Found::Trait((unit, number)),
        Item::Type(number) => Found::Type((unit, number)),
    }
}
