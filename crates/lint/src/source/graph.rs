//! Who calls whom, and who touches the world itself.
//!
//! A node is a function, a constant, a macro, or a closure inside one of these. A body that names a type may run whatever
//! implements a trait for it: that is how code comes to run through generics, `Display`, `Drop` and operators.
//!
//! INVARIANT: a name that leads to something that was not read is `unanalyzed`, and an unknown C name is `ffi`.

mod follow;
mod label;
mod literal;
mod method;

use std::collections::{HashMap, HashSet};

use super::boundary;
use super::kind::{Key, Kind, Kinds, Scope, texts};
use super::model::{Argument, Body, Mention, Owner, Spot, Unit};
use super::name::{Found, Id, World};
use crate::{Effect, EffectSet, catalog};

pub(crate) use label::name;

/// A node that touches the world itself.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub(crate) node: usize,
    pub(crate) effect: Effect,
    pub(crate) mediated: bool,
    pub(crate) name: String,
    pub(crate) spot: Spot,
    pub(crate) literals: Vec<String>,
}

/// The nodes, and what leads from one to another.
pub(crate) struct Graph {
    /// The function of each node and which of its blocks it is.
    pub(crate) nodes: Vec<(Id, usize)>,
    pub(crate) calls: Vec<Vec<(usize, Spot)>>,
    pub(crate) direct: Vec<Direct>,
}

/// Builds the graph.
pub(crate) struct Builder<'w> {
    kinds: &'w Kinds<'w>,
    graph: Graph,
    starts: HashMap<Id, usize>,
    /// The methods of each unit by name.
    by_name: Vec<HashMap<&'w str, Vec<Id>>>,
    /// What implements traits for a type, and the trait's name.
    running: HashMap<Key, Vec<(String, Id)>>,
    /// The units that a unit sees.
    seen: Vec<Vec<usize>>,
    foreign: HashMap<String, Option<EffectSet>>,
}

/// Something that a node does, and where.
#[derive(Clone, Copy)]
struct Act<'m> {
    node: usize,
    id: Id,
    spot: Spot,
    arguments: &'m [Argument],
}

/// What the mentions of a block share.
#[derive(Default)]
struct Seen<'m> {
    /// The functions and methods that are named.
    asked: HashSet<&'m str>,
    /// The paths of the standard library that are named.
    outside: HashSet<String>,
    /// The types whose implementations were counted.
    types: HashSet<Id>,
}

/// Traits that only run where something asks for a conversion, and the methods that ask.
#[rustfmt::skip]
const ASKED: &[(&str, &[&str])] = &[
    ("Default",      &["default", "unwrap_or_default"]),
    ("From",         &["into"]),
    ("FromIterator", &["collect"]),
    ("FromStr",      &["parse"]),
    ("TryFrom",      &["try_into"]),
];

impl<'w> Builder<'w> {
    pub(crate) fn new(kinds: &'w Kinds<'w>) -> Self {
        let units = kinds.world.units;
        let mut graph = Graph { nodes: Vec::new(), calls: Vec::new(), direct: Vec::new() };
        let mut starts = HashMap::new();
        for (unit, one) in units.iter().enumerate() {
            for (number, function) in one.functions.iter().enumerate() {
                starts.insert((unit, number), graph.nodes.len());
                graph.nodes.extend((0..function.body.blocks.len()).map(|block| ((unit, number), block)));
            }
        }
        graph.calls = vec![Vec::new(); graph.nodes.len()];
        let by_name = units.iter().enumerate().map(|(number, unit)| by_name(number, unit)).collect();
        let (running, seen) = (running(kinds), seen(kinds.world));
        Self { kinds, graph, starts, by_name, running, seen, foreign: HashMap::new() }
    }

    /// Reads every body.
    pub(crate) fn build(mut self) -> Graph {
        for (unit, one) in self.kinds.world.units.iter().enumerate() {
            for (number, function) in one.functions.iter().enumerate() {
                for block in 0..function.body.blocks.len() {
                    self.block((unit, number), &function.body, block);
                }
            }
        }
        for calls in &mut self.graph.calls {
            let mut seen = HashSet::new();
            calls.retain(|(callee, _)| seen.insert(*callee));
        }
        self.graph
    }

    fn block(&mut self, id: Id, body: &'w Body, number: usize) {
        let Some(start) = self.starts.get(&id).copied() else { return };
        let (Some(function), Some(block)) = (self.kinds.function(id), body.blocks.get(number)) else {
            return;
        };
        let act = |spot| Act { node: start + number, id, spot, arguments: &[] };
        let mut seen = Seen::default();
        seen.asked.extend(block.mentions.iter().filter_map(|mention| match mention {
            Mention::Method { name, .. } => Some(name.as_str()),
            Mention::Route { route, .. } => Some(route.last()),
            _ => None,
        }));
        for mention in &block.mentions {
            match mention {
                Mention::Block(inner) => self.call(act(block.spot), start + inner),
                Mention::Direct { effect, name, spot } => {
                    self.touch(act(*spot), EffectSet::of(*effect), name, &[]);
                }
                Mention::Macro { route, names, spot } => {
                    for called in self.kinds.world.macros(id.0, function.module, route) {
                        self.call_function(act(*spot), called);
                        self.completed(act(*spot), called, names, &mut seen);
                    }
                }
                Mention::Returned { form, spot } => {
                    let kind = self.kinds.typed(Scope::of(id.0, function), form, 0);
                    self.conversions(act(*spot), &kind, &seen);
                }
                Mention::Runs { value, names, spot } => {
                    let kind = self.kinds.of_value(id, body, value, 0);
                    for name in *names {
                        let methods = self.kinds.methods(&kind, name);
                        methods.into_iter().for_each(|to| self.call_function(act(*spot), to));
                    }
                }
                Mention::Type { form, spot } => {
                    let kind = self.kinds.typed(Scope::of(id.0, function), form, 0);
                    outside_names(&kind, &mut seen.outside);
                    self.types(act(*spot), &kind, &mut seen);
                }
                Mention::Route { route, arguments, spot, manner } => {
                    self.route(Act { arguments, ..act(*spot) }, route, *manner, &mut seen);
                }
                Mention::Method { .. } => {}
            }
        }
        for variable in &body.variables {
            outside_names(&self.kinds.of_value(id, body, variable, 0), &mut seen.outside);
        }
        for mention in &block.mentions {
            if let Mention::Method { receiver, name, arguments, spot } = mention {
                self.method(Act { arguments, ..act(*spot) }, body, receiver, name, &seen);
            }
        }
    }

    fn call(&mut self, act: Act<'_>, to: usize) {
        if act.node != to
            && let Some(calls) = self.graph.calls.get_mut(act.node)
        {
            calls.push((to, act.spot));
        }
    }

    fn touch(&mut self, act: Act<'_>, effects: EffectSet, name: &str, literals: &[String]) {
        let Act { node, spot, .. } = act;
        self.graph.direct.extend(effects.iter().map(|effect| Direct {
            node,
            effect,
            mediated: false,
            name: name.to_owned(),
            spot,
            literals: literals.to_vec(),
        }));
    }

    /// Notes that a function is called or passed on.
    fn call_function(&mut self, act: Act<'_>, to: Id) {
        let world = self.kinds.world;
        let package = world.package_name(to.0);
        if package != world.package_name(act.id.0) {
            if package == "ringfence"
                && let Some(effects) = self.boundary(to)
            {
                let before = self.graph.direct.len();
                self.touch(act, effects, &name(self.kinds, to), &texts(act.arguments));
                self.graph.direct.iter_mut().skip(before).for_each(|direct| direct.mediated = true);
                return;
            }
            if matches!(package, "rustix" | "nix" | "getrandom") {
                let path = name(self.kinds, to);
                let rest = path.split_once("::").map_or("", |(_, rest)| rest);
                if let Some(effects) = catalog::of_wrapper(package, rest) {
                    self.touch(act, effects, &path, &[]);
                    return;
                }
            }
        }
        if let Some(to) = self.starts.get(&to).copied() {
            self.call(act, to);
        }
    }

    fn boundary(&self, id: Id) -> Option<EffectSet> {
        let function = self.kinds.function(id)?;
        let Kind::Local(owner, _) = self.kinds.own(Scope::of(id.0, function), 0) else { return None };
        let owner = self.kinds.world.units.get(owner.0)?.types.get(owner.1)?;
        boundary::of_method(&owner.name, &function.name)
    }

    /// Notes that the implementations of traits for a type may run.
    fn types(&mut self, act: Act<'_>, kind: &Kind, seen: &mut Seen<'_>) {
        match kind {
            Kind::Local(id, arguments) => {
                let is_far = self.kinds.world.package_name(id.0) == "ringfence" && act.id.0 != id.0;
                if seen.types.insert(*id) && !is_far {
                    self.implementations(act, *id, seen, |_| true);
                }
                arguments.iter().for_each(|one| self.types(act, one, seen));
            }
            Kind::Outside(_, arguments) | Kind::Tuple(arguments) => {
                arguments.iter().for_each(|one| self.types(act, one, seen));
            }
            Kind::List(element) => self.types(act, element, seen),
            Kind::Bound(_) | Kind::Dynamic(_) | Kind::Unknown => {}
        }
    }

    /// Notes that conversions into a type may run, where something asks for one.
    fn conversions(&mut self, act: Act<'_>, kind: &Kind, seen: &Seen<'_>) {
        match kind {
            Kind::Local(id, arguments) => {
                self.implementations(act, *id, seen, |of| ASKED.iter().any(|(name, _)| *name == of));
                arguments.iter().for_each(|one| self.conversions(act, one, seen));
            }
            Kind::Outside(_, arguments) | Kind::Tuple(arguments) => {
                arguments.iter().for_each(|one| self.conversions(act, one, seen));
            }
            Kind::List(element) => self.conversions(act, element, seen),
            Kind::Bound(_) | Kind::Dynamic(_) | Kind::Unknown => {}
        }
    }

    fn implementations(&mut self, act: Act<'_>, id: Id, seen: &Seen<'_>, wanted: impl Fn(&str) -> bool) {
        for (of, implementation) in self.running.get(&Key::Local(id)).cloned().unwrap_or_default() {
            // What a third package implements for the type only runs through that package.
            let is_near = implementation.0 == id.0 || implementation.0 == act.id.0;
            if !is_near || !wanted(&of) {
                continue;
            }
            let condition = ASKED.iter().find(|(name, _)| *name == of);
            if condition.is_some_and(|(_, methods)| !methods.iter().any(|method| seen.asked.contains(method)))
            {
                continue;
            }
            let unit = self.kinds.world.units.get(implementation.0);
            let known = unit.and_then(|unit| unit.implementations.get(implementation.1));
            for function in known.into_iter().flat_map(|known| &known.functions) {
                self.call_function(act, (implementation.0, *function));
            }
        }
    }
}

fn by_name(number: usize, unit: &Unit) -> HashMap<&str, Vec<Id>> {
    let mut methods: HashMap<&str, Vec<Id>> = HashMap::new();
    for (function, one) in unit.functions.iter().enumerate() {
        if one.is_method && one.has_body && one.owner != Owner::Module {
            methods.entry(&one.name).or_default().push((number, function));
        }
    }
    methods
}

fn running(kinds: &Kinds<'_>) -> HashMap<Key, Vec<(String, Id)>> {
    let named = |id: &Id| {
        let name = match kinds.traits.get(id)? {
            Found::Trait(of) => kinds.world.units.get(of.0)?.traits.get(of.1)?.name.clone(),
            Found::Outside(path) => path.rsplit("::").next().unwrap_or_default().to_owned(),
            _ => return None,
        };
        Some((name, *id))
    };
    let all = kinds.implementations.iter();
    all.map(|(key, implementations)| (key.clone(), implementations.iter().filter_map(named).collect()))
        .collect()
}

/// Returns the units that each unit sees: what its package uses.
fn seen(world: &World<'_>) -> Vec<Vec<usize>> {
    let of_unit = |unit: &Unit| {
        let package = world.project.packages.get(unit.package);
        let used: HashSet<usize> =
            package.into_iter().flat_map(|package| &package.dependencies).map(|one| one.package).collect();
        let all = world.units.iter().enumerate();
        all.filter(|(_, other)| used.contains(&other.package)).map(|(number, _)| number).collect()
    };
    world.units.iter().map(of_unit).collect()
}

/// Notes the types of the standard library that a type is made of.
fn outside_names(kind: &Kind, names: &mut HashSet<String>) {
    if let Kind::Outside(path, arguments) = kind {
        names.insert(path.to_string());
        arguments.iter().for_each(|one| outside_names(one, names));
    }
}
