//! Every string of a definition, with the JSON pointer that leads to it.

use serde_json::Value;

use super::Definition;

/// How deep a schema is followed. What is deeper is refused elsewhere.
const MAX_DEPTH: usize = 256;

/// What a string is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Written to be read.
    Prose,
    /// A name of something.
    Name,
}

/// Hands every string to `see`, with its pointer and what it is for.
pub(crate) fn each<'a>(definition: &Definition<'a>, see: &mut dyn FnMut(&str, &'a str, Kind)) {
    see("/name", definition.name, Kind::Name);
    if let Some(title) = definition.title {
        see("/title", title, Kind::Prose);
    }
    if let Some(description) = definition.description {
        see("/description", description, Kind::Prose);
    }
    for (pointer, schema) in
        [("/inputSchema", definition.input_schema), ("/outputSchema", definition.output_schema)]
    {
        if let Some(schema) = schema {
            walk(schema, &mut pointer.to_owned(), 0, see);
        }
    }
}

fn walk<'a>(value: &'a Value, pointer: &mut String, depth: usize, see: &mut dyn FnMut(&str, &'a str, Kind)) {
    if depth > MAX_DEPTH {
        return;
    }
    let len = pointer.len();
    match value {
        Value::String(text) => see(pointer, text, Kind::Prose),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                walk(item, pointer, depth + 1, see);
                pointer.truncate(len);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                see(pointer, key, Kind::Name);
                // What a pattern or a reference says is for machines.
                if !matches!(key.as_str(), "$ref" | "$schema" | "$id" | "pattern" | "format")
                    || !item.is_string()
                {
                    walk(item, pointer, depth + 1, see);
                }
                pointer.truncate(len);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the names of the parameters: the properties of the schema, and what the description lists line by line.
pub(crate) fn parameters<'a>(definition: &Definition<'a>) -> Vec<&'a str> {
    let mut names = Vec::new();
    if let Some(schema) = definition.input_schema {
        properties(schema, 0, &mut names);
    }
    for line in definition.description.unwrap_or_default().lines() {
        let line = line.trim_start_matches([' ', '\t', '-', '*', '`']);
        let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());
        let after = line.get(end..).unwrap_or_default().trim_start_matches(['`', '*']);
        if end > 1 && (after.starts_with(':') || after.starts_with(" (") || after.starts_with(" -")) {
            names.extend(line.get(..end));
        }
    }
    names
}

fn properties<'a>(schema: &'a Value, depth: usize, names: &mut Vec<&'a str>) {
    // Enough for any honest schema; names only make the scan milder.
    if depth > 12 || names.len() > 500 {
        return;
    }
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                if let (true, Some(map)) = (key == "properties", value.as_object()) {
                    names.extend(map.keys().map(String::as_str));
                }
                properties(value, depth + 1, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| properties(item, depth + 1, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
