//! What is known of the type of a value, and the methods that a call of it may run.
//!
//! INVARIANT: a type that is not evident is [`Kind::Unknown`]; nothing is guessed from names here.

mod flow;
mod method;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::model::{Argument, Body, Form, Function, Manner, Mention, Owner, Route, Value};
use super::name::{Found, Id, World};
use super::outside;

/// How many steps are taken to find a type.
const MAX_DEPTH: usize = 60;

/// A type.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A generic parameter or `impl Trait`: some type that implements these.
    Bound(Rc<[Id]>),
    /// `dyn Trait`.
    Dynamic(Rc<[Id]>),
    List(Rc<Kind>),
    Local(Id, Rc<[Kind]>),
    Outside(Rc<str>, Rc<[Kind]>),
    Tuple(Rc<[Kind]>),
    Unknown,
}

/// Where names of types are read.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s> {
    pub(crate) unit: usize,
    pub(crate) module: usize,
    pub(crate) owner: Owner,
    pub(crate) generics: &'s [(String, Vec<Route>)],
    /// What generic parameters stand for.
    pub(crate) given: &'s [(String, Kind)],
}

impl<'s> Scope<'s> {
    pub(crate) fn of(unit: usize, function: &'s Function) -> Self {
        let (module, owner, generics) = (function.module, function.owner, function.generics.as_slice());
        Self { unit, module, owner, generics, given: &[] }
    }
}

/// Types and their methods.
pub(crate) struct Kinds<'w> {
    pub(crate) world: &'w World<'w>,
    /// The functions of a type, by name.
    methods: HashMap<Key, HashMap<&'w str, Vec<Id>>>,
    /// The implementations for a type.
    pub(crate) implementations: HashMap<Key, Vec<Id>>,
    /// The implementations of a trait.
    pub(crate) implementors: HashMap<Id, Vec<Id>>,
    /// What each implementation implements, as far as it is known.
    pub(crate) traits: HashMap<Id, Found>,
    /// The functions of implementations for every type that fits.
    pub(crate) blanket: HashMap<&'w str, Vec<Id>>,
    /// What a type derefs to.
    targets: HashMap<Id, Kind>,
    variables: RefCell<HashMap<(Id, usize), Kind>>,
}

/// A type that has methods.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Key {
    Local(Id),
    Outside(Rc<str>),
}

impl<'w> Kinds<'w> {
    pub(crate) fn new(world: &'w World<'w>) -> Self {
        let mut kinds = Self {
            world,
            methods: HashMap::new(),
            implementations: HashMap::new(),
            implementors: HashMap::new(),
            traits: HashMap::new(),
            blanket: HashMap::new(),
            targets: HashMap::new(),
            variables: RefCell::default(),
        };
        for (unit, one) in world.units.iter().enumerate() {
            for (number, implementation) in one.implementations.iter().enumerate() {
                let scope = Scope {
                    unit,
                    module: implementation.module,
                    owner: Owner::Module,
                    generics: &implementation.generics,
                    given: &[],
                };
                if let Some(route) = &implementation.of {
                    let meaning =
                        world.resolve(unit, implementation.module, route).into_iter().map(|(found, _)| found);
                    for found in meaning.filter(|found| matches!(found, Found::Trait(_) | Found::Outside(_)))
                    {
                        if let Found::Trait(id) = &found {
                            kinds.implementors.entry(*id).or_default().push((unit, number));
                        }
                        kinds.traits.insert((unit, number), found);
                    }
                }
                let kind = kinds.typed(scope, &implementation.form, 0);
                if let (Kind::Local(id, _), Some(target)) = (&kind, &implementation.target) {
                    let target = kinds.typed(scope, target, 0);
                    kinds.targets.insert(*id, target);
                }
                if matches!(kind, Kind::Bound(_)) {
                    for function in &implementation.functions {
                        if let Some(known) = one.functions.get(*function) {
                            kinds.blanket.entry(&known.name).or_default().push((unit, *function));
                        }
                    }
                }
                let Some(key) = key(&kind) else { continue };
                kinds.implementations.entry(key.clone()).or_default().push((unit, number));
                let methods = kinds.methods.entry(key).or_default();
                for function in &implementation.functions {
                    if let Some(known) = one.functions.get(*function) {
                        methods.entry(&known.name).or_default().push((unit, *function));
                    }
                }
            }
        }
        kinds
    }

    pub(crate) fn function(&self, id: Id) -> Option<&'w Function> {
        self.world.units.get(id.0)?.functions.get(id.1)
    }

    /// Returns the type that is written.
    pub(crate) fn typed(&self, scope: Scope<'_>, form: &Form, depth: usize) -> Kind {
        if depth > MAX_DEPTH {
            return Kind::Unknown;
        }
        match form {
            Form::Dynamic(bounds) => Kind::Dynamic(self.bounds(scope, bounds)),
            Form::Opaque(bounds) => Kind::Bound(self.bounds(scope, bounds)),
            Form::List(element) => Kind::List(Rc::new(self.typed(scope, element, depth + 1))),
            Form::Tuple(parts) => {
                Kind::Tuple(parts.iter().map(|part| self.typed(scope, part, depth + 1)).collect())
            }
            Form::Route(route) => self.named(scope, route, depth),
            Form::Unknown => Kind::Unknown,
        }
    }

    fn bounds(&self, scope: Scope<'_>, bounds: &[Route]) -> Rc<[Id]> {
        let meaning = bounds.iter().flat_map(|bound| self.world.resolve(scope.unit, scope.module, bound));
        meaning
            .filter_map(|(found, _)| match found {
                Found::Trait(id) => Some(id),
                _ => None,
            })
            .collect()
    }

    fn named(&self, scope: Scope<'_>, route: &Route, depth: usize) -> Kind {
        if route.subject.is_some() {
            return Kind::Unknown;
        }
        if let [name] = route.segments.as_slice() {
            if name == "Self" {
                return self.own(scope, depth);
            }
            if let Some((_, kind)) = scope.given.iter().find(|(own, _)| own == name) {
                return kind.clone();
            }
            if let Some((_, bounds)) = scope.generics.iter().find(|(own, _)| own == name) {
                return Kind::Bound(self.bounds(scope, bounds));
            }
        }
        let arguments =
            || route.arguments.iter().map(|one| self.typed(scope, one, depth + 1)).collect::<Rc<[Kind]>>();
        for (found, rest) in self.world.resolve(scope.unit, scope.module, route) {
            match found {
                Found::Type(id) if rest == 0 => return self.unaliased(id, arguments(), depth + 1),
                Found::Trait(id) if rest == 0 => return Kind::Dynamic(Rc::from([id])),
                Found::Outside(path) => return Kind::Outside(path, arguments()),
                _ => {}
            }
        }
        Kind::Unknown
    }

    /// Returns the type that `Self` is.
    pub(crate) fn own(&self, scope: Scope<'_>, depth: usize) -> Kind {
        match scope.owner {
            Owner::Module => Kind::Unknown,
            Owner::Trait(number) => Kind::Bound(Rc::from([(scope.unit, number)])),
            Owner::Implementation(number) => {
                let known =
                    self.world.units.get(scope.unit).and_then(|unit| unit.implementations.get(number));
                known.map_or(Kind::Unknown, |one| {
                    let inner = Scope { module: one.module, owner: Owner::Module, ..scope };
                    self.typed(inner, &one.form, depth + 1)
                })
            }
        }
    }

    fn unaliased(&self, id: Id, arguments: Rc<[Kind]>, depth: usize) -> Kind {
        let Some(known) = self.world.units.get(id.0).and_then(|unit| unit.types.get(id.1)) else {
            return Kind::Unknown;
        };
        let Some(alias) = &known.alias else { return Kind::Local(id, arguments) };
        let given = self.given(id, &arguments);
        let scope =
            Scope { unit: id.0, module: known.module, owner: Owner::Module, generics: &[], given: &given };
        self.typed(scope, alias, depth + 1)
    }

    fn given(&self, id: Id, arguments: &Rc<[Kind]>) -> Vec<(String, Kind)> {
        let known = self.world.units.get(id.0).and_then(|unit| unit.types.get(id.1));
        known.map_or_else(Vec::new, |known| {
            known.generics.iter().cloned().zip(arguments.iter().cloned()).collect()
        })
    }

    /// Returns the type of an expression in the body of a function.
    pub(crate) fn of_value(&self, id: Id, body: &Body, value: &Value, depth: usize) -> Kind {
        if depth > MAX_DEPTH {
            return Kind::Unknown;
        }
        let Some(function) = self.function(id) else { return Kind::Unknown };
        let scope = Scope::of(id.0, function);
        match value {
            Value::Typed(form) => self.typed(scope, form, depth),
            Value::Local(number) => {
                if let Some(known) = self.variables.borrow().get(&(id, *number)) {
                    return known.clone();
                }
                let Some(value) = body.variables.get(*number) else { return Kind::Unknown };
                let kind = self.of_value(id, body, value, depth + 1);
                self.variables.borrow_mut().insert((id, *number), kind.clone());
                kind
            }
            Value::Route(route) | Value::Call(route, _) => self.of_route(scope, route, depth),
            Value::Macro(route) => self.of_macro(scope, route, depth),
            Value::Peeled(inner) => outside::peeled(&self.of_value(id, body, inner, depth + 1)),
            Value::Element(inner) => self.element(&self.of_value(id, body, inner, depth + 1), depth),
            Value::Field(inner, name) => {
                let kind = self.of_value(id, body, inner, depth + 1);
                if let Value::Call(route, _) = &**inner {
                    let within = self.field(&kind, &format!("{}.{name}", route.last()), depth);
                    if !matches!(within, Kind::Unknown) {
                        return within;
                    }
                }
                self.field(&kind, name, depth)
            }
            Value::Method(receiver, name, _) => {
                let kind = self.of_value(id, body, receiver, depth + 1);
                self.returned(&kind, name, depth)
            }
            Value::Given { receiver, method, position } => {
                let kind = self.of_value(id, body, receiver, depth + 1);
                self.handed(&kind, method, *position)
            }
            Value::Closure(_) | Value::Unknown => Kind::Unknown,
        }
    }

    /// Returns the type that the last function in the body of a macro returns, where that is evident.
    fn of_macro(&self, scope: Scope<'_>, route: &Route, depth: usize) -> Kind {
        let made = |id: Id| {
            let function = self.function(id)?;
            let mentions = function.body.blocks.iter().flat_map(|block| &block.mentions).rev();
            let called = mentions.filter_map(|mention| match mention {
                Mention::Route { route, manner: Manner::Called, .. } => Some(route),
                _ => None,
            });
            let mut kinds = called.map(|route| self.of_route(Scope::of(id.0, function), route, depth + 1));
            kinds.find(|kind| matches!(kind, Kind::Local(..)))
        };
        let macros = self.world.macros(scope.unit, scope.module, route);
        macros.into_iter().find_map(made).unwrap_or(Kind::Unknown)
    }

    fn of_route(&self, scope: Scope<'_>, route: &Route, depth: usize) -> Kind {
        if let Some((first, [name])) = route.segments.split_first()
            && first == "Self"
        {
            let own = self.own(scope, depth + 1);
            return self.made(&own, name, depth);
        }
        for (found, rest) in self.world.resolve(scope.unit, scope.module, route) {
            match found {
                Found::Function(id) => return self.output(id, depth),
                Found::Type(id) => {
                    let arguments =
                        route.arguments.iter().map(|one| self.typed(scope, one, depth + 1)).collect();
                    let own = self.unaliased(id, arguments, depth + 1);
                    return if rest == 1 { self.made(&own, route.last(), depth) } else { own };
                }
                Found::Outside(path) => {
                    let arguments =
                        route.arguments.iter().map(|one| self.typed(scope, one, depth + 1)).collect();
                    return outside::called(&path, arguments);
                }
                _ => {}
            }
        }
        if route.segments.as_slice() == ["Self"] { self.own(scope, depth + 1) } else { Kind::Unknown }
    }

    /// Returns what `Type::name(...)` yields.
    fn made(&self, own: &Kind, name: &str, depth: usize) -> Kind {
        if let Kind::Outside(path, arguments) = own {
            return outside::called(&format!("{path}::{name}"), arguments.to_vec());
        }
        match self.methods(own, name).first() {
            Some(id) => self.output(*id, depth),
            // A variant, or a function that was derived: `default`, `clone`, `from`.
            None => own.clone(),
        }
    }

    fn output(&self, id: Id, depth: usize) -> Kind {
        self.function(id).map_or(Kind::Unknown, |function| {
            self.typed(Scope::of(id.0, function), &function.output, depth + 1)
        })
    }
}

/// Returns what a type's methods are known by.
pub(crate) fn key(kind: &Kind) -> Option<Key> {
    match kind {
        Kind::Local(id, _) => Some(Key::Local(*id)),
        Kind::Outside(path, _) => Some(Key::Outside(Rc::clone(path))),
        _ => None,
    }
}

/// Returns the literal texts among arguments.
pub(crate) fn texts(arguments: &[Argument]) -> Vec<String> {
    arguments
        .iter()
        .filter_map(|argument| match argument {
            Argument::Text(text) => Some(text.clone()),
            _ => None,
        })
        .collect()
}
