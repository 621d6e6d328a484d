//! Where the words and shapes that rules are made of stand in a text, sentence by sentence.
//!
//! INVARIANT: hits lie on character boundaries of the raw text and are sorted by their start.

use std::ops::Range;

use super::clause::{self, Mark};
use super::concept::{self, Concepts};
use super::fold::Folded;
use super::lexicon::LEXICON;

/// One meaningful place in a text.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) at: Range<usize>,
    pub(crate) concepts: Concepts,
}

/// What names mean here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    /// The tool's own name.
    pub(crate) own: &'a str,
    /// The names of its parameters.
    pub(crate) parameters: &'a [&'a str],
}

/// Finds all hits, and the marks of clauses.
pub(crate) fn hits(raw: &str, folded: &Folded, names: Names<'_>) -> (Vec<Hit>, Vec<Mark>) {
    let (mut hits, mut marks) = (Vec::new(), Vec::new());
    words(folded, &mut hits, &mut marks);
    let words = hits.len();
    shapes(raw, names, &mut hits, &mut marks);
    clause::from_hits(raw, names.own, hits.get(words..).unwrap_or_default(), &mut marks);
    hits.sort_by_key(|hit| hit.at.start);
    clause::sort(&mut marks);
    (hits, marks)
}

fn words(folded: &Folded, hits: &mut Vec<Hit>, marks: &mut Vec<Mark>) {
    let Some(automaton) = &LEXICON.automaton else { return };
    let text = folded.text.as_str();
    let bytes = text.as_bytes();
    for found in automaton.find_overlapping_iter(text) {
        let Some(word) = LEXICON.words.get(found.pattern().as_usize()) else { continue };
        let left = word.open_left || !continues(text, bytes, found.start(), Side::Before);
        if !left {
            continue;
        }
        let mut end = found.end();
        if word.open_right {
            // An inflected word is covered to its end.
            end += bytes.iter().skip(end).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        } else if continues(text, bytes, end, Side::After) {
            continue;
        }
        let at = folded.raw(&(found.start()..end));
        if word.classes != 0 {
            marks.push(Mark { at: at.clone(), classes: word.classes });
        }
        if word.concepts != 0 {
            hits.push(Hit { at, concepts: word.concepts });
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// Says whether a word goes on over a boundary.
fn continues(text: &str, bytes: &[u8], at: usize, side: Side) -> bool {
    let near = match side {
        Side::Before => at.checked_sub(1).and_then(|at| bytes.get(at)),
        Side::After => bytes.get(at),
    };
    match near {
        None => false,
        Some(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric() || *byte == b'_',
        Some(_) => {
            let c = match side {
                Side::Before => text.get(..at).and_then(|text| text.chars().next_back()),
                Side::After => text.get(at..).and_then(|text| text.chars().next()),
            };
            c.is_some_and(char::is_alphanumeric)
        }
    }
}

/// Finds names, quoted texts, addresses and role turns.
fn shapes(raw: &str, names: Names<'_>, hits: &mut Vec<Hit>, marks: &mut Vec<Mark>) {
    let bytes = raw.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
    let mut at = 0;
    let mut ended = true;
    while at < bytes.len() {
        let start = at;
        match byte(at) {
            quote @ (b'`' | b'\'' | b'"') if at == 0 || !byte(at - 1).is_ascii_alphanumeric() => {
                at = quoted(raw, at, quote, names, hits);
            }
            0xe2 if raw.get(at..).is_some_and(|rest| rest.starts_with(['‘', '“'])) => {
                let close = raw.get(at + 3..).and_then(|rest| rest.find(['’', '”']));
                if let Some(close) = close.filter(|close| *close < 300) {
                    push_quoted(at..at + close + 6, raw.get(at + 3..at + 3 + close), names, hits);
                }
                at += 3;
            }
            first if first.is_ascii_alphanumeric() => {
                while matches!(byte(at), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-') {
                    at += 1;
                }
                let word = raw.get(start..at).unwrap_or_default();
                bare(word, raw, start..at, names, hits);
                marks.extend(clause::shape_at(raw, &(start..at)));
                if byte(at) == b':' && is_turn(word, ended, raw, start) {
                    hits.push(Hit { at: start..at + 1, concepts: concept::TURN });
                }
                ended = false;
                continue;
            }
            b'.' | b'!' | b'?' | b'\n' => ended = true,
            b'<' if raw.get(at..).is_some_and(|rest| rest.starts_with("<!--")) => {
                hits.extend(comment(raw, at).map(|at| Hit { at, concepts: concept::UNSEEN }));
            }
            _ => {}
        }
        // Shapes begin with ASCII or with the quotes above, and bytes inside a longer character match none of them.
        at = at.max(start + 1);
    }
}

/// Returns the place of a comment that says something; `<!-- -->` only speaks of comments.
fn comment(raw: &str, open: usize) -> Option<Range<usize>> {
    let inside = raw.get(open + 4..)?;
    let len = inside.find("-->").unwrap_or(inside.len());
    let says = inside.get(..len)?.chars().filter(|c| c.is_alphanumeric()).count();
    (says > 3).then_some(open..open + 4 + len)
}

fn quoted(raw: &str, open: usize, quote: u8, names: Names<'_>, hits: &mut Vec<Hit>) -> usize {
    let bytes = raw.as_bytes();
    let inside = open + 1;
    let mut at = inside;
    while at < bytes.len() && at < inside + 300 {
        if bytes.get(at) == Some(&quote)
            && !bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphanumeric() && quote == b'\'')
        {
            push_quoted(open..at + 1, raw.get(inside..at), names, hits);
            // What is inside may hold names of its own, unless it is one.
            let plain = raw.get(inside..at).is_some_and(|text| text.bytes().all(is_name_byte));
            return if plain { at + 1 } else { inside };
        }
        at += 1;
    }
    inside
}

fn push_quoted(at: Range<usize>, inside: Option<&str>, names: Names<'_>, hits: &mut Vec<Hit>) {
    let inside = inside.unwrap_or_default();
    let named = (2..=64).contains(&inside.len())
        && inside.bytes().all(is_name_byte)
        && inside.bytes().any(|byte| byte.is_ascii_alphabetic());
    let concepts = if inside == names.own {
        concept::SELF
    } else if names.parameters.contains(&inside) {
        concept::OWN_FIELD
    } else if named {
        concept::NAMED | concept::LITERAL
    } else if inside.len() >= 8 && inside.contains(' ') {
        concept::LITERAL | concept::PAYLOAD
    } else if inside.len() >= 2 || matches!(inside, "*" | "%") {
        concept::LITERAL
    } else {
        return;
    };
    hits.push(Hit { at, concepts });
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':')
}

fn bare(word: &str, raw: &str, at: Range<usize>, names: Names<'_>, hits: &mut Vec<Hit>) {
    let next = raw.as_bytes().get(at.end);
    match next {
        Some(b'=') => {
            let rest = raw.as_bytes().get(at.end + 1);
            if rest.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'"' | b'\'' | b'*')) {
                hits.push(Hit { at: at.clone(), concepts: concept::ASSIGN });
            }
        }
        Some(b':') if word.starts_with("http") || matches!(word, "s3" | "gs" | "ftp") => {
            let rest = raw.get(at.end..).unwrap_or_default();
            if rest.starts_with("://") {
                hits.push(Hit { at: at.start..at.end + address_end(rest), concepts: concept::URL });
                return;
            }
        }
        Some(b'@') => {
            let rest = raw.get(at.end..).unwrap_or_default();
            let end = address_end(rest);
            if rest.get(1..end).is_some_and(|host| host.contains('.')) {
                hits.push(Hit { at: at.start..at.end + end, concepts: concept::MAIL });
                return;
            }
        }
        _ => {}
    }
    if word.len() > 2 && word == names.own {
        hits.push(Hit { at, concepts: concept::SELF });
        return;
    }
    let (mut hyphens, mut snake, mut camel, mut previous) = (0, false, false, b'-');
    for byte in word.bytes() {
        match byte {
            b'-' => hyphens += 1,
            b'_' => {}
            // A word begins with a letter or digit, so an underscore before another one stands between two.
            _ if previous == b'_' => snake = true,
            b'A'..=b'Z' if previous.is_ascii_lowercase() => camel = true,
            _ => {}
        }
        previous = byte;
    }
    camel &= word.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    if hyphens == 0 && !snake && !camel {
        if word.len() > 5 && word.ends_with("ing") {
            hits.push(Hit { at, concepts: concept::USING });
        }
        return;
    }
    let followed = || raw.get(at.end..).is_some_and(|rest| rest.starts_with(" tool"));
    if (snake || camel || hyphens > 1 || followed()) && !names.parameters.contains(&word) {
        hits.push(Hit { at, concepts: concept::NAMED });
    }
}

/// Returns where an address ends.
fn address_end(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '`')).unwrap_or(text.len())
}

/// Says whether a word with a colon opens a turn of a conversation.
fn is_turn(word: &str, ended: bool, raw: &str, start: usize) -> bool {
    let before = raw.get(..start).unwrap_or_default().trim_end_matches([' ', '\t', '#', '*', '>']);
    let line_start = before.is_empty() || before.ends_with("\n\n") || before.ends_with("\r\n\r\n");
    match word {
        "SYSTEM" | "ASSISTANT" | "HUMAN" | "DEVELOPER" => ended || line_start,
        // The turn of a user comes before it, or a sentence of the description.
        "Assistant" if before.ends_with('\n') => before.contains("User:") || before.contains("Human:"),
        "Human" if ended => true,
        "Human" | "Assistant" | "System" => {
            line_start
                && !raw.get(start..).is_some_and(|rest| rest.starts_with("System") && before.is_empty())
        }
        _ => false,
    }
}

/// Cuts a text into sentences.
pub(crate) fn sentences(raw: &str) -> Vec<Range<usize>> {
    let bytes = raw.as_bytes();
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut end_at = |end: usize, start: &mut usize| {
        if end > *start {
            sentences.push(*start..end);
            *start = end;
        }
    };
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'.' | b'!' | b'?'
                if bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace) && !abbreviated(bytes, at) =>
            {
                end_at(at + 1, &mut start);
            }
            b'\n' if begins_item(bytes, at + 1) => end_at(at + 1, &mut start),
            // The last byte of 。 is 0x82 after 0xe3 0x80.
            0x82 if at >= 2 && bytes.get(at - 2..at) == Some(&[0xe3, 0x80]) => end_at(at + 1, &mut start),
            _ => {}
        }
    }
    end_at(bytes.len(), &mut start);
    sentences
}

/// Says whether a line is empty or begins an item of a list or a heading.
fn begins_item(bytes: &[u8], at: usize) -> bool {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
    let mark = bytes.iter().skip(at).find(|byte| !blank(byte)).copied().unwrap_or(b'\n');
    matches!(mark, b'\n' | b'-' | b'*' | b'#' | b'0'..=b'9')
}

/// Says whether a full stop belongs to "e.g." or "i.e.".
fn abbreviated(bytes: &[u8], at: usize) -> bool {
    let tail = bytes.get(at.saturating_sub(3)..at).unwrap_or_default();
    tail.eq_ignore_ascii_case(b"e.g") || tail.eq_ignore_ascii_case(b"i.e")
}
