//! Chains that start with `ringfence::tool("name")` or `process_tool("name")` and end with a function: `.run(function)`, or
//! `.arguments("program", function)`. One that ends with `.command([…])` has no code.

use std::str::FromStr;

use ringfence_policy::{
    BinarySet, Capabilities, FsReach, HostPattern, Jail, Network, PathPattern, PathReach, Process, SecretSet,
    Storage, StorageKind, StorageScope, VariableSet,
};

use super::{Entry, Finder, FoundTool, RINGFENCE, ToolError};
use crate::source::kind::Kind;
use crate::source::model::{Argument, Body, Mention, Spot, Value};
use crate::source::name::{Found, Id};
use crate::{Effect, EffectSet};

/// How many steps a chain may have.
const MAX_STEPS: usize = 500;

/// Methods of the builder that declare nothing an effect is compared with.
const SILENT: &[&str] = &[
    "description",
    "title",
    "class",
    "risk",
    "max_invocations",
    "only_after",
    "force_at_step",
    "assurance",
    "forbidden_to_models",
    "idempotency",
    "business_key",
    "limits",
    "input",
    "input_schema",
    "output",
    "output_schema",
];

/// One call of a chain.
struct Step<'v> {
    name: &'v str,
    arguments: &'v [Argument],
}

impl Finder<'_> {
    /// Returns the tools that chains make.
    pub(super) fn chains(&self) -> Result<Vec<FoundTool>, ToolError> {
        let mut tools = Vec::new();
        for (unit, one) in self.world.units.iter().enumerate().filter(|(unit, _)| self.is_own(*unit)) {
            for (number, function) in one.functions.iter().enumerate() {
                for mention in function.body.blocks.iter().flat_map(|block| &block.mentions) {
                    let Mention::Method { receiver, name, arguments, spot } = mention else { continue };
                    // A function that makes the arguments of a program comes after the program.
                    let code = match name.as_str() {
                        "run" | "run_blocking" => arguments.first(),
                        "arguments" if arguments.len() == 2 => arguments.get(1),
                        _ => continue,
                    };
                    tools.extend(self.chain((unit, number), &function.body, receiver, code, *spot)?);
                }
            }
        }
        Ok(tools)
    }

    fn chain(
        &self,
        id: Id,
        body: &Body,
        receiver: &Value,
        code: Option<&Argument>,
        spot: Spot,
    ) -> Result<Option<FoundTool>, ToolError> {
        let (root, steps) = walked(body, receiver);
        let place = self.place(id.0, spot);
        let (mut name, mut incomplete) = (None, None);
        match root {
            Some((route, given)) if self.means(id, route) => match given.first() {
                Some(Argument::Text(text)) => name = Some(text.clone()),
                Some(Argument::Route(constant)) => name = Some(constant.last().to_owned()),
                _ => {}
            },
            // A builder that comes from elsewhere: what was declared there is not seen.
            _ if self.is_builder(id, body, receiver) => incomplete = Some(place.clone()),
            _ => return Ok(None),
        }
        if !matches!(root.and_then(|(_, given)| given.first()), Some(Argument::Text(_))) {
            incomplete.get_or_insert_with(|| place.clone());
        }
        let name = name.unwrap_or_else(|| self.function_name(id));
        let mut declared = Capabilities::default();
        let mut unread = EffectSet::NONE;
        let mut others = Vec::new();
        for step in &steps {
            let understood = apply(&mut declared, step).map_err(|reason| ToolError::Declared {
                place: place.clone(),
                tool: name.clone(),
                reason,
            })?;
            match (step.name, understood) {
                ("reconcile" | "available_when", _) => {
                    match step.arguments.first().and_then(|one| self.entry(id, body, one)) {
                        Some(entry) => others.push(entry),
                        None => {
                            incomplete.get_or_insert_with(|| place.clone());
                        }
                    }
                }
                (_, true) => {}
                (name, false) => {
                    unread.extend(effects_of_surface(name).iter().copied());
                    incomplete.get_or_insert_with(|| place.clone());
                }
            }
        }
        let entry = code.and_then(|argument| self.entry(id, body, argument)).unwrap_or_else(|| {
            // What runs is made by an expression: everything the maker does is counted.
            incomplete.get_or_insert_with(|| place.clone());
            Entry::Function(self.function_name(id))
        });
        let package = self.package_id(id.0);
        Ok(Some(FoundTool {
            name,
            package,
            place,
            entry,
            others,
            declared: Some(declared),
            unread,
            incomplete,
        }))
    }

    fn means(&self, id: Id, route: &crate::source::model::Route) -> bool {
        let Some(function) = self.kinds.function(id) else { return false };
        let meaning = self.world.resolve(id.0, function.module, route);
        meaning.iter().any(|(found, rest)| {
            *rest == 0 && ["tool", "process_tool"].iter().any(|name| self.is_of_ringfence(found, name))
        })
    }

    fn is_builder(&self, id: Id, body: &Body, receiver: &Value) -> bool {
        match self.kinds.of_value(id, body, receiver, 0) {
            Kind::Local(own, _) => {
                let known = self.world.units.get(own.0).and_then(|unit| unit.types.get(own.1));
                self.world.package_name(own.0) == RINGFENCE
                    && known.is_some_and(|one| one.name == "ToolBuilder")
            }
            _ => false,
        }
    }

    fn entry(&self, id: Id, body: &Body, argument: &Argument) -> Option<Entry> {
        let closure = |spot: Spot| Some(Entry::Closure(self.place(id.0, spot)));
        match argument {
            Argument::Closure(spot) => closure(*spot),
            Argument::Local(number) => match body.variables.get(*number)? {
                Value::Closure(spot) => closure(*spot),
                Value::Route(route) => self.function_entry(id, route),
                _ => None,
            },
            Argument::Route(route) => self.function_entry(id, route),
            _ => None,
        }
    }

    fn function_entry(&self, id: Id, route: &crate::source::model::Route) -> Option<Entry> {
        let function = self.kinds.function(id)?;
        self.world.resolve(id.0, function.module, route).into_iter().find_map(|(found, rest)| match found {
            Found::Function(to) if rest == 0 => Some(Entry::Function(self.function_name(to))),
            Found::Type(to) if rest == 1 => {
                let methods = self.kinds.methods(&Kind::Local(to, [].into()), route.last());
                methods.first().map(|method| Entry::Function(self.function_name(*method)))
            }
            _ => None,
        })
    }
}

/// What a chain starts with, and its calls in the order of the text.
type Walked<'v> = (Option<(&'v crate::source::model::Route, &'v [Argument])>, Vec<Step<'v>>);

fn walked<'v>(body: &'v Body, receiver: &'v Value) -> Walked<'v> {
    let mut steps = Vec::new();
    let mut at = receiver;
    let mut root = None;
    for _ in 0..MAX_STEPS {
        match at {
            Value::Method(inner, name, arguments) => {
                steps.push(Step { name, arguments });
                at = inner;
            }
            Value::Local(number) => match body.variables.get(*number) {
                Some(value) => at = value,
                None => break,
            },
            Value::Call(route, arguments) => {
                root = Some((route, &**arguments));
                break;
            }
            _ => break,
        }
    }
    steps.reverse();
    (root, steps)
}

/// Returns the effects that a call of the builder declares, whatever its values are.
fn effects_of_surface(name: &str) -> &'static [Effect] {
    match name {
        "network" => &[Effect::NetConnect, Effect::NetDns],
        "environment" => &[Effect::EnvRead],
        "binaries" => &[Effect::Exec],
        "read" => &[Effect::FsRead],
        "write" => &[Effect::FsWrite],
        _ => &[],
    }
}

/// Applies one call of the builder; says whether it was understood.
fn apply(declared: &mut Capabilities, step: &Step<'_>) -> Result<bool, String> {
    let texts = match step.arguments.first() {
        Some(Argument::Texts(texts)) => Some(texts),
        _ => None,
    };
    let reach = |declared: &mut Capabilities| -> FsReach { declared.fs_reach.clone().unwrap_or_default() };
    match (step.name, texts) {
        ("network", Some(texts)) => {
            let hosts = parsed::<HostPattern>(texts)?.into_iter().collect();
            declared.network = Some(Network { allowed_hosts: hosts });
        }
        ("secrets", Some(texts)) => declared.secrets = Some(SecretSet::new(borrowed(texts)).map_err(text)?),
        ("environment", Some(texts)) => {
            declared.environment = Some(VariableSet::new(borrowed(texts)).map_err(text)?);
        }
        ("binaries", Some(texts)) => {
            let allowed_binaries = BinarySet::new(borrowed(texts)).map_err(text)?;
            declared.process = Some(Process { allowed_binaries });
        }
        ("read", Some(texts)) => {
            let read = Some(PathReach::Listed(parsed::<PathPattern>(texts)?.into_iter().collect()));
            declared.fs_reach = Some(FsReach { read, ..reach(declared) });
        }
        ("write", Some(texts)) => {
            let write = Some(PathReach::Listed(parsed::<PathPattern>(texts)?.into_iter().collect()));
            declared.fs_reach = Some(FsReach { write, ..reach(declared) });
        }
        ("read_from_personality", _) => {
            declared.fs_reach = Some(FsReach { read: Some(PathReach::FromPersonality), ..reach(declared) });
        }
        ("write_from_personality", _) => {
            declared.fs_reach = Some(FsReach { write: Some(PathReach::FromPersonality), ..reach(declared) });
        }
        ("jail", _) => declared.fs_reach = Some(FsReach { jail: Jail::SoleRoot, ..reach(declared) }),
        ("storage" | "storage_for", _) => {
            let scope = match step.arguments.first() {
                Some(Argument::Route(route)) => match route.last() {
                    "Personality" => StorageScope::Personality,
                    "Session" => StorageScope::Session,
                    "ToolPrivate" => StorageScope::ToolPrivate,
                    _ => return Ok(false),
                },
                _ => return Ok(false),
            };
            let ttl_seconds_default = match step.arguments.get(1) {
                Some(Argument::Number(seconds)) => Some(*seconds),
                Some(_) => return Ok(false),
                None => declared.storage.and_then(|storage| storage.ttl_seconds_default),
            };
            declared.storage = Some(Storage { scope, kind: StorageKind::Kv, ttl_seconds_default });
        }
        ("reconcile" | "available_when", _) => {}
        (name, _) => return Ok(SILENT.contains(&name)),
    }
    Ok(true)
}

fn borrowed(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().map(String::as_str)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn parsed<T: FromStr>(texts: &[String]) -> Result<Vec<T>, String>
where
    T::Err: std::fmt::Display,
{
    texts.iter().map(|one| one.parse::<T>().map_err(text)).collect()
}
