//! The functions and constants that a statement names, each noted once for the whole item.

use super::Body;
use crate::mir::parse::Literals;
use crate::mir::summary::{Mention, MentionKind, Spot, Word, Words};

impl<'a> Body<'a> {
    /// Notes the functions and constants of a statement; the arguments belong to the first.
    pub(super) fn mention(
        &mut self,
        constants: &[&'a str],
        here: Spot,
        strings: &[Word],
        switch: Option<bool>,
        words: &mut Words,
    ) {
        for (index, constant) in constants.iter().enumerate() {
            let Some((found, value)) = constant.split_once(", val: ") else { continue };
            let (strings, switch) = if index == 0 { (strings, switch) } else { (&[][..], None) };
            if let Some(value) = value.strip_prefix("Value(").and_then(|value| value.strip_suffix(')')) {
                if found
                    .strip_suffix('}')
                    .and_then(|found| found.strip_suffix(value))
                    .is_some_and(|found| found.ends_with(" {"))
                {
                    let kept = self.literals == Literals::All || value.contains("std::");
                    self.note(
                        MentionKind::Function,
                        found,
                        here,
                        if kept { strings } else { &[] },
                        switch,
                        words,
                    );
                } else if found.contains(" {") && found.contains("fn(") {
                    self.note(MentionKind::Held, found, here, &[], None, words);
                }
            } else if let Some(value) = value.strip_prefix("Unevaluated(")
                && let Some(value) = value.strip_suffix(", None)")
            {
                self.note(MentionKind::Constant, value, here, &[], None, words);
            }
        }
    }

    pub(super) fn note(
        &mut self,
        kind: MentionKind,
        what: &str,
        spot: Spot,
        strings: &[Word],
        switch: Option<bool>,
        words: &mut Words,
    ) {
        let what = words.word(what);
        let Some(item) = self.item.as_mut() else { return };
        if let Some(known) = self.seen.get(&(kind, what)).and_then(|at| item.mentions.get_mut(*at)) {
            for string in strings {
                if !known.literals.contains(string) {
                    known.literals.push(*string);
                }
            }
            if known.switch != switch {
                // Of calls that disagree the one that may switch something on counts.
                known.switch =
                    if known.switch == Some(true) || switch == Some(true) { Some(true) } else { None };
            }
            return;
        }
        self.seen.insert((kind, what), item.mentions.len());
        item.mentions.push(Mention { kind, what, spot, literals: strings.to_vec(), switch });
    }
}
