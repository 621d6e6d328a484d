//! Marks that are found by their shape: accounts, numbers, hosts and variables.

use std::ops::Range;

use super::Mark;
use super::class::{ACCOUNT, Classes, OUTSIDE, SECRET};

/// Returns a mark if a word is, or begins, a phone number, an account, a wallet, a handle, a host or a secret variable.
///
/// Asked for each word, so it says no at the first look to those that are only letters.
pub(crate) fn shape_at(raw: &str, at: &Range<usize>) -> Option<Mark> {
    let bytes = raw.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
    let before = |at: usize| at.checked_sub(1).map_or(b' ', byte);
    let (first, previous) = (byte(at.start), before(at.start));
    let is_open = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'(' | b'"' | b'\'' | b'`' | b'<');
    let is_led = matches!(previous, b'+' | b'@') && is_open(before(at.start - 1));
    let is_dotted = byte(at.end) == b'.' && byte(at.end + 1).is_ascii_alphanumeric();
    let is_odd = first.is_ascii_digit() && at.len() >= 8
        || first.is_ascii_uppercase() && !byte(at.start + 1).is_ascii_lowercase() && at.len() >= 4
        || is_dotted
        || first == b'b' && raw.get(at.clone())?.starts_with("bc1");
    if !(is_led || is_odd && is_open(previous)) {
        return None;
    }
    let start = at.start - usize::from(is_led);
    let rest = bytes.iter().skip(at.end).take(200);
    let end = at.end + rest.take_while(|byte| !byte.is_ascii_whitespace()).count();
    let word = raw.get(start..end)?;
    let classes = shape(word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '@')));
    (classes != 0).then_some(Mark { at: start..end, classes })
}

fn shape(word: &str) -> Classes {
    let bytes = word.as_bytes();
    let digits = || bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    match bytes {
        [b'+', b'1'..=b'9', ..] => OUTSIDE | ACCOUNT,
        [b'@', rest @ ..]
            if rest.len() > 3 && rest.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') =>
        {
            OUTSIDE | ACCOUNT
        }
        [b'0', b'x', rest @ ..] if rest.len() >= 6 && rest.iter().all(u8::is_ascii_hexdigit) => {
            OUTSIDE | ACCOUNT
        }
        [b'b', b'c', b'1', rest @ ..] if rest.len() >= 6 => OUTSIDE | ACCOUNT,
        [b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9', rest @ ..]
            if rest.iter().all(u8::is_ascii_digit) =>
        {
            OUTSIDE | ACCOUNT
        }
        [b'0'..=b'9', ..]
            if bytes.contains(&b'-') && bytes.len() >= 8 && digits() >= 7 && !is_date(bytes) =>
        {
            OUTSIDE | ACCOUNT
        }
        [b'A'..=b'Z', ..] if bytes.contains(&b'_') && is_secret_variable(word) => SECRET,
        [b'a'..=b'z', ..] if is_host(word) => OUTSIDE,
        _ => 0,
    }
}

fn is_date(bytes: &[u8]) -> bool {
    matches!(bytes, [b'1' | b'2', b'9' | b'0', _, _, b'-', ..])
}

/// Says whether a word is a variable in capitals that holds a secret by its name.
fn is_secret_variable(word: &str) -> bool {
    word.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
        && ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"]
            .iter()
            .any(|part| word.contains(part))
}

/// Says whether a word is the name of a host, and not of a file or a method.
fn is_host(word: &str) -> bool {
    const ENDINGS: [&str; 14] = [
        "com", "net", "org", "io", "example", "dev", "app", "xyz", "site", "online", "cloud", "info", "co",
        "ai",
    ];
    let host = word.split(['/', ':', '?']).next().unwrap_or_default();
    let mut labels = host.rsplit('.');
    labels.next().is_some_and(|last| ENDINGS.contains(&last))
        && labels.next().is_some_and(|label| !label.is_empty())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
}
