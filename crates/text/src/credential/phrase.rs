//! Seed phrases: twelve or more plain words that open a wallet.

use super::{CONTEXT, Found};

/// Finds the words after an announcement.
pub(super) fn phrase(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?;
    let mark = rest.bytes().take(40).position(|byte| matches!(byte, b':' | b'=' | b'\n'))?;
    let body = rest.get(mark + 1..)?;
    let skipped = body.bytes().take_while(|byte| !byte.is_ascii_lowercase() && *byte < 0x80).count();
    if skipped > 8 {
        return None;
    }
    let body = body.get(skipped..)?;
    let start = at + mark + 1 + skipped;
    let mut words = 0;
    let mut end = 0;
    let mut position = 0;
    for word in body.split([' ', ',', '\n']) {
        if (3..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            words += 1;
            end = position + word.len();
        } else if !word.is_empty() {
            // The last word may end a sentence or a string.
            let bare = word.trim_end_matches(['.', '"', '\'', '`', ';', '}', ')']);
            if (3..=8).contains(&bare.len()) && bare.bytes().all(|byte| byte.is_ascii_lowercase()) {
                words += 1;
                end = position + bare.len();
            }
            break;
        }
        position += word.len() + 1;
        if words == 24 {
            break;
        }
    }
    // Prose has short words all the time; phrases have none of these.
    let phrase = body.get(..end)?;
    let prose = phrase
        .split(' ')
        .any(|word| matches!(word, "the" | "and" | "for" | "with" | "are" | "from" | "your" | "must"));
    (words >= 12 && words % 3 == 0 && !prose).then(|| Found {
        span: start..start + end,
        label: "seed-phrase",
        rank: CONTEXT,
    })
}
