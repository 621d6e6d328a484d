//! Clauses judged by what they ask for, not by their wording: who is told to do what, to what, and whether it is denied.
//!
//! Each word is marked with its classes. Within a sentence, a denied act changes its class, and a verb that only
//! describes the tool ("sends", or the first word of a description) is set aside. Frames then look for combinations,
//! in any order, near one another.

pub(crate) mod class;
mod frame;
mod name;
mod shape;
mod words;

use std::ops::Range;

use super::finding::Family;
use class::{ACTS, Classes, ING, NOT, PAST, THIRD, YOU, denied};

pub(crate) use frame::FRAMES;
pub(crate) use name::{from_hits, sort};
pub(crate) use shape::shape_at;
pub(crate) use words::entries;

/// One meaningful place in a text.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) at: Range<usize>,
    pub(crate) classes: Classes,
}

/// A combination of classes near one another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) id: &'static str,
    pub(crate) family: Family,
    pub(crate) weight: u32,
    /// One of each has to be there.
    pub(crate) parts: &'static [Classes],
    /// Those parts that one class alone can fill.
    pub(crate) needs: Classes,
    /// None of these may be in the sentence.
    pub(crate) unless: Classes,
    /// How many bytes the last part may begin after the first.
    pub(crate) within: usize,
    /// The last part has to come last.
    pub(crate) ordered: bool,
    pub(crate) scope: Scope,
    pub(crate) message: &'static str,
}

/// Where a frame is looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scope {
    /// In descriptions and titles.
    Prose,
    /// In the texts of a schema.
    Schema,
    Anywhere,
}

impl Scope {
    fn holds(self, part: Part) -> bool {
        match self {
            Self::Prose => part != Part::Parameter,
            Self::Schema => part == Part::Parameter,
            Self::Anywhere => true,
        }
    }
}

/// What a sentence is part of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    /// The first of a description: it says what the tool does.
    Headline,
    /// The description of a parameter, or another text of a schema.
    Parameter,
    Other,
}

/// How far behind a denial the denied act may be, in bytes.
const DENIAL: usize = 26;

/// Judges the marks of one sentence.
pub(crate) fn judge(
    raw: &str,
    marks: &mut [Mark],
    sentence: &Range<usize>,
    part: Part,
    add: &mut dyn FnMut(&'static Frame, Range<usize>),
) {
    if marks.len() < 2 {
        return;
    }
    settle(raw, marks, sentence, part);
    let present = marks.iter().fold(0, |all, mark| all | mark.classes);
    for frame in FRAMES {
        if present & frame.needs == frame.needs
            && present & frame.unless == 0
            && frame.scope.holds(part)
            && frame.parts.iter().all(|part| part & present != 0)
            && let Some(span) = find(frame, marks)
        {
            add(frame, span);
        }
    }
}

/// What turns the description of a parameter into an order to fill it.
const OF_PARAMETER: Classes = YOU
    | class::USER
    | class::ALSO
    | class::MUST
    | class::EVERY
    | class::CONTENT
    | class::WHATEVER
    | class::BEFORE;

/// Sets descriptive verbs aside and denies what is denied.
fn settle(raw: &str, marks: &mut [Mark], sentence: &Range<usize>, part: Part) {
    let addressed = marks.iter().any(|mark| mark.classes & YOU != 0);
    let mut headline = sentence.start;
    if part == Part::Headline {
        headline = headline_end(raw, marks, sentence);
        if let Some(mark) = marks.first_mut().filter(|mark| opens(mark, sentence)) {
            mark.classes |= class::OPENING;
            headline = sentence.start;
        }
    }
    if part == Part::Headline {
        for mark in marks.iter_mut().filter(|mark| mark.classes & (class::TOOL | class::SIBLING) != 0) {
            mark.classes |= class::ABOUT;
        }
    }
    let mut reach = 0..0;
    for mark in marks.iter_mut() {
        // What is said in the description of a parameter is said of that parameter, if it is about more than its value.
        if part == Part::Parameter && mark.classes & OF_PARAMETER != 0 {
            mark.classes |= class::PARAMETER;
        }
        if mark.at.start < headline {
            mark.classes &= !(ACTS | class::CONTENT);
        } else if mark.classes & THIRD != 0 && !addressed && part != Part::Parameter
            || mark.classes & PAST != 0 && !is_passive(raw, mark)
        {
            mark.classes &= !ACTS | class::DISABLE & mark.classes;
        }
        if mark.classes & ING != 0 {
            mark.classes &= !class::ALTER;
        }
        if mark.classes & ACTS != 0
            && reach.start <= mark.at.start
            && mark.at.start < reach.end
            && !raw.get(reach.start..mark.at.start).is_some_and(|gap| gap.contains([';', ':', ',', '(']))
        {
            mark.classes = mark.classes & !ACTS | denied(mark.classes & ACTS);
            reach = mark.at.start..reach.end.max(mark.at.end + 14);
        }
        if mark.classes & NOT != 0 {
            reach = mark.at.end..mark.at.end + DENIAL;
        }
    }
}

/// Says whether a past form is what happens to something, and not an attribute of it.
fn is_passive(raw: &str, mark: &Mark) -> bool {
    // Two words fit in so many bytes.
    let from = mark.at.start.saturating_sub(24);
    let before = raw.as_bytes().get(from..mark.at.start).unwrap_or_default();
    let words = before.rsplit(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.take(2).any(|word| PASSIVE.iter().any(|one| word.eq_ignore_ascii_case(one.as_bytes())))
}

/// What makes a past form a passive.
const PASSIVE: [&str; 7] = ["be", "is", "are", "been", "being", "get", "was"];

/// Returns how far a first sentence only says what the tool does.
fn headline_end(raw: &str, marks: &[Mark], sentence: &Range<usize>) -> usize {
    const TURNS: Classes = NOT
        | class::MUST
        | YOU
        | class::WHEN
        | class::BEFORE
        | class::WHATEVER
        | class::BOSS
        | class::BEGIN
        | class::TOOL
        | class::SIBLING;
    let turn = marks.iter().find(|mark| mark.classes & TURNS != 0).map_or(sentence.end, |mark| mark.at.start);
    let text = raw.get(sentence.clone()).unwrap_or_default();
    let end = text.find([';', ':', '\u{2014}']).map_or(sentence.end, |at| sentence.start + at);
    turn.min(end)
}

/// Says whether a sentence begins with a condition, a purpose or an authority.
fn opens(mark: &Mark, sentence: &Range<usize>) -> bool {
    mark.at.start <= sentence.start + 12
        && mark.classes & (class::WHEN | class::BEFORE | class::PRETEXT | class::BOSS) != 0
}

/// How many candidates are kept for a part: the nearest ones.
const KEPT: usize = 3;

/// The latest marks that fit each part of a frame.
type Candidates<'a> = [[Option<&'a Mark>; KEPT]; 5];

/// Finds the first place where all parts stand near one another, each with a word of its own.
fn find(frame: &Frame, marks: &[Mark]) -> Option<Range<usize>> {
    let mut latest: Candidates<'_> = Default::default();
    for mark in marks {
        for (index, part) in frame.parts.iter().enumerate() {
            let may_end = !frame.ordered || index + 1 == frame.parts.len();
            if mark.classes & part != 0
                && may_end
                && let Some(span) = fit(frame, &latest, 0, index, mark, &mut Vec::new())
            {
                return Some(span);
            }
        }
        for (kept, part) in latest.iter_mut().zip(frame.parts) {
            if mark.classes & part != 0 {
                kept.rotate_right(1);
                if let Some(first) = kept.first_mut() {
                    *first = Some(mark);
                }
            }
        }
    }
    None
}

/// Gives each part from `next` on a mark that overlaps no other; `mark` is given to the part `index`.
fn fit<'a>(
    frame: &Frame,
    latest: &Candidates<'a>,
    next: usize,
    index: usize,
    mark: &'a Mark,
    taken: &mut Vec<&'a Range<usize>>,
) -> Option<Range<usize>> {
    if next == frame.parts.len() {
        let start = taken.iter().map(|at| at.start).min()?;
        let end = taken.iter().map(|at| at.end).max()?;
        return (mark.at.start - start <= frame.within).then_some(start..end);
    }
    let here = [Some(mark), None, None];
    let candidates = if next == index { &here } else { latest.get(next)? };
    for one in candidates.iter().flatten() {
        let is_near = one.at.end <= mark.at.start && mark.at.start - one.at.start <= frame.within;
        if (next != index && !is_near)
            || taken.iter().any(|at| at.start < one.at.end && one.at.start < at.end)
        {
            continue;
        }
        taken.push(&one.at);
        let span = fit(frame, latest, next + 1, index, mark, taken);
        taken.pop();
        if span.is_some() {
            return span;
        }
    }
    None
}

#[cfg(test)]
mod tests;
