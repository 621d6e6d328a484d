//! Where a reference inside a schema leads: always to a place of the same document.
//!
//! The graph is only worth something if it follows the same references as the validator. So whatever two readers could
//! resolve differently is refused: an identifier given twice, one in a place that no draft reads, a nested `$schema`.

use std::collections::HashMap;

use serde_json::{Map, Value};
use url::Url;

use super::SchemaError;
use super::dialect::Dialect;
use super::graph::child;

/// A base for documents that have no identifier of their own; nothing is ever fetched from it.
const NAMELESS: &str = "ringfence:///schema";

/// Where a reference leads.
pub(super) enum Resolved<'a> {
    /// To these places of the document.
    Here(Vec<(&'a Value, String)>),
    /// To a meta-schema, which validators know by heart.
    MetaSchema,
}

/// Finds the targets of references.
pub(super) struct Resolver<'a> {
    document: &'a Value,
    dialect: Dialect,
    /// Resources by their absolute identifier, as the place of their root.
    resources: HashMap<String, String>,
    /// The identifier that holds at the root of each resource, by place.
    bases: HashMap<String, Url>,
    /// Anchors by `identifier#name`.
    anchors: HashMap<String, String>,
    /// Every place that carries a dynamic anchor, by name: a dynamic reference may lead to any of them.
    dynamic: HashMap<String, Vec<String>>,
    /// Roots of resources that say `$recursiveAnchor`: a recursive reference may lead to any of them.
    recursive: Vec<String>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(document: &'a Value) -> Result<Self, SchemaError> {
        let mut resolver = Self {
            document,
            dialect: Dialect::of(document)?,
            resources: HashMap::new(),
            bases: HashMap::new(),
            anchors: HashMap::new(),
            dynamic: HashMap::new(),
            recursive: Vec::new(),
        };
        let base = Url::parse(NAMELESS).map_err(|_| ambiguous("", "there is no base for it"))?;
        resolver.bases.insert(String::new(), base.clone());
        resolver.resources.insert(base.to_string(), String::new());
        resolver.collect(document, "", &base)?;
        Ok(resolver)
    }

    /// Collects identifiers wherever a draft has subschemas, and nowhere else.
    fn collect(&mut self, value: &Value, place: &str, base: &Url) -> Result<(), SchemaError> {
        let Value::Object(map) = value else { return Ok(()) };
        let base = self.collect_here(map, place, base)?;
        for (keyword, value) in map {
            let at = child(place, keyword);
            match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(list)) => {
                    for (index, value) in list.iter().enumerate() {
                        self.collect(value, &format!("{at}/{index}"), &base)?;
                    }
                }
                (
                    "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
                    | "properties",
                    Value::Object(table),
                ) => {
                    for (name, value) in table {
                        self.collect(value, &child(&at, name), &base)?;
                    }
                }
                (
                    "additionalItems"
                    | "additionalProperties"
                    | "contains"
                    | "contentSchema"
                    | "else"
                    | "if"
                    | "items"
                    | "not"
                    | "propertyNames"
                    | "then"
                    | "unevaluatedItems"
                    | "unevaluatedProperties",
                    value,
                ) => self.collect(value, &at, &base)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes the identifiers of one subschema and returns the base that holds below it.
    fn collect_here(
        &mut self,
        map: &Map<String, Value>,
        place: &str,
        base: &Url,
    ) -> Result<Url, SchemaError> {
        let mut base = base.clone();
        if let Some(id) = self.dialect.identifier(map) {
            let mut joined = base.join(id).map_err(|_| ambiguous(place, "it is not a URL"))?;
            let fragment = joined.fragment().filter(|fragment| !fragment.is_empty()).map(str::to_owned);
            joined.set_fragment(None);
            match fragment {
                // Older drafts write an anchor as an identifier with a fragment.
                Some(name) => insert(&mut self.anchors, format!("{joined}#{name}"), place)?,
                None => {
                    insert(&mut self.resources, joined.to_string(), place)?;
                    self.bases.insert(place.to_owned(), joined.clone());
                    base = joined;
                }
            }
        }
        if !place.is_empty()
            && map.get("$schema").is_some_and(|own| Some(own) != self.document.get("$schema"))
        {
            return Err(Dialect::unknown(place));
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = map.get(keyword).and_then(Value::as_str) {
                insert(&mut self.anchors, format!("{base}#{name}"), place)?;
                if keyword == "$dynamicAnchor" {
                    self.dynamic.entry(name.to_owned()).or_default().push(place.to_owned());
                }
            }
        }
        if map.get("$recursiveAnchor").is_some_and(|anchor| *anchor != Value::Bool(false)) {
            self.recursive.push(place.to_owned());
        }
        Ok(base)
    }

    /// Refuses a subschema with an identifier that was not collected, because it stands where no draft looks for one.
    pub(super) fn check_identifiers(&self, map: &Map<String, Value>, place: &str) -> Result<(), SchemaError> {
        let named = self.dialect.identifier(map).is_some() && !self.bases.contains_key(place);
        let is_anchored = |place: &str| self.anchors.values().any(|anchored| anchored == place);
        let anchored =
            ["$anchor", "$dynamicAnchor"].iter().any(|key| map.get(*key).is_some_and(Value::is_string));
        if (named || anchored) && !is_anchored(place) {
            return Err(ambiguous(place, "it stands where no draft looks for one"));
        }
        Ok(())
    }

    /// Returns every subschema that `reference`, written at `place`, may lead to.
    pub(super) fn resolve(&self, reference: &str, place: &str) -> Result<Resolved<'a>, SchemaError> {
        let error = || SchemaError::Reference {
            reference: reference.chars().take(200).collect(),
            place: place.to_owned(),
        };
        let base = self.base_of(place).ok_or_else(error)?;
        let mut target = base.join(reference).map_err(|_| error())?;
        let fragment = target.fragment().unwrap_or_default().to_owned();
        target.set_fragment(None);
        if Dialect::is_meta_schema(target.as_str()) && !self.resources.contains_key(target.as_str()) {
            // A dynamic anchor here would be called back from inside the meta-schema, which the graph cannot see.
            if !self.dynamic.is_empty() || !self.recursive.is_empty() {
                return Err(ambiguous(place, "a dynamic anchor beside a reference to a meta-schema"));
            }
            return Ok(Resolved::MetaSchema);
        }
        let fragment = percent_decoded(&fragment).ok_or_else(error)?;
        let mut places = Vec::new();
        if fragment.is_empty() || fragment.starts_with('/') {
            let root = self.resources.get(target.as_str()).ok_or_else(error)?;
            let found = format!("{root}{fragment}");
            self.check_way(&found)?;
            places.push(found);
            if self.recursive.len() > 1 || (!self.recursive.is_empty() && fragment.is_empty()) {
                places.extend(self.recursive.iter().filter(|other| **other != *root).cloned());
            }
        } else {
            let anchored = self.anchors.get(&format!("{target}#{fragment}")).ok_or_else(error)?;
            places.push(anchored.clone());
            places.extend(
                self.dynamic.get(&fragment).into_iter().flatten().filter(|other| *other != anchored).cloned(),
            );
        }
        let found: Result<Vec<_>, _> = places
            .into_iter()
            .map(|found| self.document.pointer(&found).map(|value| (value, found)).ok_or_else(error))
            .collect();
        found.map(Resolved::Here)
    }

    /// Refuses a pointer that leads through an object whose identifier was not collected.
    fn check_way(&self, pointer: &str) -> Result<(), SchemaError> {
        let slashes = pointer.match_indices('/').map(|(at, _)| at).skip(1);
        for at in slashes {
            let prefix = pointer.get(..at).unwrap_or_default();
            if let Some(Value::Object(map)) = self.document.pointer(prefix)
                && self.dialect.identifier(map).is_some()
            {
                self.check_identifiers(map, prefix)?;
            }
        }
        Ok(())
    }

    /// Returns the identifier in force at a place: that of the nearest enclosing resource.
    fn base_of(&self, place: &str) -> Option<&Url> {
        let mut prefix = place;
        loop {
            if let Some(base) = self.bases.get(prefix) {
                return Some(base);
            }
            prefix = prefix.rsplit_once('/')?.0;
        }
    }
}

fn insert(names: &mut HashMap<String, String>, name: String, place: &str) -> Result<(), SchemaError> {
    match names.insert(name, place.to_owned()) {
        Some(other) if other != place => Err(ambiguous(place, "it is given twice")),
        _ => Ok(()),
    }
}

fn ambiguous(place: &str, reason: &'static str) -> SchemaError {
    SchemaError::Identifier { place: place.to_owned(), reason }
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}
