//! The filter hides nothing that a rule would find, and reading around edits finds what reading all finds.

use proptest::prelude::*;

use super::*;
use crate::credential::value_of;

/// What stands around keywords: edges of all kinds, escapes, letters, and what tokens are made of.
fn piece() -> impl Strategy<Value = String> {
    let words: Vec<&'static str> = RULES
        .iter()
        .map(|rule| rule.prefix)
        .chain(ANNOUNCERS.iter().map(|one| one.word))
        .chain(OTHERS.iter().map(|(word, _)| *word))
        .chain(MARKS.iter().map(|(word, _)| *word))
        .collect();
    prop_oneof![
        4 => prop::sample::select(words).prop_map(str::to_owned),
        2 => "[a-zA-Z0-9]{1,40}",
        1 => "[A-Z2-7]{16,20}",
        1 => "[a-f0-9]{30,66}",
        2 => prop::sample::select(vec!["%20", "\\n", "%2", "\\", " ", "=", "\"", "_", "-", ".", "~", "\n", "\u{e9}", "x"])
            .prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..16).prop_map(|pieces| pieces.concat())
}

fn places(hits: &[Hit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{hit:?}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_rule_is_hidden(text in text()) {
        let hits = hits(&text);
        let bytes = text.as_bytes();
        for at in 0..bytes.len() {
            for (index, rule) in RULES.iter().enumerate() {
                if bytes[at..].starts_with(rule.prefix.as_bytes()) && rule.matches(bytes, at).is_some() {
                    prop_assert!(
                        hits.iter().any(|hit| hit.at == at && matches!(hit.meaning, Meaning::Vendor(one) if one == index)),
                        "{} at {at} of {text:?}", rule.prefix
                    );
                }
            }
        }
    }

    #[test]
    fn no_announcer_is_hidden(text in text()) {
        let hits = hits(&text);
        let bytes = text.as_bytes();
        for at in 0..bytes.len() {
            for (index, one) in ANNOUNCERS.iter().enumerate() {
                // What may follow a short one is narrower than what separates a name from its value.
                let stands = one.word.len() > 3
                    && bytes[at..].get(..one.word.len()).is_some_and(|head| head.eq_ignore_ascii_case(one.word.as_bytes()));
                if stands && value_of(&text, at, one).is_some() {
                    prop_assert!(
                        hits.iter().any(|hit| hit.at == at && matches!(hit.meaning, Meaning::Announce(one) if one == index)),
                        "{} at {at} of {text:?}", one.word
                    );
                }
            }
        }
    }

    #[test]
    fn reading_around_edits_is_reading_all(
        kept in prop::collection::vec(text(), 1..6),
        cut in prop::collection::vec((text(), prop_oneof![Just(String::new()), Just("[redacted: token]".to_owned()), text()]), 5),
    ) {
        let (mut before, mut after, mut pieces) = (String::new(), String::new(), Vec::new());
        for (kept, (old, new)) in kept.iter().zip(&cut) {
            before += kept;
            after += kept;
            pieces.push((before.len()..before.len() + old.len(), after.len()..after.len() + new.len()));
            before += old;
            after += new;
        }
        prop_assert_eq!(places(&read_around(&hits(&before), &pieces, &after)), places(&hits(&after)));
    }
}
