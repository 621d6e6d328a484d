//! Edits of a text, and the way back from the edited text to the raw one.

use std::borrow::Cow;
use std::ops::Range;

use super::finding::{Action, Finding, FindingKind};

/// One replacement of a span of a stage's input.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) span: Range<usize>,
    pub(crate) with: Cow<'static, str>,
    pub(crate) kind: FindingKind,
    pub(crate) label: &'static str,
}

impl Edit {
    /// An edit that leaves nothing.
    pub(crate) fn remove(span: Range<usize>, kind: FindingKind, label: &'static str) -> Self {
        Self { span, with: Cow::Borrowed(""), kind, label }
    }

    fn action(&self) -> Action {
        match self.with.as_ref() {
            "" => Action::Removed,
            _ => Action::Replaced(self.with.clone()),
        }
    }
}

/// Where the pieces of one stage's output come from: what was replaced, in its input and in its output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    /// Where the input starts in what the layer below counts in.
    pub(crate) base: usize,
    /// In order: (input, output).
    pub(crate) pieces: Vec<(Range<usize>, Range<usize>)>,
}

impl Layer {
    /// The layer as seen from a place of the output on.
    pub(crate) fn shifted(&self, at: usize) -> Self {
        let base = self.below(&(at..at)).start;
        let pieces = self
            .pieces
            .iter()
            .filter(|(_, out)| out.end > at || out.start >= at)
            .map(|(input, out)| (input.clone(), out.start.saturating_sub(at)..out.end.saturating_sub(at)))
            .collect();
        Self { base, pieces }
    }

    /// Maps a span of the output to the input.
    fn below(&self, span: &Range<usize>) -> Range<usize> {
        Cursor::new(self).below(span)
    }
}

/// Maps spans that come in order, each from where the one before was found.
struct Cursor<'a> {
    layer: &'a Layer,
    /// How many pieces start before the start and before the end of the last span.
    started: usize,
    ended: usize,
}

impl<'a> Cursor<'a> {
    fn new(layer: &'a Layer) -> Self {
        Self { layer, started: 0, ended: 0 }
    }

    fn below(&mut self, span: &Range<usize>) -> Range<usize> {
        let Layer { base, pieces } = self.layer;
        self.started = passed(pieces, self.started, |out| out.start <= span.start);
        let start = match self.started.checked_sub(1).and_then(|index| pieces.get(index)) {
            Some((input, out)) if span.start < out.end => input.start,
            Some((input, out)) => input.end + (span.start - out.end),
            None => base + span.start,
        };
        self.ended = passed(pieces, self.ended, |out| out.start < span.end);
        let end = match self.ended.checked_sub(1).and_then(|index| pieces.get(index)) {
            Some((input, out)) => input.end + span.end.saturating_sub(out.end),
            None => base + span.end,
        };
        start..end.max(start)
    }
}

/// Returns how many pieces are before a place, given how many were before an earlier one: it is near, or far.
fn passed(
    pieces: &[(Range<usize>, Range<usize>)],
    from: usize,
    before: impl Fn(&Range<usize>) -> bool,
) -> usize {
    const NEAR: usize = 8;
    let rest = pieces.get(from..).unwrap_or_default();
    match rest.iter().take(NEAR).position(|(_, out)| !before(out)) {
        Some(count) => from + count,
        None => from + rest.partition_point(|(_, out)| before(out)),
    }
}

/// Applies edits that are in order and do not overlap; tells of each what was found where in the raw text.
pub(crate) fn apply(
    text: &str,
    edits: &[Edit],
    below: &[&Layer],
    findings: &mut Vec<Finding>,
) -> (String, Layer) {
    let mut out = String::with_capacity(text.len());
    let mut layer = Layer::default();
    let mut done = 0;
    // The last layer is the uppermost.
    let mut down: Vec<Cursor<'_>> = below.iter().rev().map(|layer| Cursor::new(layer)).collect();
    for edit in edits {
        // INVARIANT: spans come from matches in this text, so they are in order and on boundaries.
        let Some(kept) = text.get(done..edit.span.start) else { continue };
        out.push_str(kept);
        let start = out.len();
        out.push_str(&edit.with);
        layer.pieces.push((edit.span.clone(), start..out.len()));
        done = edit.span.end;
        findings.push(Finding {
            kind: edit.kind,
            label: edit.label,
            span: down.iter_mut().fold(edit.span.clone(), |span, cursor| cursor.below(&span)),
            action: edit.action(),
        });
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (out, layer)
}

/// Sorts edits, and joins those that overlap under the name of the first in `rank`.
pub(crate) fn settle(edits: &mut Vec<Edit>, rank: impl Fn(&Edit) -> u8) {
    edits.sort_by(|one, other| {
        one.span
            .start
            .cmp(&other.span.start)
            .then(other.span.end.cmp(&one.span.end))
            .then(rank(one).cmp(&rank(other)))
    });
    let mut settled: Vec<Edit> = Vec::with_capacity(edits.len());
    for edit in edits.drain(..) {
        match settled.last_mut() {
            Some(last) if edit.span.start < last.span.end => {
                let end = last.span.end.max(edit.span.end);
                if rank(&edit) < rank(last) {
                    let start = last.span.start;
                    *last = edit;
                    last.span.start = start;
                }
                last.span.end = end;
            }
            _ => settled.push(edit),
        }
    }
    *edits = settled;
}
