//! Long runs of the characters that tokens are made of: encoded text, and formats whose mark is their shape.
//!
//! A run of [`LEAST`] bytes fills at least one of the blocks of half that length, so whole blocks are tested, many
//! bytes at once, and only around a full one is the run measured.

use std::ops::Range;

use super::rule::{DASHED, HEX};
use super::value::made_up;
use super::{Depth, Found, VENDOR, decode};

const LEAST: usize = 32;
const BLOCK: usize = LEAST / 2;

/// Finds credentials by the shape of a run.
pub(super) fn runs(text: &str, depth: Depth, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut done = 0;
    for (index, block) in bytes.as_chunks::<BLOCK>().0.iter().enumerate() {
        let at = index * BLOCK;
        // Without a branch or a checked sum for each byte, so that a block is tested at once.
        let is_full = block.iter().fold(true, |all, byte| all & member(*byte));
        if !is_full || at < done {
            continue;
        }
        // Most full blocks of ordinary text are parts of identifiers.
        let digits = block.iter().fold(0_u8, |count, byte| count + u8::from(byte.is_ascii_hexdigit()));
        let dashes = block.iter().fold(0_u8, |count, byte| count + u8::from(*byte == b'-'));
        if dashes > 0 && usize::from(digits + dashes) == BLOCK {
            continue;
        }
        let before =
            bytes.get(..at).unwrap_or_default().iter().rev().take_while(|byte| listed(**byte)).count();
        let after = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| listed(**byte)).count();
        let run = at - before..at + after;
        done = run.end;
        if run.len() >= LEAST && !is_uuid(bytes.get(run.clone()).unwrap_or_default()) {
            shape(text, &run, found);
            if depth == Depth::Encoded {
                decode::base64(text, &run, found);
            }
        }
    }
}

/// The commonest run of ordinary text.
fn is_uuid(run: &[u8]) -> bool {
    run.len() == 36
        && [8, 13, 18, 23].iter().all(|place| run.get(*place) == Some(&b'-'))
        && run.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

/// A byte of base64, in either alphabet.
#[inline]
const fn member(byte: u8) -> bool {
    ((byte | 0x20).wrapping_sub(b'a') < 26)
        | (byte.wrapping_sub(b'0') < 10)
        | (byte == b'+')
        | (byte == b'/')
        | (byte == b'_')
        | (byte == b'-')
}

/// The same from a table, for bytes one by one.
#[expect(clippy::indexing_slicing, reason = "a byte is within 256")]
fn listed(byte: u8) -> bool {
    const LIST: [bool; 256] = {
        let mut list = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            list[byte] = member(byte as u8);
            byte += 1;
        }
        list
    };
    LIST[usize::from(byte)]
}

/// Formats without a prefix that can be searched for.
fn shape(text: &str, run: &Range<usize>, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let Some(word) = text.get(run.clone()) else { return };
    let before = bytes.get(..run.start).unwrap_or_default();
    // Digits, a colon, and `A` with 33 or more.
    if word.starts_with('A')
        && word.len() >= 33
        && before.last() == Some(&b':')
        && word.bytes().all(DASHED.has)
    {
        let digits = before.iter().rev().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
        if (6..=16).contains(&digits) && !made_up(word) {
            found.push(Found {
                span: run.start - digits - 1..run.end,
                label: "telegram-token",
                rank: VENDOR,
            });
        }
    }
    // The number of a user in base64, a time, and this: a signature.
    if before.last() == Some(&b'.') && word.bytes().all(DASHED.has) {
        let dashed = |from: &[u8]| from.iter().rev().take(40).take_while(|byte| (DASHED.has)(**byte)).count();
        let rest = before.get(..run.start - 1).unwrap_or_default();
        let time = dashed(rest);
        let rest = rest.get(..rest.len() - time).unwrap_or_default();
        let number = dashed(rest.get(..rest.len().saturating_sub(1)).unwrap_or_default());
        let start = rest.len().saturating_sub(1) - number;
        if (5..=7).contains(&time)
            && rest.last() == Some(&b'.')
            && (23..=30).contains(&number)
            && matches!(bytes.get(start), Some(b'M' | b'N' | b'O'))
        {
            found.push(Found { span: start..run.end, label: "discord-token", rank: VENDOR });
        }
    }
    // Two marks that a run seldom has; without one there is no need to cut it up.
    if !word.as_bytes().windows(2).any(|pair| pair == b"SK" || pair == b"11") {
        return;
    }
    let mut at = run.start;
    for part in word.as_bytes().split(|byte| matches!(byte, b'/' | b'_' | b'-' | b'+')) {
        let span = at..at + part.len();
        at = span.end + 1;
        // A path or an option is cut where no token has a sign.
        let [first, second, rest @ ..] = part else { continue };
        if part.len() != 34
            || !rest.iter().all(|byte| (HEX.has)(*byte))
            || !rest.iter().any(u8::is_ascii_digit)
        {
            continue;
        }
        let letters = rest.iter().any(u8::is_ascii_alphabetic);
        match (first, second) {
            (b'S', b'K') if text.get(span.start + 2..span.end).is_some_and(|rest| !made_up(rest)) => {
                found.push(Found { span, label: "twilio-key", rank: VENDOR });
            }
            (b'1', b'1') if letters => found.push(Found { span, label: "jenkins-token", rank: VENDOR }),
            _ => {}
        }
    }
}
