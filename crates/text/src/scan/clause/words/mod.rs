//! The words of each class. `~` after a verb stands for all its forms; `*` at an end leaves that end open.

mod act;
mod foreign;
mod manner;
mod theme;
mod thing;

use super::class::{BASE, Classes, ING, PAST, THIRD};

/// A table of words.
type Words = &'static [(Classes, &'static [&'static str])];

const TABLES: [Words; 5] = [manner::WORDS, act::WORDS, thing::WORDS, theme::WORDS, foreign::WORDS];

/// Returns every word with its classes; forms of verbs are spelt out.
pub(crate) fn entries() -> Vec<(Classes, String)> {
    let mut entries = Vec::new();
    for (classes, words) in TABLES.into_iter().flatten() {
        for word in *words {
            match word.split_once('~') {
                Some((verb, rest)) if verb.ends_with(|c: char| c.is_ascii_lowercase()) => {
                    for (form, bits) in forms(verb) {
                        entries.push((classes | bits, format!("{form}{rest}")));
                    }
                }
                _ => entries.push((*classes, (*word).to_owned())),
            }
        }
    }
    entries
}

/// Returns the forms of a regular verb.
fn forms(verb: &str) -> Vec<(String, Classes)> {
    let stem = verb.strip_suffix('e').unwrap_or(verb);
    let soft = verb.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    let third = match soft {
        Some(stem) => format!("{stem}ies"),
        None if verb.ends_with(['s', 'x', 'z', 'o']) || verb.ends_with("ch") || verb.ends_with("sh") => {
            format!("{verb}es")
        }
        None => format!("{verb}s"),
    };
    let past = soft.map_or_else(|| format!("{stem}ed"), |stem| format!("{stem}ied"));
    let mut forms = vec![(verb.to_owned(), BASE), (third, THIRD), (past, PAST), (format!("{stem}ing"), ING)];
    let mut last = verb.chars().rev();
    if let (Some(end), Some(middle)) = (last.next(), last.next())
        && matches!(end, 'b' | 'd' | 'g' | 'l' | 'm' | 'n' | 'p' | 't')
        && matches!(middle, 'a' | 'e' | 'i' | 'o' | 'u')
    {
        forms.push((format!("{verb}{end}ed"), PAST));
        forms.push((format!("{verb}{end}ing"), ING));
    }
    forms
}
