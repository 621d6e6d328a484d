//! What a name looks like, with everything taken away that a hurried reader or a client does not tell apart.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::skeleton;

use crate::hidden::may_hide;

/// Reduces a name to its likeness: UTS #39 skeleton over NFKC and case folding, without separators and hidden
/// characters, in the order in which it is displayed, with one letter for each group of look-alikes.
pub(super) fn likeness(name: &str) -> String {
    let shown = displayed(name);
    let folded: String = shown.nfkc().flat_map(one_case).nfkc().collect();
    let drawn: String = skeleton(&folded).collect();
    let mut likeness = String::with_capacity(drawn.len());
    for c in drawn.chars().flat_map(one_case) {
        if c.is_alphanumeric() || is_combining_mark(c) {
            likeness.push(grouped(c));
        } else if !c.is_whitespace() && !is_separator(c) {
            likeness.push(c);
        }
    }
    likeness
}

/// Returns the characters as they are displayed: hidden ones gone, and what an override turns round turned round.
fn displayed(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    let mut turned: Option<usize> = None;
    let turn = |shown: &mut String, from: Option<usize>| {
        if let Some(from) = from {
            let tail: String = shown.get(from..).unwrap_or_default().chars().rev().collect();
            shown.truncate(from);
            shown.push_str(&tail);
        }
    };
    for c in name.chars() {
        match c {
            '\u{202e}' => {
                turn(&mut shown, turned);
                turned = Some(shown.len());
            }
            '\u{202a}'..='\u{202d}' | '\u{2066}'..='\u{2069}' => turn(&mut shown, turned.take()),
            c if may_hide(c) || c.is_control() => {}
            c => shown.push(c),
        }
    }
    turn(&mut shown, turned);
    shown
}

/// Folds case, with letters of capital form that have no small one of their own script in mind.
fn one_case(c: char) -> impl Iterator<Item = char> {
    // An upper-case look-alike is compared as the capital it passes for, since its small form may look different.
    let as_latin = if c.is_ascii() { None } else { capital_look_alike(c) };
    let (one, many) = match as_latin {
        Some(latin) => (Some(latin), None),
        None => (None, Some(c.to_lowercase())),
    };
    one.into_iter().chain(many.into_iter().flatten())
}

fn capital_look_alike(c: char) -> Option<char> {
    let mut buffer = [0; 4];
    let mut prototype = skeleton(c.encode_utf8(&mut buffer));
    match (prototype.next(), prototype.next()) {
        (Some(one), None) if one.is_ascii_alphanumeric() => Some(one.to_ascii_lowercase()),
        _ => None,
    }
}

/// One letter for what is drawn alike in common fonts. After folding, a capital I is an i and passes for an l.
fn grouped(c: char) -> char {
    match c {
        '0' => 'o',
        '1' | 'i' => 'l',
        '5' => 's',
        c => c,
    }
}

/// Says whether a character only parts words.
fn is_separator(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '\'' | ',' | '·' | '\u{2010}'..='\u{2015}' | '\u{2024}' | '\u{2212}' | '\u{fe4d}'..='\u{fe4f}')
}
