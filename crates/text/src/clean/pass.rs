//! The stages over one segment, repeated until there is nothing left to do.

use crate::clean::edit::{Edit, Layer, apply};
use crate::clean::finding::{Finding, FindingKind};
use crate::{credential, hidden, markdown, trigger};

/// What a redaction opens up is found in the next round; each leaves less, so there are few.
const ROUNDS: usize = 32;

/// Cleans a segment without escapes; `None` where nothing was found.
pub(crate) fn segment(text: &str, first: bool, below: &Layer, findings: &mut Vec<Finding>) -> Option<String> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut current: Option<String> = None;
    for _ in 0..ROUNDS {
        let mut changed = false;
        for stage in [Stage::Hidden, Stage::Markdown, Stage::Credential] {
            let input = current.as_deref().unwrap_or(text);
            let edits = stage.edits(input, first);
            if edits.is_empty() {
                continue;
            }
            let stack: Vec<&Layer> = std::iter::once(below).chain(&layers).collect();
            let (output, layer) = apply(input, &edits, &stack, findings);
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

impl Stage {
    fn edits(self, text: &str, first: bool) -> Vec<Edit> {
        match self {
            Self::Hidden if text.is_ascii() => Vec::new(),
            Self::Hidden => hidden::hidden_spans(text)
                .filter(|(span, _)| first || span.start > 0 || !text.starts_with('\u{FEFF}'))
                .map(|(span, kind)| Edit::remove(span, FindingKind::Hidden, kind.as_str()))
                .collect(),
            Self::Markdown => markdown::edits(text, &trigger::hits(text), first),
            Self::Credential => credential::edits(text, &trigger::hits(text)),
        }
    }
}
