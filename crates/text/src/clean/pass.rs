//! The stages over one segment, repeated until there is nothing left to do.

use std::borrow::Cow;

use crate::clean::edit::{Edit, Layer, apply};
use crate::clean::finding::{Finding, FindingKind};
use crate::trigger::Hit;
use crate::{credential, hidden, markdown, trigger};

/// What a redaction opens up is found in the next round; each leaves less, so there are few.
const ROUNDS: usize = 32;

/// Cleans a segment without escapes; `None` where nothing was found.
pub(crate) fn segment(text: &str, first: bool, below: &Layer, findings: &mut Vec<Finding>) -> Option<String> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut current: Option<String> = None;
    // Both later stages start from the same keywords, and so do later rounds where nothing was edited.
    let mut hits: Option<Vec<Hit>> = None;
    for _ in 0..ROUNDS {
        let mut changed = false;
        for stage in [Stage::Hidden, Stage::Markdown, Stage::Credential] {
            let input = current.as_deref().unwrap_or(text);
            let edits = match stage {
                Stage::Hidden => hidden_edits(input, first),
                Stage::Markdown => {
                    markdown::edits(input, hits.get_or_insert_with(|| trigger::hits(input)), first)
                }
                Stage::Credential => {
                    credential::edits(input, hits.get_or_insert_with(|| trigger::hits(input)))
                }
            };
            if edits.is_empty() {
                continue;
            }
            let stack: Vec<&Layer> = std::iter::once(below).chain(&layers).collect();
            let (output, layer) = apply(input, &edits, &stack, findings);
            hits = hits.map(|hits| trigger::moved(&hits, &layer.pieces, &output));
            layers.push(layer);
            current = Some(output);
            changed |= stage != Stage::Hidden;
        }
        if !changed {
            break;
        }
    }
    current
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Stage {
    Hidden,
    Markdown,
    Credential,
}

fn hidden_edits(text: &str, first: bool) -> Vec<Edit> {
    let mut edits = line_ends(text);
    if text.is_ascii() {
        return edits;
    }
    edits.extend(
        hidden::hidden_spans(text).map(|(span, kind)| Edit::remove(span, FindingKind::Hidden, kind.as_str())),
    );
    edits.sort_by_key(|edit| edit.span.start);
    // A byte order mark belongs to the start of the whole.
    if !first && text.starts_with('\u{FEFF}') {
        edits.insert(0, Edit::remove(0..3, FindingKind::Hidden, hidden::HiddenKind::ZeroWidth.as_str()));
    }
    edits
}

/// Finds ends of lines that readers disagree about, and makes ordinary ones of them: a carriage return alone takes a terminal back to
/// the start of the line, so that what follows covers what was written; U+2028 and U+2029 end a line for some and not for others.
fn line_ends(text: &str) -> Vec<Edit> {
    let bytes = text.as_bytes();
    let edit = |span| Edit {
        span,
        with: Cow::Borrowed("\n"),
        kind: FindingKind::Hidden,
        label: hidden::HiddenKind::Control.as_str(),
    };
    let returns = memchr::memchr_iter(b'\r', bytes)
        .filter(|at| bytes.get(at + 1) != Some(&b'\n'))
        .map(|at| edit(at..at + 1));
    let separators = memchr::memmem::find_iter(bytes, b"\xE2\x80")
        .filter(|at| matches!(bytes.get(at + 2), Some(0xA8 | 0xA9)))
        .map(|at| edit(at..at + 3));
    let mut edits: Vec<Edit> = returns.chain(separators).collect();
    edits.sort_by_key(|edit| edit.span.start);
    edits
}
