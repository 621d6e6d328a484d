//! The stages over one segment, repeated until there is nothing left to do.

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
    if text.is_ascii() {
        return Vec::new();
    }
    let mut edits: Vec<Edit> = hidden::hidden_spans(text)
        .map(|(span, kind)| Edit::remove(span, FindingKind::Hidden, kind.as_str()))
        .collect();
    // A byte order mark belongs to the start of the whole.
    if !first && text.starts_with('\u{FEFF}') {
        edits.insert(0, Edit::remove(0..3, FindingKind::Hidden, hidden::HiddenKind::ZeroWidth.as_str()));
    }
    edits
}
