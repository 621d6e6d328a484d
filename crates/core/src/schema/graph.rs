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
use super::reference::Resolver;

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
}

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
            resolver: Resolver::new(document),
            known: HashMap::new(),
            nodes: Vec::new(),
            queue: Vec::new(),
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
        self.nodes.push(Node::default());
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
        let mut node = Node { path: path_mark(map, place)?, ..Node::default() };
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
                ("patternProperties", Value::Object(table)) => {
                    node.any_property.extend(self.table(table, &at)?.into_iter().map(|(_, id)| id));
                }
                ("additionalProperties" | "unevaluatedProperties" | "propertyNames", _) => {
                    node.any_property.push(self.node(value, at)?);
                }
                ("prefixItems" | "items", Value::Array(list)) => node.prefix.extend(self.list(list, &at)?),
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", _) => {
                    node.any_item.push(self.node(value, at)?);
                }
                ("$defs" | "definitions", Value::Object(table)) => {
                    self.table(table, &at)?;
                }
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    for (value, target) in self.resolver.resolve(reference, place)? {
                        node.in_place.push(self.node(value, target)?);
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
pub(super) fn child(place: &str, name: &str) -> String {
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
