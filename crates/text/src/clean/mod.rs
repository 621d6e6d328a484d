//! Cleaning: what a tool returned, before anyone but the audit sees it.
//!
//! Four stages in this order: terminal escapes, hidden characters, markup that could re-prompt or leak, credentials. A
//! token that is split by an escape or a zero-width space is whole again when the last stage looks.
//!
//! INVARIANT: cleaning what is clean changes nothing, and the output holds nothing of the raw text in another order.

mod edit;
mod escape;
mod finding;
mod json;
mod pass;
mod segment;
mod stream;

use std::borrow::Cow;

pub use finding::{Action, Finding, FindingKind};
pub use json::{JsonFinding, clean_json, replace_lone_surrogates};
pub use segment::WINDOW;
pub use stream::Cleaner;

pub(crate) use edit::{Edit, settle};

use edit::Layer;
use escape::Escapes;

/// How long a plain text may be and still hold nothing; the shortest that is found ("pin 1234…") is longer.
const TRIFLE: usize = 8;

/// A text that is clean, and what was found in it.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Cleaned<'a> {
    /// The clean text: the raw one itself where nothing was found.
    pub text: Cow<'a, str>,
    /// What was found, by its place in the raw text.
    pub findings: Vec<Finding>,
}

/// Cleans a text.
///
/// # Examples
///
/// ```
/// let cleaned = ringfence_text::clean("\u{1b}[31mpass\u{200b}word\u{1b}[0m = \"Tr0ub4dor&3\"");
///
/// assert_eq!(cleaned.text, "password = \"[redacted: password]\"");
/// assert_eq!(cleaned.findings.len(), 4);
/// assert_eq!(ringfence_text::clean(&cleaned.text).findings, []);
/// ```
pub fn clean(text: &str) -> Cleaned<'_> {
    let mut findings = Vec::new();
    if is_trifle(text) {
        return Cleaned { text: Cow::Borrowed(text), findings };
    }
    if !escape::has_control(text.as_bytes()) {
        let cleaned = segments(text, &Layer::default(), &mut findings);
        findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
        return Cleaned { text: cleaned.map_or(Cow::Borrowed(text), Cow::Owned), findings };
    }
    let mut buffer = stream::Buffer::default();
    let mut machine = Escapes::default();
    buffer.read(&mut machine, text, 0, &mut findings);
    let cleaned = segments(&buffer.text, &buffer.layer, &mut findings);
    findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
    Cleaned { text: Cow::Owned(cleaned.unwrap_or(buffer.text)), findings }
}

/// Tells whether a text is too short and too plain to hold anything that is looked for: a name, a word, a number.
fn is_trifle(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'.' | b'_');
    text.len() <= TRIFLE && text.bytes().all(plain)
}

/// Cleans a text without escapes, segment by segment; `None` where nothing was found.
fn segments(text: &str, layer: &Layer, findings: &mut Vec<Finding>) -> Option<String> {
    let mut out: Option<String> = None;
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..)?;
        let length = segment::cut(rest).unwrap_or(rest.len());
        let part = rest.get(..length)?;
        let below = if text.len() <= WINDOW { Cow::Borrowed(layer) } else { Cow::Owned(layer.shifted(at)) };
        match pass::segment(part, at == 0, &below, findings) {
            Some(cleaned) => {
                out.get_or_insert_with(|| text.get(..at).unwrap_or_default().to_owned()).push_str(&cleaned);
            }
            None => {
                if let Some(out) = &mut out {
                    out.push_str(part);
                }
            }
        }
        at += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn a_trifle_holds_nothing(text in "(pw|pin|pwd|pass|key|token|otp|cvv|sk|a|u|)[ ._-]?[a-zA-Z0-9._ -]{0,8}") {
            let text: String = text.chars().take(TRIFLE).collect();
            prop_assert!(is_trifle(&text));
            let mut findings = Vec::new();
            prop_assert_eq!(segments(&text, &Layer::default(), &mut findings), None);
            prop_assert_eq!(findings, []);
        }
    }
}
