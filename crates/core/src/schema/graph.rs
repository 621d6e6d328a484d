//! The graph of a schema's subschemas, read before any validator sees it.
//!
//! A schema may come from an unread server. Its references can loop, and can fan out so that checking one small
//! value takes longer than anybody lives. The graph finds both: edges that judge the *same* value (`allOf`,
//! `$ref`) must not form a cycle, and the number of paths along them is what one value costs.
//!
//! INVARIANT: every edge leads to a node of the same graph; nothing outside the document is ever referred to.

use std::collections::HashMap;

use ringfence_policy::{Direction, JsonLimits};
use serde_json::{Map, Value};

use super::SchemaError;
use super::pattern::{MAX_PATTERN_TEXT, MAX_PATTERNS, ecma};
use super::reference::{Resolved, Resolver};

/// How many subschemas one schema may have.
const MAX_NODES: usize = 20_000;

/// One subschema.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Subschemas that judge the same value.
    pub(super) in_place: Vec<usize>,
    /// Subschemas of named properties.
    pub(super) properties: HashMap<Box<str>, Vec<usize>>,
    /// Subschemas of any property.
    pub(super) any_property: Vec<usize>,
    /// Subschemas of array positions.
    pub(super) prefix: Vec<usize>,
    /// Subschemas of any array item.
    pub(super) any_item: Vec<usize>,
    /// Whether the value is a path, and for what.
    pub(super) path: Option<PathMark>,
    /// What judging one value here costs, beside what is in place.
    pub(super) weight: u64,
    /// How often what is in place is gone through; `unevaluated…` goes through it again to find what was evaluated.
    pub(super) factor: u64,
}

/// How often a node with `unevaluated…` goes through what is in place, measured on the validator and rounded up.
const UNEVALUATED: u64 = 4;
/// What judging one value against a meta-schema costs.
const META_SCHEMA: u64 = 60;

/// A field that says `"format": "path"`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PathMark {
    /// Either direction will do.
    Either,
    /// Its `direction` says which.
    One(Direction),
}

/// The subschemas of one document; node 0 is its root.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
}

impl Graph {
    /// Reads a document.
    pub(super) fn read(document: &Value) -> Result<Self, SchemaError> {
        JsonLimits::DOCUMENT.check(document).map_err(|error| SchemaError::TooLarge(error.message))?;
        if !matches!(document, Value::Bool(_) | Value::Object(_)) {
            return Err(SchemaError::NotASchema { place: String::new() });
        }
        let mut builder = Builder {
            resolver: Resolver::new(document)?,
            known: HashMap::new(),
            nodes: Vec::new(),
            queue: Vec::new(),
            meta: None,
            patterns: Patterns::default(),
        };
        builder.node(document, String::new())?;
        while let Some((id, value, place)) = builder.queue.pop() {
            builder.fill(id, value, &place)?;
        }
        Ok(Self { nodes: builder.nodes })
    }

    /// Says whether some field is marked as a path.
    pub(super) fn has_paths(&self) -> bool {
        self.nodes.iter().any(|node| node.path.is_some())
    }
}

struct Builder<'a> {
    resolver: Resolver<'a>,
    /// Places already turned into nodes; one place is one node, whoever refers to it.
    known: HashMap<String, usize>,
    nodes: Vec<Node>,
    queue: Vec<(usize, &'a Map<String, Value>, String)>,
    /// The node that stands for the meta-schemas.
    meta: Option<usize>,
    patterns: Patterns,
}

/// The patterns so far.
#[derive(Default)]
struct Patterns {
    count: usize,
    characters: usize,
}

impl Patterns {
    fn add(&mut self, pattern: &str, place: &str) -> Result<(), SchemaError> {
        self.count += 1;
        self.characters += pattern.len();
        if self.count > MAX_PATTERNS || self.characters > MAX_PATTERN_TEXT {
            let limits = format!("more than {MAX_PATTERNS} patterns or {MAX_PATTERN_TEXT} bytes of them");
            return Err(SchemaError::TooLarge(limits));
        }
        ecma(pattern).map(drop).map_err(|reason| SchemaError::Pattern { place: place.to_owned(), reason })
    }
}

impl<'a> Builder<'a> {
    fn node(&mut self, value: &'a Value, place: String) -> Result<usize, SchemaError> {
        if let Some(&id) = self.known.get(&place) {
            return Ok(id);
        }
        let id = self.nodes.len();
        if id >= MAX_NODES {
            return Err(SchemaError::TooLarge(format!("more than {MAX_NODES} subschemas")));
        }
        self.nodes.push(Node { weight: 1, factor: 1, ..Node::default() });
        self.known.insert(place.clone(), id);
        match value {
            Value::Object(map) => self.queue.push((id, map, place)),
            Value::Bool(_) => {}
            Value::Array(_) | Value::Null | Value::Number(_) | Value::String(_) => {
                return Err(SchemaError::NotASchema { place });
            }
        }
        Ok(id)
    }

    fn fill(&mut self, id: usize, map: &'a Map<String, Value>, place: &str) -> Result<(), SchemaError> {
        self.resolver.check_identifiers(map, place)?;
        let mut node = Node { path: path_mark(map, place)?, weight: 1, factor: 1, ..Node::default() };
        for (keyword, value) in map {
            let at = child(place, keyword);
            match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                    node.in_place.extend(self.list(list, &at)?);
                }
                ("not" | "if" | "then" | "else", _) => node.in_place.push(self.node(value, at)?),
                ("dependentSchemas", Value::Object(table)) => {
                    node.in_place.extend(self.table(table, &at)?.into_iter().map(|(_, id)| id));
                }
                ("dependencies", Value::Object(table)) => {
                    for (name, value) in table.iter().filter(|(_, value)| !value.is_array()) {
                        node.in_place.push(self.node(value, child(&at, name))?);
                    }
                }
                ("properties", Value::Object(table)) => {
                    for (name, id) in self.table(table, &at)? {
                        node.properties.entry(name.into()).or_default().push(id);
                    }
                }
                ("pattern", Value::String(pattern)) => self.patterns.add(pattern, &at)?,
                ("enum", Value::Array(list)) if !list.iter().all(Value::is_string) => {
                    node.weight += u64::try_from(list.len()).unwrap_or(u64::MAX);
                }
                ("patternProperties", Value::Object(table)) => {
                    table.keys().try_for_each(|pattern| self.patterns.add(pattern, &at))?;
                    node.any_property.extend(self.table(table, &at)?.into_iter().map(|(_, id)| id));
                }
                ("additionalProperties" | "unevaluatedProperties" | "propertyNames", _) => {
                    if keyword == "unevaluatedProperties" {
                        node.factor = UNEVALUATED;
                    }
                    node.any_property.push(self.node(value, at)?);
                }
                ("prefixItems" | "items", Value::Array(list)) => node.prefix.extend(self.list(list, &at)?),
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", _) => {
                    if keyword == "unevaluatedItems" {
                        node.factor = UNEVALUATED;
                    }
                    node.any_item.push(self.node(value, at)?);
                }
                ("$defs" | "definitions", Value::Object(table)) => {
                    self.table(table, &at)?;
                }
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    match self.resolver.resolve(reference, place)? {
                        Resolved::Here(targets) => {
                            for (value, target) in targets {
                                node.in_place.push(self.node(value, target)?);
                            }
                        }
                        Resolved::MetaSchema => node.in_place.push(self.meta_schema()),
                    }
                }
                _ => {}
            }
        }
        if let Some(slot) = self.nodes.get_mut(id) {
            *slot = node;
        }
        Ok(())
    }

    /// Returns the node of the meta-schemas: dear at every depth, and never in place of itself.
    fn meta_schema(&mut self) -> usize {
        *self.meta.get_or_insert_with(|| {
            let id = self.nodes.len();
            let node = Node { weight: META_SCHEMA, factor: 1, ..Node::default() };
            self.nodes.push(Node { any_property: vec![id], any_item: vec![id], ..node });
            id
        })
    }

    fn list(&mut self, list: &'a [Value], place: &str) -> Result<Vec<usize>, SchemaError> {
        list.iter().enumerate().map(|(index, value)| self.node(value, format!("{place}/{index}"))).collect()
    }

    fn table(
        &mut self,
        table: &'a Map<String, Value>,
        place: &str,
    ) -> Result<Vec<(&'a str, usize)>, SchemaError> {
        table.iter().map(|(name, value)| Ok((name.as_str(), self.node(value, child(place, name))?))).collect()
    }
}

/// The JSON pointer of a member.
pub(crate) fn child(place: &str, name: &str) -> String {
    if name.contains(['~', '/']) {
        format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
    } else {
        format!("{place}/{name}")
    }
}

fn path_mark(map: &Map<String, Value>, place: &str) -> Result<Option<PathMark>, SchemaError> {
    if map.get("format").and_then(Value::as_str) != Some("path") {
        return Ok(None);
    }
    match map.get("direction").map(Value::as_str) {
        None => Ok(Some(PathMark::Either)),
        Some(Some("read")) => Ok(Some(PathMark::One(Direction::Read))),
        Some(Some("write")) => Ok(Some(PathMark::One(Direction::Write))),
        Some(_) => Err(SchemaError::PathDirection { place: place.to_owned() }),
    }
}
