//! The text of a policy file: each key with its explanation, and those that are not used as comments.
//!
//! The explanations are those of the reference page and of the schema, from one table.

use std::fmt::Write as _;

use ringfence::policy::form::{Absent, Key, Kind, Standing, TOOLBOX, Table};

use super::SCHEMA;
use crate::import::Line;

/// A policy file that is being written.
pub(super) struct Document(String);

impl Document {
    /// Begins a file with what it is about.
    pub(super) fn new(about: &[String]) -> Self {
        let mut text = format!("#:schema ./{SCHEMA}\n");
        for line in about {
            // Writing to a string cannot fail.
            let _written = writeln!(text, "# {line}");
        }
        text.push_str(
            "# Every key is explained above it; what is not used is a comment. `ringfence check` finds mistakes, with line and fix.\n",
        );
        Self(text)
    }

    /// Adds a table of the top of the file with these values, and the other keys as comments.
    pub(super) fn section(&mut self, name: &str, lines: &[Line]) {
        let Some((table, heading)) = found(name) else { return };
        let _written = writeln!(self.0, "\n# {}\n{heading}", table.meaning);
        let mut given = Vec::new();
        let mut remarks = Vec::new();
        for line in lines {
            match line {
                Line::Remark(remark) => remarks.push(remark.as_str()),
                Line::Field(key, value) => given.push((*key, value.as_str(), std::mem::take(&mut remarks))),
            }
        }
        for key in table.keys.iter().filter(|key| key.standing == Standing::Current) {
            let _written = writeln!(self.0, "# {}", explained(key));
            match given.iter().find(|(name, ..)| *name == key.name) {
                Some((name, value, remarks)) => {
                    for remark in remarks {
                        let _written = writeln!(self.0, "# {remark}");
                    }
                    let _written = writeln!(self.0, "{name} = {value}");
                }
                None => {
                    let _written = writeln!(self.0, "# {} = {}", key.name, key.example);
                }
            }
        }
        for remark in remarks {
            let _written = writeln!(self.0, "# {remark}");
        }
    }

    /// Adds a table of the top of the file as a comment.
    fn offer(&mut self, table: &Table, heading: &str) {
        let _written = writeln!(self.0, "\n# {}\n# {heading}", table.meaning);
        for key in table.keys.iter().filter(|key| key.standing == Standing::Current) {
            let _written = writeln!(self.0, "# # {}\n# {} = {}", explained(key), key.name, key.example);
        }
    }

    /// Offers what was not used, and ends the file.
    pub(super) fn finish(mut self, used: &[&str]) -> String {
        for key in TOOLBOX.keys.iter().filter(|key| !used.contains(&key.name)) {
            if let Some((table, heading)) = found(key.name) {
                self.offer(table, heading);
            }
        }
        self.0
    }
}

fn found(name: &str) -> Option<(&'static Table, &'static str)> {
    let table = TOOLBOX.key(name)?.kind.tables().into_iter().next()?;
    Some((table, table.heading?))
}

/// What a key says, what its words are, and what it means when it is not there.
fn explained(key: &Key) -> String {
    let mut text = key.meaning.to_owned();
    if let Kind::Choice(words) = key.kind {
        let words: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let _written = write!(text, " {}.", words.join(", "));
    }
    let _written = match key.absent {
        Absent::Means(what) => write!(text, " Absent: {what}."),
        Absent::Refused => write!(text, " Required."),
        Absent::Value("{}" | "[]") => write!(text, " Absent: nothing."),
        Absent::Value(value) => write!(text, " Absent: {value}."),
    };
    text
}

#[cfg(test)]
mod tests {
    use ringfence::policy::Toolbox;

    use super::*;

    #[test]
    fn every_key_of_every_table_stands_in_the_file() {
        let mut document = Document::new(&["about".into()]);
        document.section("personality", &[Line::Field("id", "\"x\"".into())]);
        let text = document.finish(&["personality"]);
        for key in TOOLBOX.keys {
            let (table, heading) = found(key.name).unwrap();
            assert!(text.contains(heading), "{heading}");
            for key in table.keys.iter().filter(|key| key.standing == Standing::Current) {
                assert!(text.contains(&format!("\n# {} = {}\n", key.name, key.example)) || key.name == "id");
            }
        }
        assert!(Toolbox::from_toml(&text).is_ok());
    }

    #[test]
    fn what_stands_as_a_comment_can_be_used() {
        let mut document = Document::new(&[]);
        document.section("personality", &[Line::Field("id", "\"x\"".into())]);
        let text = document.finish(&[
            "personality",
            "tool",
            "server",
            "gateway",
            "agent",
            "console",
            "container",
            "notify",
            "run",
        ]);
        let (table, _) = found("personality").unwrap();
        for key in table.keys.iter().filter(|key| key.standing == Standing::Current && key.name != "id") {
            let (off, on) = (format!("\n# {} = ", key.name), format!("\n{} = ", key.name));
            assert!(text.contains(&off), "{}", key.name);
            let used = text.replace(&off, &on);
            assert!(Toolbox::from_toml(&used).is_ok(), "{}: {:?}", key.name, Toolbox::from_toml(&used));
        }
    }
}
