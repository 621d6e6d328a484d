//! One level of encoding: what is a credential after base64 or percent decoding is one before it.

use crate::base64::digit;
use std::ops::Range;

use memchr::{memchr_iter, memchr3_iter};

use super::{Depth, Found, find};
use crate::trigger::hits;

/// Decodes a run as base64 and looks into it.
pub(super) fn base64(text: &str, run: &Range<usize>, found: &mut Vec<Found>) {
    let Some(word) = text.get(run.clone()) else { return };
    // An address or a name may stand before it: try after each sign that is none of the alphabet at hand.
    let signs = memchr3_iter(b'/', b'-', b'_', word.as_bytes());
    let starts = std::iter::once(0).chain(signs.map(|index| index + 1)).take(8);
    for start in starts {
        let Some(tail) = word.get(start..).filter(|tail| tail.len() >= 20) else { return };
        // Noise is told from text by its first bytes.
        if !starts_readable(tail.as_bytes()) {
            continue;
        }
        let Some(bytes) = decoded(tail) else { continue };
        if !readable(&bytes) {
            continue;
        }
        let inner = String::from_utf8_lossy(&bytes);
        let labels = find(&inner, &hits(&inner), Depth::Plain);
        if let Some(best) = labels.iter().min_by_key(|one| one.rank) {
            let padding = text
                .as_bytes()
                .get(run.end..)
                .unwrap_or_default()
                .iter()
                .take(2)
                .take_while(|byte| **byte == b'=')
                .count();
            found.push(Found {
                span: run.start + start..run.end + padding,
                label: best.label,
                rank: best.rank,
            });
            return;
        }
    }
}

fn readable(bytes: &[u8]) -> bool {
    let odd = bytes.iter().filter(|byte| !matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')).count();
    odd * 20 <= bytes.len()
}

/// Tells whether the first eight digits stand for six readable bytes.
fn starts_readable(digits: &[u8]) -> bool {
    let mut bits = 0_u64;
    for byte in digits.iter().take(8) {
        let Some(value) = digit(*byte) else { return false };
        bits = bits << 6 | u64::from(value);
    }
    bits.to_be_bytes().iter().skip(2).all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
}

/// Decodes base64 in either alphabet, without its padding.
pub(super) fn decoded(word: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(word.len() * 3 / 4);
    let mut bits = 0_u32;
    let mut count = 0;
    for byte in word.bytes() {
        if byte == b'=' {
            break;
        }
        let value = digit(byte)?;
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xFF) as u8);
        }
    }
    (count != 6).then_some(out)
}

/// Decodes the words that have percent escapes and looks into them.
pub(super) fn percent(text: &str, found: &mut Vec<Found>) {
    const WORD: usize = 4_096;
    let bytes = text.as_bytes();
    let mut done = 0;
    for at in memchr_iter(b'%', bytes) {
        if at < done || escaped(bytes, at).is_none() {
            continue;
        }
        let solid = |byte: &&u8| !byte.is_ascii_whitespace() && !matches!(**byte, b'"' | b'<' | b'>');
        let start =
            at - bytes.get(done..at).unwrap_or_default().iter().rev().take(WORD).take_while(solid).count();
        let end = at + bytes.get(at..).unwrap_or_default().iter().take(WORD).take_while(solid).count();
        done = end;
        // Each byte of the decoded word, and where it came from.
        let (mut word, mut origin) = (Vec::new(), Vec::new());
        let mut next = start;
        while next < end {
            let (byte, length) = match escaped(bytes, next) {
                Some(byte) => (byte, 3),
                None => (bytes.get(next).copied().unwrap_or(b' '), 1),
            };
            word.push(byte);
            origin.push(next);
            next += length;
        }
        origin.push(end);
        let Ok(word) = String::from_utf8(word) else { continue };
        for one in find(&word, &hits(&word), Depth::Plain) {
            if let (Some(start), Some(end)) = (origin.get(one.span.start), origin.get(one.span.end)) {
                found.push(Found { span: *start..*end, ..one });
            }
        }
    }
}

fn escaped(bytes: &[u8], at: usize) -> Option<u8> {
    let [b'%', high, low] = *bytes.get(at..at + 3)? else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}
