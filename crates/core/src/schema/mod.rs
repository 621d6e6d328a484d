//! JSON Schemas that are safe to compile and to check against, whoever wrote them.
//!
//! Nothing is fetched, patterns run in linear time, and a schema whose references loop or explode is refused
//! before a validator sees it.

mod cost;
mod dialect;
mod graph;
mod path_field;
mod pattern;
mod reference;
#[cfg(test)]
mod tests;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use cost::Cost;
use dialect::Dialect;
use graph::Graph;
pub(crate) use graph::{PathMark, child};
pub(crate) use path_field::{PathFields, for_each_string};
use pattern::ecma;

/// A compiled schema.
///
/// # Examples
///
/// ```
/// use ringfence::Schema;
/// use serde_json::json;
///
/// let schema = Schema::compile(&json!({"type": "object", "required": ["path"]}))?;
/// assert!(schema.check(&json!({"path": "a"})).is_ok());
///
/// let looping = Schema::compile(&json!({"$ref": "#"})).unwrap_err();
/// assert_eq!(looping.to_string(), "the schema refers to itself without end");
/// # Ok::<(), ringfence::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    cost: Cost,
    paths: Option<PathFields>,
}

/// Why a schema was refused.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SchemaError {
    /// Checking some small value would take for ever.
    #[error(
        "checking one value would take too long: the schema's references, alternatives or enumerations multiply"
    )]
    Explodes,
    /// The validator refused it.
    #[error("the schema is not valid: {0}")]
    Invalid(String),
    /// A cycle on one and the same value.
    #[error("the schema refers to itself without end")]
    Loop,
    /// Neither an object nor a boolean.
    #[error("the schema{} is neither an object nor a boolean", at(place))]
    NotASchema {
        /// The JSON pointer.
        place: String,
    },
    /// An unknown direction beside `"format": "path"`.
    #[error("the schema{} has a `direction` that is neither `read` nor `write`", at(place))]
    PathDirection {
        /// The JSON pointer.
        place: String,
    },
    /// A pattern that would not mean here what it means in ECMA-262.
    #[error("the schema{} has a pattern that cannot be used: {reason}", at(place))]
    Pattern {
        /// The JSON pointer.
        place: String,
        /// Why.
        reason: &'static str,
    },
    /// An identifier that two readers could understand differently.
    #[error("the schema{} has an identifier that is ambiguous: {reason}", at(place))]
    Identifier {
        /// The JSON pointer.
        place: String,
        /// Why.
        reason: &'static str,
    },
    /// A reference that leaves the document or leads nowhere.
    #[error(
        "the schema{} refers to `{reference}`, which is not in the schema; nothing is fetched",
        at(place)
    )]
    Reference {
        /// What was written.
        reference: String,
        /// The JSON pointer.
        place: String,
    },
    /// A limit on size was passed.
    #[error("the schema is too large: {0}")]
    TooLarge(String),
}

fn at(place: &str) -> String {
    if place.is_empty() {
        String::new()
    } else {
        format!(" at `{}`", place.chars().take(200).collect::<String>())
    }
}

/// Why a value does not fit.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}{message}", within(place))]
pub struct Violation {
    /// The JSON pointer of the offending part; empty for the whole.
    pub place: String,
    /// What is wrong with it, without the value itself.
    pub message: String,
}

fn within(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("`{place}`: ") }
}

impl Schema {
    /// Compiles a schema; drafts 4 to 2020-12 by `$schema`, 2020-12 where it is absent.
    ///
    /// # Errors
    ///
    /// See [`SchemaError`].
    pub fn compile(document: &Value) -> Result<Self, SchemaError> {
        let graph = Graph::read(document)?;
        let cost = Cost::of(&graph)?;
        let options = jsonschema::options()
            .offline()
            .with_draft(Dialect::of(document)?.draft())
            .with_pattern_options(PatternOptions::regex().size_limit(1 << 18).dfa_size_limit(1 << 22));
        let validator = options.build(&with_ecma_patterns(document)).map_err(|error| {
            let place = error.schema_path().to_string();
            SchemaError::Invalid(
                Violation { place, message: one_line(&error.masked().to_string()) }.to_string(),
            )
        })?;
        let paths = graph.has_paths().then(|| PathFields::new(graph));
        Ok(Self { validator, cost, paths })
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// The first violation. Its text never holds the value, which may be a secret.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        if !self.cost.affords(value) {
            return Err(Violation {
                place: String::new(),
                message: "the value is too deep or too large to be checked against this schema".into(),
            });
        }
        self.validator.validate(value).map_err(|error| Violation {
            place: printable(error.instance_path().to_string().chars().take(200)),
            message: one_line(&error.masked().to_string()),
        })
    }

    /// Returns the fields that say `"format": "path"`, when there are any.
    pub(crate) const fn paths(&self) -> Option<&PathFields> {
        self.paths.as_ref()
    }
}

/// Returns the document with its patterns as the engine must read them.
///
/// Data that only looks like a pattern (`enum`, `const`, `default`, `examples`) and properties that happen to be
/// called `pattern` are left alone.
fn with_ecma_patterns(document: &Value) -> Value {
    let rewritten = |pattern: &String| ecma(pattern).unwrap_or_else(|_| pattern.clone());
    match document {
        Value::Array(list) => Value::Array(list.iter().map(with_ecma_patterns).collect()),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| match (key.as_str(), value) {
                    ("enum" | "const" | "default" | "examples", data) => (key.clone(), data.clone()),
                    ("pattern", Value::String(pattern)) => (key.clone(), Value::String(rewritten(pattern))),
                    ("patternProperties", Value::Object(table)) => {
                        let table =
                            table.iter().map(|(name, value)| (rewritten(name), with_ecma_patterns(value)));
                        (key.clone(), Value::Object(table.collect()))
                    }
                    ("properties" | "$defs" | "definitions" | "dependentSchemas", Value::Object(table)) => {
                        let table =
                            table.iter().map(|(name, value)| (name.clone(), with_ecma_patterns(value)));
                        (key.clone(), Value::Object(table.collect()))
                    }
                    (_, value) => (key.clone(), with_ecma_patterns(value)),
                })
                .collect(),
        ),
        plain => plain.clone(),
    }
}

fn one_line(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut characters = line.chars();
    let line = printable(characters.next().into_iter().flat_map(char::to_lowercase).chain(characters));
    if line.chars().count() <= 300 { line } else { line.chars().take(299).chain(['…']).collect() }
}

/// Names of properties come from outside, and a message about them must not drive a terminal.
fn printable(characters: impl Iterator<Item = char>) -> String {
    characters.map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
}
