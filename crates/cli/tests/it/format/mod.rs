//! The pages of the manifest's and the audit's format, each written from a table that real files are held against.
//!
//! A field of a real file that the table does not know fails, and so does a row that no real file has.

mod audit;
mod manifest;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// A part of a page: a heading, a sentence about it, and its rows. A row is the path of a field and its meaning; `*` in a path is a
/// name that somebody chose, `[]` an entry of a list.
struct Section {
    title: &'static str,
    about: &'static str,
    rows: &'static [(&'static str, &'static str)],
}

/// Which rows real files have.
struct Held<'a> {
    rows: Vec<&'a str>,
    seen: BTreeSet<&'a str>,
    unknown: BTreeSet<String>,
}

impl<'a> Held<'a> {
    fn new(sections: &'a [Section]) -> Self {
        let rows = sections.iter().flat_map(|section| section.rows).map(|(path, _)| *path).collect();
        Self { rows, seen: BTreeSet::new(), unknown: BTreeSet::new() }
    }

    /// Looks at a file, from the top.
    fn look(&mut self, file: &Value) {
        for (key, value) in file.as_object().unwrap() {
            self.walk(key, value);
        }
    }

    fn walk(&mut self, path: &str, value: &Value) {
        let is_row = self.rows.iter().find(|row| **row == path).copied();
        let below: Vec<&str> =
            self.rows.iter().filter_map(|row| row.strip_prefix(path)?.strip_prefix('.')).collect();
        if is_row.is_none() && below.is_empty() {
            self.unknown.insert(path.to_owned());
            return;
        }
        self.seen.extend(is_row);
        match value {
            Value::Object(members) if !below.is_empty() => {
                let is_free = below.iter().any(|row| *row == "*" || row.starts_with("*."));
                for (key, member) in members {
                    let key = if is_free { "*" } else { key.as_str() };
                    self.walk(&format!("{path}.{key}"), member);
                }
            }
            Value::Array(entries) if below.iter().any(|row| *row == "[]" || row.starts_with("[].")) => {
                entries.iter().for_each(|entry| self.walk(&format!("{path}.[]"), entry));
            }
            _ => {}
        }
    }

    /// Fails where table and files differ; `elsewhere` are rows that other tests show.
    fn check(&self, elsewhere: &[&str]) {
        assert!(self.unknown.is_empty(), "fields that the reference does not know: {:?}", self.unknown);
        let unseen: Vec<_> = self.rows.iter().filter(|row| !self.seen.contains(*row)).collect();
        let expected: Vec<_> = self.rows.iter().filter(|row| elsewhere.contains(row)).collect();
        assert_eq!(unseen, expected, "rows that no real file has, and those that need none");
    }
}

fn page(head: &str, sections: &[Section], tail: &str) -> String {
    let mut page = format!("{head}\n");
    for Section { title, about, rows } in sections {
        writeln!(page, "\n## {title}\n\n{about}\n\n| field | what it is |\n|---|---|").unwrap();
        for (path, meaning) in *rows {
            writeln!(page, "| `{}` | {meaning} |", path.replace(".[]", "[]")).unwrap();
        }
    }
    page + tail
}

#[test]
fn what_the_table_does_not_know_is_noticed() {
    let sections =
        [Section { title: "", about: "", rows: &[("a", ""), ("b.*.c", ""), ("d.[].e", ""), ("f", "")] }];
    let looked = |text: &str| {
        let mut held = Held::new(&sections);
        held.look(&serde_json::from_str(text).unwrap());
        (held.unknown.into_iter().collect::<Vec<_>>().join(" "), held.seen.len())
    };
    assert_eq!(looked(r#"{"a": {"free": 1}, "b": {"x": {"c": 1}}, "d": [{"e": 1}]}"#), (String::new(), 3));
    assert_eq!(looked(r#"{"z": 1}"#).0, "z");
    assert_eq!(looked(r#"{"b": {"x": {"z": 1}}, "d": [{"z": 1}]}"#).0, "b.*.z d.[].z");
}
