//! Two texts, line by line: what went, what came, what stayed.
//!
//! INVARIANT: the lines that went and stayed are the old text, those that came and stayed are the new one, both in their order
//! and whole. Work and memory are bounded: texts that differ in too many lines are shown one after the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many pairs of lines are compared at most.
const MOST: usize = 1 << 20;

/// What became of a line.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fate {
    /// It came.
    Added,
    /// It went.
    Removed,
    /// It stayed.
    Same,
}

impl Fate {
    /// Returns the name of its style.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Same => "same",
        }
    }

    /// Returns the sign before it.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "−",
            Self::Same => "",
        }
    }

    /// Returns the word for whoever does not see the sign.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Same => "",
        }
    }
}

/// One line of a comparison.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub(crate) struct DiffLine {
    /// What became of it.
    pub(crate) fate: Fate,
    /// The line.
    pub(crate) text: String,
}

/// Compares two texts; nothing where they differ in too much.
pub(crate) fn diff(old: &str, new: &str) -> Option<Vec<DiffLine>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = old.iter().zip(&new).take_while(same).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(same).count();
    let middle = |all: &[&'_ str]| -> Vec<String> {
        all.iter().skip(head).take(all.len() - head - tail).map(|line| (*line).to_owned()).collect()
    };
    let (gone, come) = (middle(&old), middle(&new));
    if (gone.len() + 1).checked_mul(come.len() + 1).is_none_or(|pairs| pairs > MOST) {
        return None;
    }
    let stayed = |lines: &[&str]| -> Vec<DiffLine> {
        lines.iter().map(|line| DiffLine { fate: Fate::Same, text: (*line).to_owned() }).collect()
    };
    let mut all = stayed(old.get(..head).unwrap_or_default());
    all.extend(between(&gone, &come));
    all.extend(stayed(old.get(old.len() - tail..).unwrap_or_default()));
    Some(all)
}

/// Compares by the longest common subsequence.
fn between(old: &[String], new: &[String]) -> Vec<DiffLine> {
    let width = new.len() + 1;
    // The longest that the rests from here on have in common.
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    let at =
        |longest: &[u32], row: usize, column: usize| longest.get(row * width + column).copied().unwrap_or(0);
    for (row, one) in old.iter().enumerate().rev() {
        for (column, other) in new.iter().enumerate().rev() {
            let own = if one == other {
                at(&longest, row + 1, column + 1) + 1
            } else {
                at(&longest, row + 1, column).max(at(&longest, row, column + 1))
            };
            if let Some(cell) = longest.get_mut(row * width + column) {
                *cell = own;
            }
        }
    }
    let (mut row, mut column, mut all) = (0, 0, Vec::with_capacity(old.len().max(new.len())));
    loop {
        let (fate, text) = match (old.get(row), new.get(column)) {
            (Some(one), Some(other)) if one == other => (Fate::Same, one),
            (Some(one), Some(_)) if at(&longest, row + 1, column) >= at(&longest, row, column + 1) => {
                (Fate::Removed, one)
            }
            (Some(one), None) => (Fate::Removed, one),
            (_, Some(other)) => (Fate::Added, other),
            (None, None) => return all,
        };
        row += usize::from(fate != Fate::Added);
        column += usize::from(fate != Fate::Removed);
        all.push(DiffLine { fate, text: text.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[DiffLine]) -> String {
        let sign = |line: &DiffLine| match line.fate {
            Fate::Added => '+',
            Fate::Removed => '-',
            Fate::Same => '=',
        };
        lines.iter().map(|line| format!("{}{}", sign(line), line.text)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn says_what_went_and_what_came() {
        #[rustfmt::skip]
        let cases = [
            ("",        "",          ""),
            ("a",       "a",         "=a"),
            ("",        "a",         "+a"),
            ("a",       "",          "-a"),
            ("a b c",   "a x c",     "=a -b +x =c"),
            ("a b c d", "b c d e",   "-a =b =c =d +e"),
            ("a a a",   "a a",       "=a =a -a"),
            ("x a y b", "a z b w",   "-x =a -y +z =b +w"),
        ];
        for (old, new, expected) in cases {
            let lines = |text: &str| text.replace(' ', "\n");
            assert_eq!(shown(&diff(&lines(old), &lines(new)).unwrap()), expected, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn nothing_is_lost_whatever_the_texts_are() {
        // A small generator of its own, so that the same texts come every time.
        let mut state = 1_u32;
        let mut next = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % most
        };
        for round in 0..300 {
            let mut text =
                || (0..next(12)).map(|_| ["a", "b", "c"][next(3) as usize]).collect::<Vec<_>>().join("\n");
            let (old, new) = (text(), text());
            let all = diff(&old, &new).unwrap();
            let without = |fate: Fate| {
                all.iter().filter(|line| line.fate != fate).map(|line| line.text.as_str()).collect::<Vec<_>>()
            };
            assert_eq!(without(Fate::Added), old.lines().collect::<Vec<_>>(), "{round}");
            assert_eq!(without(Fate::Removed), new.lines().collect::<Vec<_>>(), "{round}");
        }
    }

    #[test]
    fn what_is_too_much_is_not_compared() {
        let lines =
            |start: usize| (start..start + 3000).map(|one| one.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(diff(&lines(0), &lines(5000)), None);
        let same = lines(0);
        assert_eq!(diff(&same, &format!("{same}\nmore")).unwrap().len(), 3001, "only what differs counts");
    }
}
