//! The rules as regular expressions, for those who want to run them elsewhere.

use super::concept::{Concepts, SHAPES};
use super::lexicon::entries;
use super::rule::RULES;

/// Returns each rule's name and a regular expression for it, to be matched without regard to case.
///
/// The expressions know nothing of folding, encodings or the tool's own name. Frames of clauses have none.
pub fn rule_patterns() -> Vec<(&'static str, String)> {
    RULES
        .iter()
        .map(|rule| {
            let mut pattern = String::new();
            for (index, (wanted, gap)) in rule.steps.iter().enumerate() {
                if index > 0 {
                    pattern.push_str(&format!("[^.!?]{{0,{gap}}}"));
                }
                pattern.push_str(&words(*wanted));
            }
            (rule.id, pattern)
        })
        .collect()
}

fn words(wanted: Concepts) -> String {
    let mut any: Vec<String> =
        entries().filter(|(concepts, _)| concepts & wanted != 0).map(|(_, entry)| word(entry)).collect();
    any.extend(
        SHAPES.iter().filter(|(concept, _)| concept & wanted != 0).map(|(_, shape)| (*shape).to_owned()),
    );
    format!("(?:{})", any.join("|"))
}

fn word(entry: &str) -> String {
    let bare = entry.strip_prefix('*').unwrap_or(entry);
    let bare = bare.strip_suffix('*').unwrap_or(bare);
    let mut pattern = String::new();
    if !entry.starts_with('*') {
        pattern.push_str(r"\b");
    }
    for c in bare.chars() {
        if c == ' ' {
            pattern.push_str(r"\s+");
        } else {
            if c.is_ascii_punctuation() {
                pattern.push('\\');
            }
            pattern.push(c);
        }
    }
    if !entry.ends_with('*') {
        pattern.push_str(r"\b");
    }
    pattern
}
