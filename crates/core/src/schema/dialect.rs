//! Which draft of JSON Schema a document is written in.

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::SchemaError;

/// A draft, as far as the ways of naming things differ. Ordered by age.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Dialect {
    Draft04,
    Draft06,
    Draft07,
    Draft201909,
    Draft202012,
}

const KNOWN: [(&str, Dialect); 5] = [
    ("http://json-schema.org/draft-04/schema", Dialect::Draft04),
    ("http://json-schema.org/draft-06/schema", Dialect::Draft06),
    ("http://json-schema.org/draft-07/schema", Dialect::Draft07),
    ("https://json-schema.org/draft/2019-09/schema", Dialect::Draft201909),
    ("https://json-schema.org/draft/2020-12/schema", Dialect::Draft202012),
];

impl Dialect {
    /// Reads `$schema`; 2020-12 where it is absent. An unknown one is refused, because its keywords could mean anything.
    pub(super) fn of(document: &Value) -> Result<Self, SchemaError> {
        match document.get("$schema") {
            None => Ok(Self::Draft202012),
            Some(Value::String(name)) => Self::named(name).ok_or_else(|| Self::unknown("")),
            Some(_) => Err(Self::unknown("")),
        }
    }

    fn named(name: &str) -> Option<Self> {
        let name = name.strip_suffix('#').unwrap_or(name);
        KNOWN.iter().find(|(known, _)| *known == name).map(|(_, dialect)| *dialect)
    }

    /// The error for a `$schema` that is not known here.
    pub(super) fn unknown(place: &str) -> SchemaError {
        SchemaError::Identifier { place: place.to_owned(), reason: "its `$schema` is not a known draft" }
    }

    /// Says whether a reference leads to a meta-schema of some draft.
    pub(super) fn is_meta_schema(reference: &str) -> bool {
        Self::named(reference).is_some()
    }

    /// Returns the identifier of a subschema, where this draft reads one.
    pub(super) fn identifier(self, map: &Map<String, Value>) -> Option<&str> {
        let key = if self == Self::Draft04 { "id" } else { "$id" };
        // Up to draft 7, whatever stands beside a reference is not read.
        let hidden = self <= Self::Draft07 && map.get("$ref").is_some_and(Value::is_string);
        map.get(key).and_then(Value::as_str).filter(|_| !hidden)
    }

    pub(super) const fn draft(self) -> Draft {
        match self {
            Self::Draft04 => Draft::Draft4,
            Self::Draft06 => Draft::Draft6,
            Self::Draft07 => Draft::Draft7,
            Self::Draft201909 => Draft::Draft201909,
            Self::Draft202012 => Draft::Draft202012,
        }
    }
}
