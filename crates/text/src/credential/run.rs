//! Long runs of the characters that tokens are made of: encoded text, and formats whose mark is their shape.
//!
//! A run of [`LEAST`] bytes holds at least one of the places that are a multiple of [`LEAST`], so only those are looked
//! at, and ordinary words around them are left after a few steps.

use std::ops::Range;

use super::rule::{DASHED, HEX};
use super::value::{is_uuid, made_up};
use super::{Depth, Found, VENDOR, decode};

const LEAST: usize = 24;

/// Finds credentials by the shape of a run.
pub(super) fn runs(text: &str, depth: Depth, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes.get(at).is_some_and(|byte| member(*byte)) {
            at += LEAST;
            continue;
        }
        let before =
            bytes.get(..at).unwrap_or_default().iter().rev().take_while(|byte| member(**byte)).count();
        let after = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| member(**byte)).count();
        let run = at - before..at + after;
        if run.len() >= LEAST {
            shape(text, &run, found);
            if depth == Depth::Encoded {
                decode::base64(text, &run, found);
            }
            at = run.end;
        }
        at += LEAST;
    }
}

/// A byte of base64, in either alphabet.
const fn member(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'/' | b'_' | b'-')
}

/// Formats without a prefix that can be searched for.
fn shape(text: &str, run: &Range<usize>, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let Some(word) = text.get(run.clone()) else { return };
    let before = bytes.get(..run.start).unwrap_or_default();
    let after = bytes.get(run.end..).unwrap_or_default();
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
    // The number of a user in base64, a time, a signature.
    if word.starts_with(['M', 'N', 'O'])
        && (23..=30).contains(&word.len())
        && word.bytes().all(DASHED.has)
        && after.first() == Some(&b'.')
    {
        let time = after.iter().skip(1).take_while(|byte| (DASHED.has)(**byte)).count();
        let rest = after.get(1 + time..).unwrap_or_default();
        let signature = rest.iter().skip(1).take_while(|byte| (DASHED.has)(**byte)).count();
        if (5..=7).contains(&time) && rest.first() == Some(&b'.') && signature >= 25 {
            found.push(Found {
                span: run.start..run.end + 2 + time + signature,
                label: "discord-token",
                rank: VENDOR,
            });
        }
    }
    for part in parts(text, run) {
        let Some(word) = text.get(part.clone()) else { continue };
        let hex = |word: &str| word.bytes().all(HEX.has) && word.bytes().any(|byte| byte.is_ascii_digit());
        // A path or an option is cut where no token has a sign.
        if word.len() == 34 && word.strip_prefix("SK").is_some_and(|rest| hex(rest) && !made_up(rest)) {
            found.push(Found { span: part, label: "twilio-key", rank: VENDOR });
        } else if word.len() == 34
            && word.strip_prefix("11").is_some_and(hex)
            && !word.bytes().all(|byte| byte.is_ascii_digit())
            && !is_uuid(word)
        {
            found.push(Found { span: part, label: "jenkins-token", rank: VENDOR });
        }
    }
}

/// Splits a run at signs.
fn parts<'a>(text: &'a str, run: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let start = run.start;
    let word = text.get(run.clone()).unwrap_or_default();
    let mut at = start;
    word.split(['/', '_', '-', '+']).map(move |part| {
        let span = at..at + part.len();
        at = span.end + 1;
        span
    })
}
