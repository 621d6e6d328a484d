//! Two texts as a unified diff without context: what `patch` takes.

use std::fmt::Write as _;

/// How many pairs of lines are compared; beyond, the whole middle is one hunk.
const MOST_COMPARED: usize = 4_000_000;

/// Returns the hunks between two texts; empty where they are equal.
pub(super) fn unified(file: &str, old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut diff = String::new();
    let mut hunk = Hunk::default();
    let (mut at_old, mut at_new) = (0, 0);
    for step in steps(&old, &new) {
        match step {
            Step::Same => {
                hunk.end(&mut diff, at_old, at_new);
                (at_old, at_new) = (at_old + 1, at_new + 1);
            }
            Step::Gone(line) => {
                hunk.gone.push(line);
                at_old += 1;
            }
            Step::New(line) => {
                hunk.new.push(line);
                at_new += 1;
            }
        }
    }
    hunk.end(&mut diff, at_old, at_new);
    if diff.is_empty() { diff } else { format!("--- {file}\n+++ {file}\n{diff}") }
}

enum Step<'a> {
    Same,
    Gone(&'a str),
    New(&'a str),
}

#[derive(Default)]
struct Hunk<'a> {
    gone: Vec<&'a str>,
    new: Vec<&'a str>,
}

impl Hunk<'_> {
    /// Writes the hunk that ends before these lines, counted from zero, if there is one.
    fn end(&mut self, diff: &mut String, at_old: usize, at_new: usize) {
        let (gone, new) = (std::mem::take(&mut self.gone), std::mem::take(&mut self.new));
        if gone.is_empty() && new.is_empty() {
            return;
        }
        // Writing to a string cannot fail.
        let _written = writeln!(diff, "@@ -{} +{} @@", range(at_old, gone.len()), range(at_new, new.len()));
        for line in gone {
            let _written = writeln!(diff, "-{line}");
        }
        for line in new {
            let _written = writeln!(diff, "+{line}");
        }
    }
}

/// Writes a range that ends before a line: one that is empty is named by the line before it.
fn range(end: usize, length: usize) -> String {
    match length {
        0 => format!("{end},0"),
        1 => end.to_string(),
        _ => format!("{},{length}", end + 1 - length),
    }
}

/// Returns the steps from one text to the other, as few as there can be.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Step<'a>> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let left = old.len().min(new.len()) - head;
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(one, other)| one == other).count();
    let middle_old = old.get(head..old.len() - tail).unwrap_or_default();
    let middle_new = new.get(head..new.len() - tail).unwrap_or_default();
    let mut steps: Vec<Step<'a>> = (0..head).map(|_| Step::Same).collect();
    if middle_old.len().saturating_mul(middle_new.len()) > MOST_COMPARED {
        steps.extend(middle_old.iter().map(|line| Step::Gone(line)));
        steps.extend(middle_new.iter().map(|line| Step::New(line)));
    } else {
        compared(middle_old, middle_new, &mut steps);
    }
    steps.extend((0..tail).map(|_| Step::Same));
    steps
}

/// Follows the longest common part of what is left.
fn compared<'a>(old: &[&'a str], new: &[&'a str], steps: &mut Vec<Step<'a>>) {
    let width = new.len() + 1;
    let mut longest = vec![0_usize; (old.len() + 1) * width];
    let of =
        |table: &[usize], row: usize, column: usize| table.get(row * width + column).copied().unwrap_or(0);
    for (row, one) in old.iter().enumerate().rev() {
        for (column, other) in new.iter().enumerate().rev() {
            let length = if one == other {
                of(&longest, row + 1, column + 1) + 1
            } else {
                of(&longest, row + 1, column).max(of(&longest, row, column + 1))
            };
            if let Some(cell) = longest.get_mut(row * width + column) {
                *cell = length;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    loop {
        match (old.get(row), new.get(column)) {
            (Some(one), Some(other)) if one == other => {
                steps.push(Step::Same);
                (row, column) = (row + 1, column + 1);
            }
            (Some(one), other)
                if other.is_none() || of(&longest, row + 1, column) >= of(&longest, row, column + 1) =>
            {
                steps.push(Step::Gone(one));
                row += 1;
            }
            (_, Some(other)) => {
                steps.push(Step::New(other));
                column += 1;
            }
            (_, None) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_patch_needs() {
        #[rustfmt::skip]
        let cases = [
            // old                 new                     hunks
            ("a\nb\nc\n",          "a\nB\nc\n",            "@@ -2 +2 @@\n-b\n+B\n"),
            ("a\nc\n",             "a\nb\nc\n",            "@@ -1,0 +2 @@\n+b\n"),
            ("a\nb\nc\n",          "a\nc\n",               "@@ -2 +1,0 @@\n-b\n"),
            ("a\nb\nc\nd\n",       "A\nb\nc\nD\ne\n",      "@@ -1 +1 @@\n-a\n+A\n@@ -4 +4,2 @@\n-d\n+D\n+e\n"),
            ("a\n",                "a\n\n[x]\ny = 1\n",    "@@ -1,0 +2,3 @@\n+\n+[x]\n+y = 1\n"),
        ];
        for (old, new, hunks) in cases {
            assert_eq!(unified("f", old, new), format!("--- f\n+++ f\n{hunks}"), "{old:?}");
        }
        assert_eq!(unified("f", "a\n", "a\n"), "");
    }
}
