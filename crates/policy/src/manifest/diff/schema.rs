//! Whether one JSON Schema admits no more than another, as far as that can be proven from their structure.
//!
//! Annotations are compared apart: a model reads them, a validator does not.
//!
//! INVARIANT: "equal" and "tighter" are proven. Whatever is not understood counts as looser.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::change::{arrow, quote};

/// How much of a value is told.
const SHOWN: usize = 60;

/// How a schema compares with the one before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Comparison {
    /// It admits the same.
    Equal,
    /// It may admit more.
    Looser,
    /// It admits less, or the same.
    Tighter,
}

/// Keywords that only people and models read.
const ANNOTATIONS: [&str; 9] = [
    "$comment",
    "default",
    "deprecated",
    "description",
    "example",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];
/// Keywords through which a part of a schema means something elsewhere in it.
const FAR: [&str; 7] =
    ["$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef", "$ref", "unevaluatedProperties"];
/// Keywords whose values are schemas by name.
const MAPS: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// Keywords of which a larger value admits less, and of which a smaller one does.
const LOWER: [&str; 5] = ["exclusiveMinimum", "minItems", "minLength", "minProperties", "minimum"];
const UPPER: [&str; 5] = ["exclusiveMaximum", "maxItems", "maxLength", "maxProperties", "maximum"];

/// Keywords that admit less wherever they are added.
const TIGHTENING: [&str; 14] = [
    "allOf",
    "anyOf",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "format",
    "if",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "propertyNames",
    "then",
];

/// Compares two schemas.
pub(super) fn compare(old: &Value, new: &Value) -> Comparison {
    let (old, new) = (bare(old), bare(new));
    if old == new {
        return Comparison::Equal;
    }
    if is_far(&old) || is_far(&new) {
        return Comparison::Looser;
    }
    match (covers(&old, &new), covers(&new, &old)) {
        (true, true) => Comparison::Equal,
        (true, false) => Comparison::Tighter,
        (false, _) => Comparison::Looser,
    }
}

/// Returns the first place and keyword where a schema may admit more, where one is evident.
pub(super) fn looser_at(old: &Value, new: &Value) -> Option<String> {
    let (old, new) = (bare(old), bare(new));
    if is_far(&old) || is_far(&new) { None } else { looser_below(&old, &new, String::new()) }
}

fn looser_below(old: &Value, new: &Value, place: String) -> Option<String> {
    let (Value::Object(was), Value::Object(is)) = (old, new) else {
        return Some(format!("{} {}", quote(&place), arrow(&short(Some(old)), &short(Some(new)))));
    };
    let mut keys = was.keys().chain(is.keys().filter(|key| !was.contains_key(*key)));
    let key = keys.find(|key| was.get(*key) != is.get(*key) && !keeps(key, was, is))?;
    let inner = |schema: &Fields| schema.get(key).and_then(Value::as_object).cloned();
    if let ("properties", Some(before), Some(now)) = (key.as_str(), inner(was), inner(is)) {
        let both = before.iter().filter_map(|(name, before)| Some((name, before, now.get(name)?)));
        if let Some((name, before, now)) = both.into_iter().find(|(_, before, now)| !covers(before, now)) {
            let name = name.replace('~', "~0").replace('/', "~1");
            return looser_below(before, now, format!("{place}/properties/{name}"));
        }
    }
    if let ("items", Some(before), Some(now)) = (key.as_str(), inner(was), inner(is))
        && was.get("prefixItems") == is.get("prefixItems")
    {
        return looser_below(&before.into(), &now.into(), format!("{place}/items"));
    }
    let values = arrow(&short(was.get(key)), &short(is.get(key)));
    let place = if place.is_empty() { "/".to_owned() } else { place };
    Some(format!("{}: {} {values}", quote(&place), quote(key)))
}

/// Returns a value for people, cut off where it is long.
fn short(value: Option<&Value>) -> String {
    let Some(value) = value else { return "none".to_owned() };
    let text = value.to_string();
    if text.chars().count() <= SHOWN { text } else { text.chars().take(SHOWN).chain(['…']).collect() }
}

/// Says whether a schema tells people and models nothing that the one before did not tell at the same place.
pub(super) fn tells_nothing_new(old: &Value, new: &Value) -> bool {
    let (mut before, mut now) = (BTreeSet::new(), BTreeSet::new());
    told(old, "", &mut before);
    told(new, "", &mut now);
    now.is_subset(&before)
}

fn told(schema: &Value, place: &str, found: &mut BTreeSet<(String, String)>) {
    match schema {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, item)| told(item, &format!("{place}/{index}"), found));
        }
        Value::Object(map) => {
            for (key, value) in map {
                let place = format!("{place}/{key}");
                if ANNOTATIONS.contains(&key.as_str()) {
                    found.insert((place.clone(), value.to_string()));
                }
                told(value, &place, found);
            }
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns a schema without annotations, and with lists that are sets in order.
fn bare(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let fields = map.iter().filter(|(key, _)| !ANNOTATIONS.contains(&key.as_str()));
    let fields = fields.map(|(key, value)| {
        let value = match (key.as_str(), value) {
            // The names below are names of properties, not keywords.
            (name, Value::Object(inner)) if MAPS.contains(&name) => {
                inner.iter().map(|(key, value)| (key.clone(), bare(value))).collect::<Map<_, _>>().into()
            }
            ("required" | "enum" | "type", Value::Array(list)) => {
                let mut list = list.clone();
                list.sort_by_key(Value::to_string);
                list.dedup();
                list.into()
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                list.iter().map(bare).collect()
            }
            (
                "additionalProperties"
                | "contains"
                | "else"
                | "if"
                | "items"
                | "not"
                | "propertyNames"
                | "then",
                inner,
            ) => bare(inner),
            (_, other) => other.clone(),
        };
        (key.clone(), value)
    });
    fields.collect::<Map<_, _>>().into()
}

fn is_far(schema: &Value) -> bool {
    match schema {
        Value::Array(list) => list.iter().any(is_far),
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| FAR.contains(&key.as_str()) || key == "unevaluatedItems" || is_far(value)),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

/// Says whether everything that `new` admits is provably admitted by `old`.
fn covers(old: &Value, new: &Value) -> bool {
    match (old, new) {
        _ if old == new => true,
        (Value::Bool(true), _) | (_, Value::Bool(false)) => true,
        (Value::Object(old), _) if old.is_empty() => true,
        (Value::Object(old), Value::Object(new)) => {
            let mut keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
            keys.all(|key| keeps(key, old, new))
        }
        _ => false,
    }
}

type Fields = Map<String, Value>;

/// Says whether `new` demands at least what the keyword of `old` demands.
fn keeps(key: &str, old: &Fields, new: &Fields) -> bool {
    let (was, is) = (old.get(key), new.get(key));
    match key {
        "type" => was.is_none_or(|was| is.is_some_and(|is| types(was, is))),
        "const" | "enum" if old.get("const") == new.get("const") && old.get("enum") == new.get("enum") => {
            true
        }
        "const" | "enum" => {
            was.is_none()
                || values(old)
                    .zip(values(new))
                    .is_some_and(|(was, is)| is.iter().all(|value| was.contains(value)))
        }
        "required" => {
            let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
            list(was).iter().all(|name| list(is).contains(name))
        }
        "properties" | "patternProperties" | "additionalProperties" => properties(old, new),
        "items" | "prefixItems" => items(old, new),
        "uniqueItems" => was != Some(&Value::Bool(true)) || is == was,
        _ if was == is => true,
        _ if LOWER.contains(&key) => was.is_none_or(|was| number(was) <= number_or(is, f64::NEG_INFINITY)),
        _ if UPPER.contains(&key) => was.is_none_or(|was| number(was) >= number_or(is, f64::INFINITY)),
        // Nothing refers to them, or the schemas would not have been compared.
        "$defs" | "definitions" => true,
        // Another dialect, or a keyword that nobody here knows, may mean anything.
        _ => was.is_none() && TIGHTENING.contains(&key),
    }
}

fn number(value: &Value) -> f64 {
    // What is not a number is larger than anything and smaller than anything: it compares with nothing.
    value.as_f64().unwrap_or(f64::NAN)
}

fn number_or(value: Option<&Value>, absent: f64) -> f64 {
    value.map_or(absent, number)
}

fn types(was: &Value, is: &Value) -> bool {
    let list = |value: &Value| match value {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    let was = list(was);
    list(is)
        .iter()
        .all(|one| was.contains(one) || (one == "integer" && was.iter().any(|was| was == "number")))
}

/// Returns the only values that are admitted, where they are listed.
fn values(schema: &Fields) -> Option<Vec<Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), None) => Some(vec![value.clone()]),
        (None, Some(Value::Array(list))) => Some(list.clone()),
        _ => None,
    }
}

fn properties(old: &Fields, new: &Fields) -> bool {
    if old.get("patternProperties") != new.get("patternProperties") {
        return false;
    }
    let anything = Value::Bool(true);
    let named =
        |schema: &Fields| schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let (was, is) = (named(old), named(new));
    let rest = |schema: &Fields| schema.get("additionalProperties").unwrap_or(&anything).clone();
    let (was_rest, is_rest) = (rest(old), rest(new));
    // A name that matches a pattern is not left over, so of such a name the new side may demand nothing.
    let left = if new.contains_key("patternProperties") { &anything } else { &is_rest };
    let mut names = was.keys().chain(is.keys());
    names.all(|name| covers(was.get(name).unwrap_or(&was_rest), is.get(name).unwrap_or(left)))
        && covers(&was_rest, &is_rest)
}

fn items(old: &Fields, new: &Fields) -> bool {
    if old.get("prefixItems") != new.get("prefixItems") {
        return false;
    }
    // A list is the way of older dialects to say what `prefixItems` says.
    let is_list = |schema: &Fields| schema.get("items").is_some_and(Value::is_array);
    if is_list(old) || is_list(new) {
        return old.get("items") == new.get("items")
            && old.get("additionalItems") == new.get("additionalItems");
    }
    let anything = Value::Bool(true);
    covers(old.get("items").unwrap_or(&anything), new.get("items").unwrap_or(&anything))
}
