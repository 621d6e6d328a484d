//! Where a reference inside a schema leads: always to a place of the same document.

use std::collections::HashMap;

use serde_json::Value;
use url::Url;

use super::SchemaError;
use super::graph::child;

/// Meta-schemas that validators know by heart; a reference to one leads nowhere else.
const META_SCHEMAS: [&str; 6] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
    "http://json-schema.org/schema",
];

/// A base for documents that have no identifier of their own; nothing is ever fetched from it.
const NAMELESS: &str = "ringfence:///schema";

/// Finds the targets of references.
pub(super) struct Resolver<'a> {
    document: &'a Value,
    /// Resources by their absolute identifier, as the place of their root.
    resources: HashMap<String, String>,
    /// The identifier that holds at the root of each resource, by place.
    bases: HashMap<String, Url>,
    /// Anchors by `identifier#name`.
    anchors: HashMap<String, String>,
    /// Every place that carries a dynamic anchor, by name: a dynamic reference may lead to any of them.
    dynamic: HashMap<String, Vec<String>>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        let mut resolver = Self {
            document,
            resources: HashMap::new(),
            bases: HashMap::new(),
            anchors: HashMap::new(),
            dynamic: HashMap::new(),
        };
        if let Ok(base) = Url::parse(NAMELESS) {
            resolver.bases.insert(String::new(), base.clone());
            resolver.resources.insert(base.to_string(), String::new());
            resolver.collect(document, "", &base);
        }
        resolver
    }

    fn collect(&mut self, value: &Value, place: &str, base: &Url) {
        match value {
            Value::Object(map) => {
                let mut base = base.clone();
                let id = map.get("$id").or_else(|| map.get("id")).and_then(Value::as_str);
                if let Some(id) = id
                    && let Ok(mut joined) = base.join(id)
                {
                    let fragment =
                        joined.fragment().map(str::to_owned).filter(|fragment| !fragment.is_empty());
                    joined.set_fragment(None);
                    match fragment {
                        // Older drafts write an anchor as an identifier with a fragment.
                        Some(name) => {
                            self.anchors.insert(format!("{joined}#{name}"), place.to_owned());
                        }
                        None => {
                            self.resources.insert(joined.to_string(), place.to_owned());
                            self.bases.insert(place.to_owned(), joined.clone());
                            base = joined;
                        }
                    }
                }
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = map.get(keyword).and_then(Value::as_str) {
                        self.anchors.insert(format!("{base}#{name}"), place.to_owned());
                        if keyword == "$dynamicAnchor" {
                            self.dynamic.entry(name.to_owned()).or_default().push(place.to_owned());
                        }
                    }
                }
                for (name, value) in map.iter().filter(|(name, _)| !matches!(name.as_str(), "enum" | "const"))
                {
                    self.collect(value, &child(place, name), &base);
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self.collect(value, &format!("{place}/{index}"), base);
                }
            }
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Returns every subschema that `reference`, written at `place`, may lead to.
    pub(super) fn resolve(
        &self,
        reference: &str,
        place: &str,
    ) -> Result<Vec<(&'a Value, String)>, SchemaError> {
        let error = || SchemaError::Reference {
            reference: reference.chars().take(200).collect(),
            place: place.to_owned(),
        };
        let (base, _) = self.base_of(place).ok_or_else(error)?;
        let mut target = base.join(reference).map_err(|_| error())?;
        let fragment = target.fragment().unwrap_or_default().to_owned();
        target.set_fragment(None);
        if META_SCHEMAS.contains(&target.as_str().trim_end_matches('#'))
            && !self.resources.contains_key(target.as_str())
        {
            return Ok(Vec::new());
        }
        let fragment = percent_decoded(&fragment).ok_or_else(error)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let root = self.resources.get(target.as_str()).ok_or_else(error)?;
            let found = format!("{root}{fragment}");
            let value = self.document.pointer(&found).ok_or_else(error)?;
            return Ok(vec![(value, found)]);
        }
        let anchored = self.anchors.get(&format!("{target}#{fragment}")).ok_or_else(error)?;
        let dynamic = self.dynamic.get(&fragment).into_iter().flatten().filter(|other| *other != anchored);
        std::iter::once(anchored)
            .chain(dynamic)
            .map(|found| self.document.pointer(found).map(|value| (value, found.clone())).ok_or_else(error))
            .collect()
    }

    /// Returns the identifier in force at a place: that of the nearest enclosing resource.
    fn base_of(&self, place: &str) -> Option<(&Url, &str)> {
        let mut prefix = place;
        loop {
            if let Some((found, base)) = self.bases.get_key_value(prefix) {
                return Some((base, found));
            }
            prefix = prefix.rsplit_once('/')?.0;
        }
    }
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
