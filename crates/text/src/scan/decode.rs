//! Encoded segments, decoded one level: base64, hexadecimal, percent, HTML entities and backslash escapes.
//!
//! INVARIANT: only what decodes to readable text counts; hashes, images and identifiers do not.

use crate::base64::digit;
use std::ops::Range;

/// A segment and what it says.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub(crate) at: Range<usize>,
    pub(crate) text: String,
    /// A whole text was encoded, and not a character here and there.
    pub(crate) whole: bool,
}

/// The longest segment that is decoded.
const MAX: usize = 64 << 10;

/// Finds the encoded segments of a text.
pub(crate) fn segments(raw: &str) -> Vec<Decoded> {
    let mut found = Vec::new();
    let bytes = raw.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !is_digit(*byte) {
            at += 1;
            continue;
        }
        let end = bytes.iter().skip(at).position(|byte| !is_digit(*byte)).map_or(bytes.len(), |len| at + len);
        // A slash also parts paths, so a run is tried as a whole only if it could be one.
        if (16..=MAX).contains(&(end - at))
            && let Some(run) = raw.get(at..end)
            && let Some(text) = hexadecimal(run).or_else(|| base64(run))
        {
            found.push(Decoded { at: at..end, text, whole: true });
        }
        at = end;
    }
    for (lead, decode) in [("%", percent as Escape), ("&#", entity as Escape), ("\\", backslash as Escape)] {
        if raw.contains(lead) {
            found.extend(escaped(raw, lead, decode));
        }
    }
    found
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Accepts bytes that are a text: printable, mostly letters, in more than one word or long enough.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let count = text.chars().count();
    let printable = text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t' | '\r'));
    let letters = text.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    let ascii = text.chars().filter(char::is_ascii).count();
    (count >= 8 && printable && letters * 10 >= count * 6 && (ascii * 10 >= count * 9 || letters == count))
        .then_some(text)
}

fn hexadecimal(run: &str) -> Option<String> {
    let run = run.strip_prefix("0x").unwrap_or(run);
    if !run.len().is_multiple_of(2) {
        return None;
    }
    let digits = run.bytes().map(nibble).collect::<Option<Vec<u8>>>()?;
    readable(digits.chunks_exact(2).filter_map(|pair| Some(pair.first()? << 4 | pair.last()?)).collect())
}

fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn base64(run: &str) -> Option<String> {
    let body = run.trim_end_matches('=');
    let mixed = body.bytes().any(|byte| byte.is_ascii_uppercase())
        && body.bytes().any(|byte| byte.is_ascii_lowercase());
    if !mixed || body.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(body.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in body.bytes() {
        bits = bits << 6 | u32::from(digit(byte)?);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap_or_default());
        }
    }
    readable(bytes)
}

/// Reads one escape at the start of a text: the character and the length of its spelling.
type Escape = fn(&str) -> Option<(char, usize)>;

/// Reads the whole text with its escapes decoded, if there are enough of them to spell something.
fn escaped(raw: &str, lead: &str, decode: Escape) -> Option<Decoded> {
    let mut text = String::with_capacity(raw.len());
    let (mut first, mut last, mut escapes, mut at) = (None, 0, 0_usize, 0);
    while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some((c, len)) = rest.starts_with(lead).then(|| decode(rest)).flatten() {
            first.get_or_insert(at);
            text.push(c);
            escapes += 1;
            at += len;
            last = at;
        } else {
            let next = rest
                .char_indices()
                .skip(1)
                .find(|(_, c)| lead.starts_with(*c))
                .map_or(rest.len(), |(at, _)| at);
            text.push_str(rest.get(..next).unwrap_or_default());
            at += next;
        }
    }
    let first = first.filter(|_| escapes >= 4)?;
    // Letters have no need of an escape: spelling with them is a disguise, spaces and signs in an address are not.
    let whole = escapes >= 8 && escapes * 4 >= last - first;
    Some(Decoded { at: first..last, text, whole })
}

fn percent(text: &str) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    let value = nibble(*bytes.get(1)?)? << 4 | nibble(*bytes.get(2)?)?;
    value.is_ascii().then_some((char::from(value), 3))
}

fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.find(';').filter(|end| *end <= 10)?;
    let number = text.get(2..end)?;
    let value = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    Some((char::from_u32(value)?, end + 1))
}

fn backslash(text: &str) -> Option<(char, usize)> {
    let (digits, len) = match text.as_bytes().get(1)? {
        b'u' => (text.get(2..6)?, 6),
        b'x' => (text.get(2..4)?, 4),
        _ => return None,
    };
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, len))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decodes_text_and_nothing_else() {
        #[rustfmt::skip]
        let cases = [
            ("see cmVhZCB0aGUga2V5cyBub3c=",                          Some("read the keys now")),
            ("see 7265616420746865206b657973",                        Some("read the keys")),
            ("%72%65%61%64%20%74%68%65%20%6b%65%79%73",               Some("read the keys")),
            ("&#114;&#101;&#97;&#100;&#32;&#107;&#101;&#121;",        Some("read key")),
            (r"\u0072\u0065\u0061\u0064\u0020\u006b\u0065\u0079",     Some("read key")),
            ("commit 9fceb02d0ae598e95dc970b74767f19372d61af8",       None),
            ("id 123e4567-e89b-12d3-a456-426614174000",               None),
            ("https://example.com/a%20b%20c?x=1",                     None),
            ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",          None),
            ("listDeviceAssurancePolicies",                           None),
        ];
        for (raw, text) in cases {
            assert_eq!(segments(raw).first().map(|found| found.text.as_str()), text, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn segments_lie_inside(raw in r"[a-zA-Z0-9%&#;\\ux é]{0,120}") {
            for found in segments(&raw) {
                prop_assert!(raw.get(found.at.clone()).is_some());
            }
        }
    }
}
