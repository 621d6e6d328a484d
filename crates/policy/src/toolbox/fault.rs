//! Everything of the wrong shape in a toolbox file, not only the first of it.
//!
//! INVARIANT: nothing is told that reading the file, or the file without what was told before, does not say.

use std::ops::Range;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use toml::{Deserializer, Spanned};

use super::{DocumentError, Toolbox, told};
use crate::JsonAsToml;
use crate::form::list_for_table;
use crate::json::line_and_column;

/// More than this nobody reads.
const MOST: usize = 50;

impl Toolbox {
    /// Returns what [`from_toml`](Self::from_toml) says of a text, then what it would say without the part that this is about, and so on.
    pub fn faults(text: &str) -> Vec<DocumentError> {
        match DeTable::parse(text) {
            Ok(document) => all_of(text, document),
            Err(_) => Self::from_toml(text).err().into_iter().collect(),
        }
    }

    /// The same of [`from_json`](Self::from_json); one alone where the text says what TOML cannot say.
    pub fn json_faults(text: &str) -> Vec<DocumentError> {
        let Err(first) = Self::from_json(text) else { return Vec::new() };
        let toml = JsonAsToml::of(text);
        let document = toml.as_ref().and_then(|toml| Some((toml.as_str(), toml.document()?)));
        let mut all = document.map(|(toml, document)| all_of(toml, document)).unwrap_or_default();
        for fault in all.iter_mut().filter(|fault| fault.line == 1) {
            fault.column = fault.column.saturating_sub(JsonAsToml::BEFORE.len());
        }
        if all.is_empty() { vec![first] } else { all }
    }
}

/// Returns the first list that should be a table, and where it begins.
pub(super) fn misplaced(text: &str, document: &Spanned<DeTable<'_>>) -> Option<(usize, DocumentError)> {
    let whole = Spanned::new(document.span(), DeValue::Table(document.get_ref().clone()));
    let (key, list) = list_for_table(&whole)?;
    let start = list.span().start;
    let (line, column) = line_and_column(text, start);
    Some((start, DocumentError { line, column, message: no_table(key) }))
}

pub(super) fn no_table(key: &str) -> String {
    format!("`{key}`: invalid type: list, expected a table")
}

fn all_of(text: &str, mut document: Spanned<DeTable<'_>>) -> Vec<DocumentError> {
    let (mut faults, mut taken) = (Vec::new(), Vec::new());
    while faults.len() < MOST
        && let Some((start, fault)) = misplaced(text, &document)
    {
        faults.push(fault);
        let Some(key) = take_out(document.get_mut(), start) else { break };
        taken.push(key);
    }
    while faults.len() < MOST {
        let Err(error) = Toolbox::deserialize(Deserializer::from(document.clone())) else { break };
        // What was taken out is not missing.
        let is_missing = |key: &String| error.message().contains(&format!("missing field `{key}`"));
        let is_new = !taken.iter().any(is_missing);
        let mut fault = told(text, &error);
        let key = error.span().and_then(|span| take_out(document.get_mut(), span.start));
        if let Some(key) = key.as_ref().filter(|key| !fault.message.contains(&format!("`{key}`"))) {
            fault.message = format!("`{key}`: {}", fault.message);
        }
        if is_new {
            faults.push(fault);
        }
        let Some(key) = key else { break };
        taken.push(key);
    }
    faults
}

/// Takes the innermost entry out that holds this place, and returns its key.
fn take_out(table: &mut DeTable<'_>, place: usize) -> Option<String> {
    let holds = |span: Range<usize>| span.start <= place && place < span.end.max(span.start + 1);
    let found = table.iter().find(|(key, value)| holds(key.span()) || holds(value.span()));
    let found = found.or_else(|| table.iter().find(|(_, value)| has(value, place)));
    let key = found.map(|(key, _)| key.get_ref().to_string())?;
    if let Some(deeper) = table.get_mut(key.as_str()).and_then(|value| take_out_of(value, place)) {
        return Some(if deeper.is_empty() { key } else { deeper });
    }
    table.remove(key.as_str());
    Some(key)
}

/// The same in a value; an element of a list has no key.
fn take_out_of(value: &mut Spanned<DeValue<'_>>, place: usize) -> Option<String> {
    match value.get_mut() {
        DeValue::Table(table) => take_out(table, place),
        DeValue::Array(array) => {
            let at = array.iter().position(|element| has(element, place))?;
            if let Some(key) = array.get_mut(at).and_then(|element| take_out_of(element, place)) {
                return Some(key);
            }
            let left = array.clone().into_iter().enumerate().filter(|(index, _)| *index != at);
            *array = left.map(|(_, element)| element).collect();
            Some(String::new())
        }
        _ => None,
    }
}

/// Tells whether a place is in a value, or in anything below it: the span of a table that has a header is that of its header.
fn has(value: &Spanned<DeValue<'_>>, place: usize) -> bool {
    let span = value.span();
    (span.start <= place && place < span.end)
        || match value.get_ref() {
            DeValue::Table(table) => {
                table.iter().any(|(key, value)| key.span().contains(&place) || has(value, place))
            }
            DeValue::Array(array) => array.iter().any(|element| has(element, place)),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let mut faults = Toolbox::faults(text);
        faults.sort_by_key(|fault| (fault.line, fault.column));
        let told = |fault: &DocumentError| {
            let message = fault.message.split(", expected one of").next().unwrap_or_default();
            format!("{}: {message}", fault.line)
        };
        faults.iter().map(told).collect()
    }

    #[test]
    fn all_of_it_is_told_at_once() {
        let text = r#"
[personality]
id = 5
network = { allow = ["*.*", "example.com", "a b"] }
fs_reach = { read = "/etc" }
unknwn = 1

[[tool]]
name = "one"
limits = { wall = 5, wal = "1s" }

[[tool]]
name = "two words"
command = 7

[server]
"#;
        insta::assert_snapshot!(said(text).join("\n"), @r#"
        3: `id`: invalid type: integer `5`, expected a string
        4: `allow`: `*.*` has a wildcard other than `*` alone or a leading `*.`
        4: `allow`: `a b` contains the character U+0020, which is never part of a host
        5: `read`: invalid type: string "/etc", expected a list
        6: unknown field `unknwn`
        10: `wall`: invalid type: integer `5`, expected a duration, as a string
        10: unknown field `wal`
        13: `name`: tool name `two words` is not 1 to 128 characters of letters, digits, `_`, `.` and `-`
        14: `command`: invalid type: integer `7`, expected a list
        16: `server`: invalid type: table, expected a list
        "#);
    }

    #[test]
    fn json_is_told_at_once_too() {
        let told = |text: &str| {
            let mut faults = Toolbox::json_faults(text);
            faults.sort_by_key(|fault| (fault.line, fault.column));
            faults
                .iter()
                .map(|fault| format!("{}:{}: {}", fault.line, fault.column, fault.message))
                .collect::<Vec<_>>()
        };
        let text = "{\"personality\": {\"id\": 5,\n  \"fs_reach\": {\"read\": \"/etc\"}},\n \
                    \"tools\": [{\"name\": \"one\", \"limits\": {\"wall\": 5}}]}";
        assert_eq!(
            told(text),
            [
                "1:24: `id`: invalid type: integer `5`, expected a string",
                "2:24: `read`: invalid type: string \"/etc\", expected a list",
                "3:47: `wall`: invalid type: integer `5`, expected a duration, as a string",
            ]
        );
        assert_eq!(told("{\"tools\": []}"), Vec::<String>::new());
        let text = "{\"personality\": {\"limits\": [\"1s\"], \"id\": 5}, \"tools\": [[\"one\"]]}";
        assert_eq!(
            told(text),
            [
                "1:28: `limits`: invalid type: list, expected a table",
                "1:42: `id`: invalid type: integer `5`, expected a string",
                "1:56: `tool`: invalid type: list, expected a table",
            ]
        );
        // Only one thing can be told of what is no JSON, and of what TOML has no word for.
        for text in ["{\"tools\": [}", "{\"tools\": null, \"servers\": 5}", "[]", "{\"tool\": [[\"\\/\"]]}"] {
            assert_eq!(told(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn what_is_right_has_none_and_what_is_no_toml_has_one() {
        assert!(said("[personality]\nid = \"a\"\n").is_empty());
        let named = "[[server]]\nname = \"a\"\ncommand = [\"x\"]\ntool = []\n";
        assert_eq!(said(named), ["4: `tool`: invalid type: list, expected a table"]);
        assert_eq!(said("[personality\nid = 5\n").len(), 1);
        let many: String = (0..80).map(|number| format!("a{number} = 1\n")).collect();
        assert_eq!(said(&many).len(), MOST);
    }
}
