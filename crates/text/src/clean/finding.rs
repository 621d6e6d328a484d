//! What was found, where, and what was done about it.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

/// Which of the stages found it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Bytes that are not UTF-8, or half of a surrogate pair in JSON.
    Encoding,
    /// A terminal escape or a control character.
    Escape,
    /// A character that is not seen.
    Hidden,
    /// Markup that could prompt the model again or carry data out.
    Markdown,
    /// Something that opens doors.
    Credential,
}

/// What was done.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is gone without a trace.
    Removed,
    /// This stands in its place.
    Replaced(Cow<'static, str>),
}

/// One thing that was found.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// Which stage found it.
    pub kind: FindingKind,
    /// What it is, such as `github-token`.
    pub label: &'static str,
    /// Where it was: bytes of the raw text.
    pub span: Range<usize>,
    /// What was done.
    pub action: Action,
}
