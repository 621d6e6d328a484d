//! Tokens of Discord bots: the number of a user in base64, a time, and a signature, with stops between them.
//!
//! They have no prefix and their parts are short, so they are told by the number, which is one.

use memchr::memchr_iter;

use super::rule::DASHED;
use super::value::made_up;
use super::{Found, VENDOR, decode};

/// How long the signature of an older token is; that of a newer one is long enough for a run.
const SIGNATURE: std::ops::Range<usize> = 27..32;

/// Finds the older tokens.
pub(super) fn tokens(text: &str, found: &mut Vec<Found>) {
    for stop in memchr_iter(b'.', text.as_bytes()) {
        found.extend(token(text, stop));
    }
}

/// Reads a token around its first stop.
fn token(text: &str, stop: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let dashed = |byte: &&u8| (DASHED.has)(**byte);
    // Most stops have no second one as near, so the rest is read for hardly any.
    let time = (5..=7).find(|length| bytes.get(stop + 1 + length) == Some(&b'.'))?;
    let begin = stop + 1 + time + 1;
    let length = bytes.get(begin..)?.iter().take(SIGNATURE.end).take_while(dashed).count();
    let number = bytes.get(..stop)?.iter().rev().take(40).take_while(dashed).count();
    if !SIGNATURE.contains(&length) || !(20..=28).contains(&number) {
        return None;
    }
    let user = decode::decoded(text.get(stop - number..stop)?)?;
    let is_number = (15..=20).contains(&user.len()) && user.iter().all(u8::is_ascii_digit);
    (is_number
        && bytes.get(stop + 1..begin - 1)?.iter().all(|byte| (DASHED.has)(*byte))
        && !made_up(text.get(begin..begin + length)?))
    .then_some(Found { span: stop - number..begin + length, label: "discord-token", rank: VENDOR })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_by_the_number() {
        // In parts, so that no scanner of this repository trips over one.
        let signature = ["ZnCjm1XVW7v", "Rze4b7Cq4se7kKWs"].concat();
        #[rustfmt::skip]
        let cases = [
            ("MTk4NjIyNDgzNDcxOTI1MjQ4", "Cl2FMQ",  signature.as_str(),            true),
            ("MTk4NjIyNDgzNDcxOTI1MjQ4", "Cl2F.Q",  signature.as_str(),            false),
            ("MTk4NjIyNDgzNDcxOTI1MjQ4", "Cl2FMQ",  "ZnCjm1XVW7vRze4b7Cq4",        false),
            ("aGVsbG8gd29ybGQgaGVsbG8h", "Cl2FMQ",  signature.as_str(),            false),
            ("MTk4NjIyNDgz",             "Cl2FMQ",  signature.as_str(),            false),
            ("MTk4NjIyNDgzNDcxOTI1MjQ4", "Cl2FMQ",  "xxxxxxxxxxxxxxxxxxxxxxxxxxx", false),
        ];
        for (number, time, signature, is_token) in cases {
            for (before, after) in [("", ""), ("token ", " is mine"), ("(", ")."), ("\"", "\"")] {
                let token = format!("{number}.{time}.{signature}");
                let mut found = Vec::new();
                tokens(&format!("{before}{token}{after}"), &mut found);
                let spans: Vec<_> = found.into_iter().map(|one| one.span).collect();
                let whole = before.len()..before.len() + token.len();
                assert_eq!(spans, if is_token { vec![whole] } else { vec![] }, "{token}");
            }
        }
    }
}
