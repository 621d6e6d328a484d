//! The form as a JSON Schema, for editors and for whoever checks files without ringfence.
//!
//! Draft 7, and beside it what taplo (Even Better TOML) reads: which spellings not to offer, and what each word means.
//!
//! INVARIANT: it refuses nothing that `ringfence check` takes. The other way round it is a help and no promise: what a file means, only
//! `check` knows.

use serde_json::{Map, Value, json};

use super::{Absent, Key, Kind, Needs, Rule, Standing, TOOLBOX, Table, When, Word};

/// Where the newest one is.
const ID: &str = "ringfence.schema.json";

/// Returns the schema.
pub fn schema() -> Value {
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": ID,
        "title": "A toolbox of ringfence (ringfence.toml)",
    });
    let tables = TOOLBOX.all();
    let definitions: Map<String, Value> =
        tables.iter().skip(1).map(|table| (id(table), table_schema(table))).collect();
    extend(&mut schema, table_schema(&TOOLBOX));
    extend(&mut schema, json!({ "definitions": definitions }));
    schema
}

fn id(table: &Table) -> String {
    table.name.replace(' ', "-")
}

fn extend(object: &mut Value, more: Value) {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
}

fn table_schema(table: &Table) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        properties.insert(key.name.to_owned(), key_schema(key, key.standing));
        for alias in key.aliases {
            properties.insert((*alias).to_owned(), key_schema(key, Standing::Old));
        }
    }
    let mut schema = json!({
        "type": "object",
        "description": table.meaning,
        "additionalProperties": false,
        "properties": properties,
    });
    let needed = table.keys.iter().filter(|key| matches!(key.absent, Absent::Refused));
    let (plain, spelled): (Vec<&Key>, Vec<&Key>) = needed.partition(|key| key.aliases.is_empty());
    if !plain.is_empty() {
        let names: Vec<&str> = plain.iter().map(|key| key.name).collect();
        extend(&mut schema, json!({ "required": names }));
    }
    let mut all: Vec<Value> = spelled.into_iter().map(has).collect();
    for rule in table.rules {
        match rule {
            Rule::Single => extend(&mut schema, json!({ "minProperties": 1, "maxProperties": 1 })),
            Rule::When(when, needs) => all.push(ruled(table, *when, needs)),
        }
    }
    if !all.is_empty() {
        extend(&mut schema, json!({ "allOf": all }));
    }
    schema
}

/// The key is there, in one of its spellings.
fn has(key: &Key) -> Value {
    let spellings: Vec<Value> = key.spellings().map(|name| json!({ "required": [name] })).collect();
    match <[Value; 1]>::try_from(spellings) {
        Ok([one]) => one,
        Err(several) => json!({ "anyOf": several }),
    }
}

fn ruled(table: &Table, when: When, needs: &Needs) -> Value {
    let found = |names: &[&str]| names.iter().filter_map(|name| table.key(name)).map(has).collect::<Vec<_>>();
    let mut then: Vec<Value> = found(needs.all);
    let some = found(needs.some);
    if !some.is_empty() {
        then.push(json!({ "anyOf": some }));
    }
    then.extend(found(needs.none).into_iter().map(|present| json!({ "not": present })));
    let then = match <[Value; 1]>::try_from(then) {
        Ok([one]) => one,
        Err(several) => json!({ "allOf": several }),
    };
    let condition = match when {
        When::Always => return then,
        When::Has(name) => json!({ "required": [name] }),
        When::Is(name, value) => json!({ "required": [name], "properties": { name: { "const": value } } }),
        When::Lacks(name) => json!({ "not": { "required": [name] } }),
    };
    json!({ "if": condition, "then": then })
}

fn key_schema(key: &Key, standing: Standing) -> Value {
    let mut schema = json!({ "description": description(key) });
    extend(&mut schema, kind_schema(&key.kind));
    if let Absent::Value(value) = key.absent
        && let Some(value) = value_of(value)
    {
        extend(&mut schema, json!({ "default": value }));
    }
    if let Some(example) = value_of(key.example) {
        extend(&mut schema, json!({ "examples": [example] }));
    }
    if standing == Standing::Old {
        let hidden = json!({ "hidden": true });
        match schema.get_mut("x-taplo") {
            Some(own) => extend(own, hidden),
            None => extend(&mut schema, json!({ "x-taplo": hidden })),
        }
    }
    schema
}

fn description(key: &Key) -> String {
    match key.absent {
        Absent::Means("") => key.meaning.to_owned(),
        Absent::Means(what) => format!("{} Absent: {what}.", key.meaning),
        Absent::Refused => format!("{} Required.", key.meaning),
        Absent::Value(value) => format!("{} Absent: `{value}`.", key.meaning),
    }
}

/// Reads a value that is written as TOML.
pub(super) fn value_of(toml: &str) -> Option<Value> {
    let table: toml::Table = toml::from_str(&format!("value = {toml}")).ok()?;
    serde_json::to_value(table.get("value")?).ok()
}

fn kind_schema(kind: &Kind) -> Value {
    match kind {
        Kind::Choice(words) => {
            let (words, meanings): (Vec<&str>, Vec<&str>) = words.iter().copied().unzip();
            json!({ "type": "string", "enum": words, "x-taplo": { "docs": { "enumValues": meanings } } })
        }
        Kind::Command => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(kind_schema).collect::<Vec<_>>() }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::List(kind) => json!({ "type": "array", "items": kind_schema(kind) }),
        Kind::Map(name, kind) => {
            json!({ "type": "object", "propertyNames": word_schema(name), "additionalProperties": kind_schema(kind) })
        }
        Kind::Number(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Kind::Object => json!({ "type": "object" }),
        // Beside a reference nothing else is read in this draft.
        Kind::Table(table) => json!({ "allOf": [{ "$ref": format!("#/definitions/{}", id(table)) }] }),
        Kind::Tables(table) => {
            json!({ "type": "array", "items": { "$ref": format!("#/definitions/{}", id(table)) } })
        }
        Kind::Word(word) => word_schema(word),
    }
}

fn word_schema(word: &Word) -> Value {
    match word.pattern {
        Some(pattern) => json!({ "type": "string", "pattern": pattern }),
        None => json!({ "type": "string" }),
    }
}
