//! What lies beside a record so that it can be found, read back from the record itself.
//!
//! INVARIANT: what [`Columns::read`] returns for a record is what its line was made with.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

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
    /// The class of the tool that was called.
    pub class: Option<Cow<'a, str>>,
    /// The host that was reached or refused.
    pub host: Option<Cow<'a, str>>,
    /// The person, or whoever proposed the call.
    pub principal: Option<Cow<'a, str>>,
}

impl<'a> Columns<'a> {
    /// Reads what a record says of itself; nothing if it is no record of an audit.
    pub fn read(record: &'a [u8]) -> Option<Self> {
        let head: Head<'a> = serde_json::from_slice(record).ok()?;
        let code = match &*head.kind.0 {
            "call" if head.outcome? != Text(Cow::Borrowed("done")) => {
                // What the fence refused a tool before it failed goes before the code that it failed with.
                let result = head.result?;
                Some(head.refused.or(result.refusal).unwrap_or(Text(Cow::Borrowed("EXECUTION_FAILED"))))
            }
            "late" => head.code,
            "connection" if head.verdict? == Text(Cow::Borrowed("refused")) => Some(head.code?),
            _ => None,
        };
        let step = head.step.as_ref().map(|step| &*step.0);
        let (class, host, principal) = match (&*head.kind.0, step) {
            ("approval", Some("agreed" | "changed" | "refused" | "withdrawn")) | ("settlement", _) => {
                (None, None, head.by.and_then(By::one))
            }
            ("approver", _) => (None, None, head.name),
            ("call", _) => (head.class, None, head.proposer),
            ("connection", _) => (None, head.host, None),
            ("console", _) => (None, None, head.principal),
            ("server", Some("connection")) => (None, head.about.and_then(About::host), None),
            _ => (None, None, None),
        };
        let text = |text: Option<Text<'a>>| text.map(|text| text.0);
        Some(Self {
            kind: head.kind.0,
            at: head.at_ms,
            run: text(head.run),
            tool: text(head.tool),
            code: text(code),
            class: text(class),
            host: text(host),
            principal: text(principal),
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
            ("class", self.class == other.class),
            ("host", self.host == other.host),
            ("principal", self.principal == other.principal),
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
            class: line.class.map(|class| class.as_str().into()),
            host: line.host.as_deref().map(Cow::Borrowed),
            principal: line.principal.as_deref().map(Cow::Borrowed),
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
    refused: Option<Text<'a>>,
    #[serde(borrow)]
    verdict: Option<Text<'a>>,
    #[serde(borrow)]
    code: Option<Text<'a>>,
    #[serde(borrow)]
    class: Option<Text<'a>>,
    #[serde(borrow)]
    host: Option<Text<'a>>,
    #[serde(borrow)]
    step: Option<Text<'a>>,
    #[serde(borrow)]
    by: Option<By<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    proposer: Option<Text<'a>>,
    #[serde(borrow)]
    principal: Option<Text<'a>>,
    #[serde(borrow)]
    about: Option<About<'a>>,
}

/// Who said something: a settlement names one person, an approval a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum By<'a> {
    List(#[serde(borrow)] Vec<Text<'a>>),
    One(#[serde(borrow)] Text<'a>),
}

impl<'a> By<'a> {
    /// Returns the person, if it is just one.
    fn one(self) -> Option<Text<'a>> {
        match self {
            Self::One(one) => Some(one),
            Self::List(mut list) => list.pop().filter(|_| list.is_empty()),
        }
    }
}

/// What a step says of itself, which may be anything.
#[derive(Deserialize)]
struct About<'a>(#[serde(borrow)] &'a RawValue);

impl<'a> About<'a> {
    /// Returns the host of a connection.
    fn host(self) -> Option<Text<'a>> {
        let reached: Reached<'a> = serde_json::from_str(self.0.get()).ok()?;
        reached.host
    }
}

/// The part of what was seen that says where a connection went.
#[derive(Deserialize)]
struct Reached<'a> {
    #[serde(borrow)]
    host: Option<Text<'a>>,
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
