//! The form as a reference page.

use std::fmt::Write as _;

use super::{Absent, Key, Kind, Standing, TOOLBOX, Table};

/// What stands above the tables.
const INTRODUCTION: &str = "# The policy file\n\n\
    Every key of `ringfence.toml`. JSON of the same shape is read too. An unknown or a doubled key is an error, so that a typo never widens\n\
    anything; `ringfence check` finds everything that is wrong, with line and fix. Written by a test from `crates/policy/src/form`, like\n\
    [the JSON Schema](ringfence.schema.json) that editors complete from (`ringfence schema` prints it, `ringfence init` writes it beside the file).\n\
    How the keys work together is told in [write a policy](../guides/write-a-policy.md).\n";

/// Returns the page, as Markdown.
pub fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    for table in TOOLBOX.all() {
        section(&mut page, table);
    }
    page
}

fn section(page: &mut String, table: &Table) {
    // Writing to a string cannot fail.
    let _written = writeln!(page, "\n## {}\n\n{}\n", table.name, table.meaning);
    if let Some(heading) = table.heading {
        let heading = heading.replace("NAME", "git_commit");
        for sample in table.samples {
            let _written = writeln!(page, "```toml\n{heading}\n{sample}\n```\n");
        }
    }
    let _written = writeln!(page, "| key | type | when absent | meaning | example |\n|---|---|---|---|---|");
    for key in table.keys {
        let _written = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            spelled(key),
            cell(&typed(&key.kind)),
            cell(&absent(key)),
            cell(&meaning(key)),
            cell(&format!("`{}`", key.example)),
        );
    }
}

fn spelled(key: &Key) -> String {
    let mut cell = format!("`{}`", key.name);
    if !key.aliases.is_empty() {
        let also: Vec<String> = key.aliases.iter().map(|name| format!("`{name}`")).collect();
        let _written = write!(cell, " (also {})", also.join(", "));
    }
    cell
}

fn absent(key: &Key) -> String {
    match key.absent {
        Absent::Means(what) => what.to_owned(),
        Absent::Refused => "refused".to_owned(),
        Absent::Value(value) => format!("`{value}`"),
    }
}

fn meaning(key: &Key) -> String {
    let mut text = key.meaning.to_owned();
    if let Kind::Choice(words) = key.kind {
        for (word, meaning) in words {
            let _written = write!(text, " `{word}`: {meaning}");
        }
    }
    if key.standing == Standing::Old {
        text.push_str(" Only for old documents.");
    }
    text
}

fn typed(kind: &Kind) -> String {
    match kind {
        Kind::Choice(words) => {
            words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect::<Vec<_>>().join(" or ")
        }
        Kind::Command => "a list of texts".to_owned(),
        Kind::Either(kinds) => kinds.iter().map(typed).collect::<Vec<_>>().join(", or "),
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::List(kind) => format!("a list, each {}", typed(kind)),
        Kind::Map(name, kind) => format!("a table, each {} = {}", name.what, typed(kind)),
        Kind::Number(_) => "a whole number".to_owned(),
        Kind::Object => "a table".to_owned(),
        Kind::Table(table) => format!("a table: [{}](#{})", table.name, anchor(table)),
        Kind::Tables(table) => format!("tables: [{}](#{})", table.name, anchor(table)),
        Kind::Word(word) => word.what.to_owned(),
    }
}

/// How a heading is linked to.
fn anchor(table: &Table) -> String {
    table.name.replace('.', "").replace(' ', "-")
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
