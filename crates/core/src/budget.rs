//! One output budget for several calls, shared by need.
//!
//! Short outputs keep everything; what they leave goes to the long ones in equal parts. The marker of a cut is part
//! of the share, and error texts are budgeted like outputs. Structured output is kept whole.
//!
//! INVARIANT: the texts after [`apply`] are together no longer than the budget.

use std::sync::Arc;

use ringfence_policy::Refusal;

use crate::call::Report;
use crate::outcome::{Failure, Outcome};

/// Cuts the texts of `reports` to `characters` in all.
pub(crate) fn apply(reports: &mut [Report], characters: usize) {
    let texts: Vec<String> = reports.iter().map(|report| text_of(&report.outcome)).collect();
    let needs: Vec<usize> = texts.iter().map(|text| text.chars().count()).collect();
    for ((report, text), (need, share)) in
        reports.iter_mut().zip(&texts).zip(needs.iter().zip(shares(&needs, characters)))
    {
        if *need > share {
            cut(&mut report.outcome, shorten(text, share));
        }
    }
}

fn text_of(outcome: &Outcome) -> String {
    outcome.value().map_or_else(|| outcome.error().unwrap_or_default(), str::to_owned)
}

fn cut(outcome: &mut Outcome, text: String) {
    match outcome {
        Outcome::Done(output) => *output = Arc::new(output.with_text(text)),
        Outcome::Failed(Failure { message, .. }) => *message = text,
        Outcome::Refused(refusal) => {
            // The code stands before the sentence again when the refusal is shown, so where there is no room for
            // it nothing is said; the code itself travels beside the text.
            let prefix = shown_code(refusal);
            refusal.message = text.strip_prefix(&*prefix).unwrap_or_default().to_owned().into();
        }
    }
}

/// What [`Outcome::error`] says before the sentence of a refusal.
fn shown_code(refusal: &Refusal) -> String {
    let whole = Outcome::Refused(refusal.clone()).error().unwrap_or_default();
    whole.strip_suffix(&*refusal.message).unwrap_or_default().to_owned()
}

/// Splits `budget` among `needs`: nobody gets more than their need, and nobody gets less than another who got cut.
pub(crate) fn shares(needs: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&index| needs.get(index));
    let mut shares = vec![0; needs.len()];
    let mut left = budget;
    for (done, &index) in order.iter().enumerate() {
        let equal = left / (needs.len() - done);
        let share = needs.get(index).copied().unwrap_or(0).min(equal);
        left -= share;
        if let Some(slot) = shares.get_mut(index) {
            *slot = share;
        }
    }
    shares
}

/// Keeps the head of a text so that head and marker have at most `characters` characters.
pub(crate) fn shorten(text: &str, characters: usize) -> String {
    let total = text.chars().count();
    if total <= characters {
        return text.to_owned();
    }
    let marker = marker(total);
    let marker_length = marker.chars().count();
    if marker_length > characters {
        return marker.chars().take(characters).collect();
    }
    text.chars().take(characters - marker_length).chain(marker.chars()).collect()
}

/// What stands in place of the rest of a text that was cut.
pub(crate) fn marker(total: usize) -> String {
    format!("… [cut, {total} characters in all]")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_outputs_leave_room_for_long_ones() {
        #[rustfmt::skip]
        let cases: [(&[usize], usize, &[usize]); 6] = [
            (&[10, 10],          100, &[10, 10]),
            (&[10, 1000],        100, &[10, 90]),
            (&[1000, 10, 1000],  100, &[45, 10, 45]),
            (&[1000, 1000],      101, &[50, 51]),
            (&[5, 5, 5],         2,   &[0, 1, 1]),
            (&[],                10,  &[]),
        ];
        for (needs, budget, expected) in cases {
            assert_eq!(shares(needs, budget), expected, "{needs:?} in {budget}");
        }
    }

    #[test]
    fn the_marker_is_part_of_the_share() {
        let text = "a".repeat(200);
        let short = shorten(&text, 60);
        assert_eq!(short.chars().count(), 60);
        assert!(short.ends_with("… [cut, 200 characters in all]"), "{short}");
        assert_eq!(shorten(&text, 3), "… [");
        assert_eq!(shorten("é", 1), "é");
    }

    proptest! {
        #[test]
        fn shares_never_exceed_the_budget(needs in prop::collection::vec(0_usize..500, 0..12), budget in 0_usize..2000) {
            let shares = shares(&needs, budget);
            prop_assert!(shares.iter().sum::<usize>() <= budget);
            let wanted: usize = needs.iter().sum();
            prop_assert_eq!(shares.iter().sum::<usize>(), wanted.min(budget));
            for (one, need) in shares.iter().zip(&needs) {
                prop_assert!(one <= need);
            }
        }

        #[test]
        fn shortened_texts_fit(text in "\\PC{0,80}", characters in 0_usize..100) {
            prop_assert!(shorten(&text, characters).chars().count() <= characters.max(text.chars().count().min(characters)));
        }
    }
}
