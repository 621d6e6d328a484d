//! What lies beside a record so that it can be found, read back from the record itself.
//!
//! INVARIANT: what [`Columns::read`] returns for a record is what its line was made with.

use std::borrow::Cow;

use serde::Deserialize;

use super::entry::AuditLine;

/// By what a record is found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Columns<'a> {
    /// What kind of entry it is.
    pub kind: Cow<'a, str>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The run it belongs to.
    pub run: Option<Cow<'a, str>>,
    /// The tool it is about.
    pub tool: Option<Cow<'a, str>>,
    /// The code of what was not done.
    pub code: Option<Cow<'a, str>>,
}

impl<'a> Columns<'a> {
    /// Reads what a record says of itself; nothing if it is no record of an audit.
    pub fn read(record: &'a [u8]) -> Option<Self> {
        let head: Head<'a> = serde_json::from_slice(record).ok()?;
        let code = match &*head.kind.0 {
            "call" if head.outcome? != Text(Cow::Borrowed("done")) => {
                Some(head.result?.refusal.unwrap_or(Text(Cow::Borrowed("EXECUTION_FAILED"))))
            }
            "connection" if head.verdict? == Text(Cow::Borrowed("refused")) => Some(head.code?),
            _ => None,
        };
        let text = |text: Option<Text<'a>>| text.map(|text| text.0);
        Some(Self {
            kind: head.kind.0,
            at: head.at_ms,
            run: text(head.run),
            tool: text(head.tool),
            code: text(code),
        })
    }

    /// Names the first column that differs from another's.
    pub fn difference(&self, other: &Columns<'_>) -> Option<&'static str> {
        [
            ("kind", self.kind == other.kind),
            ("time", stored(self.at) == stored(other.at)),
            ("run", self.run == other.run),
            ("tool", self.tool == other.tool),
            ("code", self.code == other.code),
        ]
        .into_iter()
        .find_map(|(name, same)| (!same).then_some(name))
    }
}

/// Returns a time as databases keep it, with a sign.
fn stored(at: u64) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

impl<'a> From<&'a AuditLine> for Columns<'a> {
    fn from(line: &'a AuditLine) -> Self {
        Self {
            kind: line.kind.into(),
            at: line.at,
            run: line.run.as_deref().map(Cow::Borrowed),
            tool: line.tool.as_deref().map(Cow::Borrowed),
            code: line.code.map(|code| code.as_str().into()),
        }
    }
}

/// The fields that are looked at; a key that comes twice is refused, and what else there is does not matter.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    at_ms: u64,
    #[serde(borrow)]
    run: Option<Text<'a>>,
    #[serde(borrow)]
    tool: Option<Text<'a>>,
    #[serde(borrow)]
    outcome: Option<Text<'a>>,
    #[serde(borrow)]
    result: Option<Envelope<'a>>,
    #[serde(borrow)]
    verdict: Option<Text<'a>>,
    #[serde(borrow)]
    code: Option<Text<'a>>,
}

/// The part of an outcome that says why it was not done.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    refusal: Option<Text<'a>>,
}

/// Text that is borrowed where it can be.
#[derive(Deserialize, Eq, PartialEq)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
