//! The codes that somebody may have meant.

use super::{Explained, all};

/// How many are named.
const MOST: usize = 3;

/// Returns the codes that are nearest to a text, nearest first: those that hold it, then those that a few letters make of it.
pub fn nearest(text: &str) -> Vec<Explained> {
    let wanted = text.to_ascii_lowercase();
    let near = |one: Explained| {
        let code = one.code.to_ascii_lowercase();
        let distance = distance(&wanted, &code);
        let holds = wanted.len() >= 3 && (code.contains(&wanted) || wanted.contains(&code));
        let is_near = distance <= code.chars().count() / 3;
        (holds || is_near).then_some((!holds, distance, one))
    };
    let mut found: Vec<_> = all().into_iter().filter_map(near).collect();
    found.sort_by_key(|(is_other, distance, one)| (*is_other, *distance, one.code));
    found.into_iter().take(MOST).map(|(_, _, one)| one).collect()
}

/// Returns how many letters must be put in, taken out or replaced to make one text of another.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    // Whoever asks about a text of any length waits for no more than this.
    for (number, letter) in one.chars().take(80).enumerate() {
        let mut next = vec![number + 1];
        let mut left = number + 1;
        for ((above, upper_left), own) in row.iter().skip(1).zip(&row).zip(&other) {
            let replaced = upper_left + usize::from(*own != letter);
            left = replaced.min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        #[rustfmt::skip]
        let cases = [
            // written              nearest
            ("HOST_NOT_ALOWED",     Some("HOST_NOT_ALLOWED")),
            ("host",                Some("HOST_NOT_FOUND")),
            ("tool.exec.widend",    Some("tool.exec.widened")),
            ("lint.opaqe",          Some("lint.opaque")),
            ("check.netwrk",        Some("check.network")),
            ("zzzzzzzzzzzzzzzzzzz", None),
            ("",                    None),
        ];
        for (written, wanted) in cases {
            assert_eq!(nearest(written).first().map(|one| one.code), wanted, "{written}");
        }
        assert!(nearest("tool").len() <= MOST);
    }

    #[test]
    fn counts_letters() {
        for (one, other, wanted) in
            [("", "abc", 3), ("abc", "abc", 0), ("abc", "axc", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(one, other), wanted, "{one} {other}");
        }
    }
}
