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
/// The same for a name alone: without a sign or a blank only a token by a vendor could be found, and none is as short.
const NAME: usize = 14;

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
    let mut out = None;
    let at = plain_segments(text, &mut out, &mut findings);
    if let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let mut buffer = stream::Buffer::default();
        buffer.read(&mut Escapes::default(), rest, at, &mut findings);
        let out = out.get_or_insert_with(|| text.get(..at).unwrap_or_default().to_owned());
        buffered_segments(&buffer, at == 0, out, &mut findings);
    }
    findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
    Cleaned { text: out.map_or(Cow::Borrowed(text), Cow::Owned), findings }
}

/// Cleans a text segment by segment as far as it has no escapes, without a copy of what is clean; returns how far.
///
/// Each segment goes through all stages while it is in the cache.
fn plain_segments(text: &str, out: &mut Option<String>, findings: &mut Vec<Finding>) -> usize {
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let window = rest.as_bytes().get(..WINDOW).unwrap_or(rest.as_bytes());
        if escape::has_control(window) {
            break;
        }
        let length = segment::cut(rest).unwrap_or(rest.len());
        let part = rest.get(..length).unwrap_or_default();
        let below = Layer { base: at, ..Layer::default() };
        match (pass::segment(part, at == 0, &below, findings), &mut *out) {
            (Some(cleaned), out) => {
                out.get_or_insert_with(|| text.get(..at).unwrap_or_default().to_owned()).push_str(&cleaned);
            }
            (None, Some(out)) => out.push_str(part),
            (None, None) => {}
        }
        at += length;
    }
    at
}

/// Cleans what is left of a text after its escapes, segment by segment; `first` says that the text starts here.
fn buffered_segments(buffer: &stream::Buffer, first: bool, out: &mut String, findings: &mut Vec<Finding>) {
    let mut at = 0;
    while let Some(rest) = buffer.text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = segment::cut(rest).unwrap_or(rest.len());
        let part = rest.get(..length).unwrap_or_default();
        let below = if at == 0 { Cow::Borrowed(&buffer.layer) } else { Cow::Owned(buffer.layer.shifted(at)) };
        match pass::segment(part, first && at == 0, &below, findings) {
            Some(cleaned) => out.push_str(&cleaned),
            None => out.push_str(part),
        }
        at += length;
    }
}

/// Tells whether a text is too short and too plain to hold anything that is looked for: a name, a word, a number.
fn is_trifle(text: &str) -> bool {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let plain = |byte: u8| name(byte) || matches!(byte, b' ' | b'.');
    text.len() <= TRIFLE && text.bytes().all(plain) || text.len() <= NAME && text.bytes().all(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::credential::RULES;

    #[test]
    fn no_token_is_as_short_as_a_name() {
        for rule in RULES {
            assert!(rule.shortest() > NAME, "{}", rule.prefix);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn a_name_alone_holds_nothing(text in "(password|secret|token|api_key|pin|xoxb-|ghp_|sk-|AKIA|)[-_]?[a-zA-Z0-9_-]{0,14}") {
            let text: String = text.chars().take(NAME).collect();
            prop_assert!(is_trifle(&text));
            let (mut out, mut findings) = (None, Vec::new());
            prop_assert_eq!(plain_segments(&text, &mut out, &mut findings), text.len());
            prop_assert_eq!((out, findings), (None, vec![]));
        }

        #[test]
        fn a_trifle_holds_nothing(text in "(pw|pin|pwd|pass|key|token|otp|cvv|sk|a|u|)[ ._-]?[a-zA-Z0-9._ -]{0,8}") {
            let text: String = text.chars().take(TRIFLE).collect();
            prop_assert!(is_trifle(&text));
            let (mut out, mut findings) = (None, Vec::new());
            prop_assert_eq!(plain_segments(&text, &mut out, &mut findings), text.len());
            prop_assert_eq!((out, findings), (None, vec![]));
        }
    }
}
