//! One spelling for what looks or reads the same, with a way back to the raw text.
//!
//! Compatibility forms, case, accents, look-alike letters, invisible characters and runs of white space are folded
//! away. INVARIANT: `map` has one entry for each byte of `text` plus one for its end, and never decreases.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::hidden::may_hide;

/// A folded text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folded {
    pub(crate) text: String,
    map: Vec<u32>,
}

impl Folded {
    /// Returns where a range of the folded text lies in the raw one.
    pub(crate) fn raw(&self, range: &Range<usize>) -> Range<usize> {
        let at = |index: usize| self.map.get(index).map_or(0, |at| *at as usize);
        at(range.start)..at(range.end)
    }

    fn push(&mut self, c: char, raw: u32) {
        self.text.push(c);
        self.map.resize(self.text.len(), raw);
    }

    /// Adds a blank unless there is one.
    fn space(&mut self, raw: u32) {
        if !self.text.ends_with(' ') {
            self.push(' ', raw);
        }
    }
}

/// Folds a text.
pub(crate) fn fold(raw: &str) -> Folded {
    let mut folded = if raw.is_ascii() { fold_ascii(raw) } else { fold_any(raw) };
    folded.map.push(offset(raw.len()));
    folded
}

/// The common case, a byte at a time.
fn fold_ascii(raw: &str) -> Folded {
    let (mut text, mut map) = (vec![0; raw.len()], vec![0; raw.len()]);
    let (mut count, mut spaced) = (0, false);
    for (at, byte) in (0_u32..).zip(raw.bytes()) {
        let is_space = byte.is_ascii_whitespace();
        // Written over by the next unless it counts, so that no branch has to be guessed.
        if let (Some(folded), Some(place)) = (text.get_mut(count), map.get_mut(count)) {
            *folded = if is_space { b' ' } else { byte.to_ascii_lowercase() };
            *place = at;
        }
        let is_kept = if is_space { !spaced } else { !byte.is_ascii_control() };
        spaced = if is_kept { is_space } else { spaced };
        count += usize::from(is_kept);
    }
    text.truncate(count);
    map.truncate(count);
    // ASCII is always text.
    Folded { text: String::from_utf8(text).unwrap_or_default(), map }
}

fn fold_any(raw: &str) -> Folded {
    let mut folded =
        Folded { text: String::with_capacity(raw.len()), map: Vec::with_capacity(raw.len() + 1) };
    let mut word_is_latin = false;
    for (at, c) in raw.char_indices() {
        let at = offset(at);
        if c.is_ascii() {
            word_is_latin = c.is_ascii_alphabetic() || (word_is_latin && !c.is_ascii_whitespace());
            if c.is_ascii_whitespace() {
                folded.space(at);
            } else if !c.is_ascii_control() {
                folded.push(c.to_ascii_lowercase(), at);
            }
        } else {
            fold_wide(c, at, word_is_latin, &mut folded);
        }
    }
    folded
}

/// A text is some megabytes at most; beyond four gigabytes spans would end early.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn fold_wide(c: char, at: u32, among_latin: bool, folded: &mut Folded) {
    if may_hide(c) {
        return;
    }
    for part in std::iter::once(c).nfkd().filter(|part| !is_combining_mark(*part)) {
        if part.is_whitespace() {
            folded.space(at);
        } else if part.is_ascii() {
            folded.push(part.to_ascii_lowercase(), at);
        } else {
            for lower in part.to_lowercase() {
                match look_alike(lower).or_else(|| if among_latin { look_alike(part) } else { None }) {
                    Some(latin) => folded.push(latin, at),
                    None => folded.push(lower, at),
                }
            }
        }
    }
}

/// Returns the ASCII letter that a character is drawn like.
pub(crate) fn look_alike(c: char) -> Option<char> {
    match c {
        '‘' | '’' | '‚' | 'ʼ' => return Some('\''),
        '“' | '”' | '„' => return Some('"'),
        '。' | '、' | '！' | '？' => return None,
        _ => {}
    }
    let mut buffer = [0; 4];
    let mut prototype = unicode_security::skeleton(c.encode_utf8(&mut buffer));
    match (prototype.next(), prototype.next()) {
        (Some(one), None) if one.is_ascii_alphanumeric() => Some(one.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn folds_what_reads_the_same() {
        #[rustfmt::skip]
        let cases = [
            ("Ignore ALL",                      "ignore all"),
            ("ｉｇｎｏｒｅ",                      "ignore"),
            ("іgnоrе",                          "ignore"),
            ("𝐢𝐠𝐧𝐨𝐫𝐞",                          "ignore"),
            ("ig\u{200b}no\u{ad}re",            "ignore"),
            ("précédentes",                     "precedentes"),
            ("two\n\n  lines",                  "two lines"),
            ("忽略之前",                         "忽略之前"),
        ];
        for (raw, folded) in cases {
            assert_eq!(fold(raw).text, folded, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn the_way_back_is_inside_and_on_boundaries(raw in ".{0,80}") {
            let folded = fold(&raw);
            prop_assert_eq!(folded.map.len(), folded.text.len() + 1);
            prop_assert!(folded.map.is_sorted());
            prop_assert!(folded.map.iter().all(|at| raw.is_char_boundary(*at as usize)));
        }
    }
}
