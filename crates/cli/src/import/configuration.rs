//! The text of a configuration: written as it was, and what is in it that JSON has no place for.

use serde::Serialize as _;
use serde_json::Value;

/// Writes a configuration with the indentation that the original has.
pub(super) fn written(document: &Value, original: &str) -> String {
    let line = original.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or("  ");
    let indent: String = line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let indent = if indent.is_empty() { "  " } else { &indent };
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Writing a value to memory cannot fail.
    let _written = document.serialize(&mut serializer);
    let mut text = String::from_utf8(bytes).unwrap_or_default();
    if original.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Says whether a text has comments outside its strings, as some editors allow.
pub(super) fn has_comments(text: &str) -> bool {
    let mut in_string = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' if in_string => drop(rest.next()),
            '"' => in_string = !in_string,
            '/' if !in_string && matches!(rest.peek(), Some('/' | '*')) => return true,
            _ => {}
        }
    }
    false
}

/// Says whether servers are configured in other places than the outermost `key`.
pub(super) fn has_more(document: &Value, key: &str) -> bool {
    fn nested(value: &Value) -> bool {
        match value {
            Value::Object(map) => map.get("mcpServers").is_some_and(is_filled) || map.values().any(nested),
            Value::Array(list) => list.iter().any(nested),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    let is_other = |(own, value): (&String, &Value)| {
        own != key
            && (nested(value) || (matches!(own.as_str(), "mcpServers" | "servers") && is_filled(value)))
    };
    document.as_object().is_some_and(|map| map.iter().any(is_other))
}

fn is_filled(value: &Value) -> bool {
    value.as_object().is_some_and(|servers| !servers.is_empty())
}
