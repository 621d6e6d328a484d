//! Hashes of subresource integrity (`sha384-…`): what a page or a lock file says of a file, which opens nothing.

use std::ops::Range;

/// The names of the functions, and how long their hashes are in base64, with the padding.
const FUNCTIONS: [(&str, usize, usize); 4] =
    [("sha1-", 28, 1), ("sha256-", 44, 1), ("sha384-", 64, 0), ("sha512-", 88, 2)];

/// Tells whether a value is one such hash, or several with blanks between them, and nothing else.
pub(super) fn is_hash(value: &str) -> bool {
    let mut all = value.split_ascii_whitespace().peekable();
    all.peek().is_some() && all.all(is_one)
}

fn is_one(value: &str) -> bool {
    FUNCTIONS.iter().any(|(name, length, padding)| {
        let Some(body) = value.strip_prefix(name).filter(|body| body.len() == *length) else { return false };
        let digits = body.trim_end_matches('=');
        body.len() - digits.len() == *padding && digits.bytes().all(is_digit)
    })
}

const fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// Tells whether a span lies in such a hash, or is nothing but such hashes.
pub(super) fn holds(text: &str, span: &Range<usize>) -> bool {
    let Some(value) = text.get(span.clone()) else { return false };
    if is_hash(value) {
        return true;
    }
    let belongs = |byte: &u8| is_digit(*byte) || matches!(byte, b'-' | b'=');
    let bytes = text.as_bytes();
    let before = bytes.get(..span.start).unwrap_or_default().iter().rev().take_while(|byte| belongs(byte));
    let after = bytes.get(span.end..).unwrap_or_default().iter().take_while(|byte| belongs(byte));
    // `integrity=sha384-…`: the sign before the hash is not of it.
    let whole = text.get(span.start - before.count()..span.end + after.count()).unwrap_or_default();
    let start = FUNCTIONS.iter().filter_map(|(name, ..)| whole.find(name)).min();
    start.and_then(|start| whole.get(start..)).is_some_and(is_one)
}
