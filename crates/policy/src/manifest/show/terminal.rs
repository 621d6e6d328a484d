//! The page for a terminal.

use super::page::{Entry, Page};
use crate::report::plain;

/// How wide the labels are.
const LABEL: usize = 16;

pub(super) fn render(page: &Page) -> String {
    let mut text = format!("manifest {}\n{}\n", plain(&page.hash), plain(&page.summary));
    for section in &page.sections {
        let facts: String = section.facts.iter().map(|fact| format!(" · {}", plain(fact))).collect();
        text.push_str(&format!("\n{} {}{facts}\n", section.kind, plain(&section.name)));
        for row in &section.rows {
            let entries: Vec<String> = row.entries.iter().map(entry).collect();
            text.push_str(&format!("  {:<LABEL$}{}\n", row.label, entries.join(", ")));
        }
    }
    text
}

fn entry(entry: &Entry) -> String {
    let from = entry.from.map_or_else(String::new, |from| format!(" ({})", from.as_str()));
    format!("{}{from}", plain(&entry.text))
}
