//! Hidden characters: code points that a reader does not see but a model does.
//!
//! A code point is judged in its context, because most of them have honest uses: joiners in Persian, Hindi or an emoji
//! family, selectors after an emoji or an ideograph, tags in the flag of Wales. Whatever has no such use is hidden.
//!
//! INVARIANT: a code point is judged by the last *kept* one before it and the next one as it stands, and a next one
//! that is itself in question excuses nothing; so what is kept is kept again when the text is cleaned twice.

mod context;
mod invisible;
mod kind;
mod table;

use std::ops::Range;

pub use invisible::is_invisible;
pub use kind::HiddenKind;

use context::Before;

/// Finds what is hidden in a text: spans of one kind each, in order, without those in honest use.
///
/// # Examples
///
/// ```
/// use ringfence_text::{HiddenKind, hidden_spans};
///
/// let family = "\u{1F468}\u{200D}\u{1F469}";
/// assert_eq!(hidden_spans(family).count(), 0); // a joiner between people is seen, as a family
///
/// let split = "pass\u{200D}word";
/// assert_eq!(hidden_spans(split).next(), Some((4..7, HiddenKind::Joiner)));
/// ```
pub fn hidden_spans(text: &str) -> impl Iterator<Item = (Range<usize>, HiddenKind)> {
    Spans { text, at: 0, before: Before::default(), pending: None }
}

/// Tells whether a code point can be hidden at all, in the wrong context.
pub fn may_hide(point: char) -> bool {
    table::candidate(point).is_some()
}

struct Spans<'a> {
    text: &'a str,
    at: usize,
    before: Before,
    /// A span that may still grow.
    pending: Option<(Range<usize>, HiddenKind)>,
}

impl Iterator for Spans<'_> {
    type Item = (Range<usize>, HiddenKind);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((start, end, kind)) = self.next_point() else { return self.pending.take() };
            match &mut self.pending {
                Some((span, held)) if span.end == start && *held == kind => span.end = end,
                pending => {
                    if let Some(done) = pending.replace((start..end, kind)) {
                        return Some(done);
                    }
                }
            }
        }
    }
}

impl Spans<'_> {
    /// Finds the next hidden code point.
    fn next_point(&mut self) -> Option<(usize, usize, HiddenKind)> {
        loop {
            self.skip_plain();
            let rest = self.text.get(self.at..)?;
            let point = rest.chars().next()?;
            let (start, end) = (self.at, self.at + point.len_utf8());
            let after = rest.get(point.len_utf8()..).unwrap_or_default();
            let Some(kind) = table::candidate(point) else {
                self.before.keep(point);
                self.at = end;
                continue;
            };
            match context::excuse(point, kind, &self.before, start == 0, after) {
                0 => {
                    self.at = end;
                    return Some((start, end, kind));
                }
                // The code point and what follows belong together, as in a flag.
                points => {
                    for point in rest.chars().take(points) {
                        self.before.keep(point);
                        self.at += point.len_utf8();
                    }
                }
            }
        }
    }

    /// Steps over printable ASCII, which is most of most texts.
    fn skip_plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let plain = rest.iter().position(|byte| !table::plain(*byte)).unwrap_or(rest.len());
        if plain == 0 {
            return;
        }
        // Context reaches back over the line only, and not further than `Before` remembers.
        for byte in rest.get(plain.saturating_sub(context::REACH)..plain).unwrap_or_default() {
            self.before.keep(char::from(*byte));
        }
        self.at += plain;
    }
}

#[cfg(test)]
mod tests;
