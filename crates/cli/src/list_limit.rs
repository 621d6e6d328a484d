//! Lists that were cut: how many there are in all, and how to see them.
//!
//! INVARIANT: no list ends at its limit without a word on the error stream.

use std::io::Write as _;

/// How many are counted beyond what is shown. More are said to be more.
pub(crate) const COUNTED: usize = 10_000;

/// Says on the error stream that a list was cut; `total` is how many were counted, up to one more than [`COUNTED`].
pub(crate) fn report_cut(shown: usize, total: usize) {
    if let Some(message) = describe_cut(shown, total) {
        let _told = writeln!(crate::print::errors(), "{message}");
    }
}

fn describe_cut(shown: usize, total: usize) -> Option<String> {
    match total {
        _ if total <= shown => None,
        _ if total > COUNTED => Some(format!("showing {shown} of more than {COUNTED}: use --limit")),
        _ => Some(format!("showing {shown} of {total}: use --limit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_list_says_how_many_there_are() {
        #[rustfmt::skip]
        let cases = [
            // shown  total   said
            (100,     100,    None),
            (0,       0,      None),
            (100,     101,    Some("showing 100 of 101: use --limit")),
            (5,       10_000, Some("showing 5 of 10000: use --limit")),
            (5,       10_001, Some("showing 5 of more than 10000: use --limit")),
        ];
        for (shown, total, said) in cases {
            assert_eq!(describe_cut(shown, total).as_deref(), said);
        }
    }
}
