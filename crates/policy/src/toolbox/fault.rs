//! Everything of the wrong shape in a toolbox file, not only the first of it.
//!
//! INVARIANT: nothing is told that reading the file, or the file without what was told before, does not say.

use std::ops::Range;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use toml::{Deserializer, Spanned};

use super::{DocumentError, Toolbox, told};

/// More than this nobody reads.
const MOST: usize = 50;

impl Toolbox {
    /// Returns what [`from_toml`](Self::from_toml) says of a text, then what it would say without the part that this is about, and so on.
    pub fn faults(text: &str) -> Vec<DocumentError> {
        let Ok(mut document) = DeTable::parse(text) else {
            return Self::from_toml(text).err().into_iter().collect();
        };
        let (mut faults, mut taken) = (Vec::new(), Vec::new());
        while faults.len() < MOST {
            let Err(error) = Self::deserialize(Deserializer::from(document.clone())) else { break };
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
    fn what_is_right_has_none_and_what_is_no_toml_has_one() {
        assert!(said("[personality]\nid = \"a\"\n").is_empty());
        assert_eq!(said("[personality\nid = 5\n").len(), 1);
        let many: String = (0..80).map(|number| format!("a{number} = 1\n")).collect();
        assert_eq!(said(&many).len(), MOST);
    }
}
