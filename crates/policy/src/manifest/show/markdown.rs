//! The page as Markdown.

use super::page::{Entry, Page};
use crate::report::markdown;

pub(super) fn render(page: &Page) -> String {
    let mut text =
        format!("# What the tools may touch\n\nManifest `{}`: {}.\n", page.hash, markdown(&page.summary));
    for section in &page.sections {
        text.push_str(&format!("\n## {} {}\n\n", section.kind, code(&section.name)));
        if !section.facts.is_empty() {
            let facts: Vec<String> = section.facts.iter().map(|fact| markdown(fact)).collect();
            text.push_str(&format!("{}\n\n", facts.join(" · ")));
        }
        text.push_str("| what | entries |\n|---|---|\n");
        for row in &section.rows {
            let entries: Vec<String> = row.entries.iter().map(entry).collect();
            text.push_str(&format!("| {} | {} |\n", row.label, entries.join("<br>")));
        }
    }
    text
}

fn entry(entry: &Entry) -> String {
    match entry.from {
        Some(from) => format!("{} ({})", code(&entry.text), from.as_str()),
        None => markdown(&entry.text),
    }
}

fn code(text: &str) -> String {
    markdown(&format!("`{text}`"))
}
