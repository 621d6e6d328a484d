//! The words the rules are made of, and the automaton that finds them all in one pass.
//!
//! INVARIANT: words and text go through the same folding, so that a word is found however it is written.

mod english;
mod other;
mod tactic;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::clause;
use super::clause::class::Classes;
use super::concept::Concepts;
use super::fold::fold;

/// One word as it is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) concepts: Concepts,
    pub(crate) classes: Classes,
    /// The word may begin inside another.
    pub(crate) open_left: bool,
    /// The word may go on.
    pub(crate) open_right: bool,
}

/// All words and their automaton; `None` if it cannot be built, which no table in this crate leads to.
pub(crate) struct Lexicon {
    pub(crate) words: Vec<Word>,
    pub(crate) automaton: Option<AhoCorasick>,
}

/// The lexicon, built once.
pub(crate) static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::build);

/// Returns every entry of the tables: a set of meanings and a word with its `*`.
pub(crate) fn entries() -> impl Iterator<Item = (Concepts, &'static str)> {
    english::WORDS
        .iter()
        .chain(other::WORDS)
        .chain(tactic::WORDS)
        .flat_map(|(concepts, words)| words.iter().map(move |word| (*concepts, *word)))
}

impl Lexicon {
    fn build() -> Self {
        let mut places = std::collections::HashMap::new();
        let mut texts: Vec<String> = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        let rules = entries().map(|(concepts, entry)| (concepts, 0, entry.to_owned()));
        let clauses = clause::entries().into_iter().map(|(classes, entry)| (0, classes, entry));
        for (concepts, classes, entry) in rules.chain(clauses) {
            let open_left = entry.starts_with('*');
            let open_right = entry.ends_with('*');
            let bare = entry.strip_prefix('*').unwrap_or(&entry);
            let text = fold(bare.strip_suffix('*').unwrap_or(bare)).text;
            match places.get(&(text.clone(), open_left, open_right)) {
                Some(&place) => {
                    let word: Option<&mut Word> = words.get_mut::<usize>(place);
                    if let Some(word) = word {
                        word.concepts |= concepts;
                        word.classes |= classes;
                    }
                }
                None => {
                    places.insert((text.clone(), open_left, open_right), words.len());
                    texts.push(text);
                    words.push(Word { concepts, classes, open_left, open_right });
                }
            }
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&texts)
            .ok();
        Self { words, automaton }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_and_holds_no_empty_word() {
        assert!(LEXICON.automaton.is_some());
        for (_, entry) in entries() {
            assert!(!fold(entry.trim_matches('*')).text.is_empty(), "{entry}");
        }
    }
}
