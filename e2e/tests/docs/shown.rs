//! What a page shows, beside what was printed.
//!
//! Spaces and ends of lines count as one space, so that a page may wrap what is long. `…` stands for anything, also for nothing, with
//! the spaces around it. A time stands for any time, and a word that is captured for any word.

use std::collections::BTreeMap;

/// A part of what is shown.
#[derive(Debug)]
enum Piece {
    Any,
    Capture(String),
    Text(String),
    Time,
}

/// Compares; returns what stands in place of each word that is captured.
pub(crate) fn compare(
    shown: &str,
    printed: &str,
    whole: bool,
    captures: &[String],
) -> Result<BTreeMap<String, String>, String> {
    let mut pieces = pieces(&flat(shown), captures);
    if !whole {
        pieces.insert(0, Piece::Any);
        pieces.push(Piece::Any);
    }
    let mut found = BTreeMap::new();
    if is_like(&pieces, &flat(printed), &mut found) {
        return Ok(found);
    }
    Err(format!("the page shows\n{}\nand this was printed\n{}", indented(shown), indented(printed)))
}

/// Tells whether the lines are printed in this order, with others between them. Lines with `…` or a prompt do not count.
pub(crate) fn in_order(shown: &str, printed: &str) -> Result<(), String> {
    let mut rest = printed.lines().map(flat);
    let counts = |line: &&str| !line.trim().is_empty() && !line.starts_with("$ ") && line.trim() != "…";
    for line in shown.lines().filter(counts) {
        if !rest.any(|one| one == flat(line)) {
            return Err(format!(
                "the page shows the line\n    {line}\nand this was printed\n{}",
                indented(printed)
            ));
        }
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn pieces(shown: &str, captures: &[String]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut rest, mut text) = (shown, String::new());
    while let Some(letter) = rest.chars().next() {
        let captured = captures.iter().find(|word| rest.starts_with(word.as_str()));
        let (piece, length) = if letter == '…' {
            (Some(Piece::Any), letter.len_utf8())
        } else if let Some(word) = captured {
            (Some(Piece::Capture(word.clone())), word.len())
        } else if is_time(rest) {
            (Some(Piece::Time), TIME.len())
        } else {
            (None, letter.len_utf8())
        };
        let (taken, mut left) = rest.split_at(length);
        match piece {
            None => text.push_str(taken),
            Some(piece) => {
                if let Piece::Any = piece {
                    text.truncate(text.trim_end().len());
                    left = left.trim_start();
                }
                pieces.extend((!text.is_empty()).then(|| Piece::Text(std::mem::take(&mut text))));
                pieces.push(piece);
            }
        }
        rest = left;
    }
    pieces.extend((!text.is_empty()).then_some(Piece::Text(text)));
    pieces
}

const TIME: &str = "0000-00-00T00:00:00Z";

/// Whether a time in UTC stands at the beginning.
fn is_time(text: &str) -> bool {
    let like =
        |(letter, form): (char, char)| if form == '0' { letter.is_ascii_digit() } else { letter == form };
    text.chars().count() >= TIME.len() && text.chars().zip(TIME.chars()).all(like)
}

fn is_like(pieces: &[Piece], text: &str, found: &mut BTreeMap<String, String>) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return text.is_empty() };
    match piece {
        Piece::Text(wanted) => {
            text.strip_prefix(wanted.as_str()).is_some_and(|left| is_like(rest, left, found))
        }
        Piece::Time => is_time(text) && text.get(TIME.len()..).is_some_and(|left| is_like(rest, left, found)),
        Piece::Any => {
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.into_iter().any(|at| text.get(at..).is_some_and(|left| is_like(rest, left, found)))
        }
        Piece::Capture(word) => {
            let ends = |letter: char| {
                letter.is_whitespace() || ("`\"',;:)".contains(letter) && !word.contains(letter))
            };
            let end = text.find(ends).unwrap_or(text.len());
            let (value, left) = text.split_at(end);
            let fits = !value.is_empty() && found.get(word).is_none_or(|known| known == value);
            // A word that was taken for another one is given back.
            let before = found.get(word).cloned();
            if fits {
                found.insert(word.clone(), value.to_owned());
                if is_like(rest, left, found) {
                    return true;
                }
            }
            match before {
                Some(known) => found.insert(word.clone(), known),
                None => found.remove(word),
            };
            false
        }
    }
}

#[test]
fn what_is_shown_is_compared() {
    #[rustfmt::skip]
    let cases = [
        // shown                            printed                              alike
        ("a b",                             "a\n   b\n",                         true),
        ("a b",                             "a b c",                             false),
        ("a … c",                           "a b b c",                           true),
        ("a …",                             "a b",                               true),
        ("… b",                             "b",                                 true),
        ("a … c",                           "a b",                               false),
        ("at 2026-01-01T00:00:00Z, done",   "at 2030-12-31T23:59:59Z, done",     true),
        ("at 2026-01-01T00:00:00Z, done",   "at noon, done",                     false),
        ("ID: show ID `ID`",                "x1: show x1 `x1`",                  true),
        ("ID: show ID `ID`",                "x1: show x2 `x1`",                  false),
        ("",                                "",                                  true),
    ];
    for (shown, printed, alike) in cases {
        assert_eq!(compare(shown, printed, true, &["ID".to_owned()]).is_ok(), alike, "{shown} ~ {printed}");
    }
    assert!(compare("b", "a b c", false, &[]).is_ok());
    assert!(in_order("$ ls\n\nb  1\nd\n…\n", "a\nb 1\nc\nd\n").is_ok());
    assert!(in_order("d\nb\n", "a\nb\nc\nd\n").is_err());
    let found = compare("… show ID", "go on with show 5f0c", true, &["ID".to_owned()]).unwrap();
    assert_eq!(found.get("ID").map(String::as_str), Some("5f0c"));
}
