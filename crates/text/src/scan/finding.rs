//! What a scan says.

use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};

/// What kind of attack a finding belongs to.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Family {
    /// Speaks with an authority it does not have.
    Authority,
    /// Has commands run.
    Command,
    /// Asks for credentials or the files that hold them.
    Credential,
    /// Hides its text in an encoding.
    Encoded,
    /// Sends something away.
    Exfiltration,
    /// Hides characters.
    Hidden,
    /// Is longer than a description may be.
    Length,
    /// Hides its text in markup.
    Markup,
    /// Sets instructions or the user's wishes aside.
    Override,
    /// Advertises itself to the model.
    Promotion,
    /// Speaks as the system, the user or the model.
    Role,
    /// Keeps something from the user.
    Secrecy,
    /// Asks for contents in a parameter that has no need of them.
    Smuggling,
    /// Steers the use of other tools.
    Steering,
    /// Leaves no choice.
    Urgency,
}

/// One thing that was found.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ScanFinding {
    /// The kind of attack.
    pub family: Family,
    /// The rule, by its stable name.
    pub rule: &'static str,
    /// What it weighs in the score.
    pub weight: u32,
    /// Where: a JSON pointer into the definition, such as `/inputSchema/properties/q/description`.
    pub field: String,
    /// Which bytes of that string.
    #[serde(serialize_with = "as_pair")]
    pub span: Range<usize>,
    /// What it means. Never holds text of the definition.
    pub message: &'static str,
}

fn as_pair<S: Serializer>(span: &Range<usize>, serializer: S) -> Result<S::Ok, S::Error> {
    [span.start, span.end].serialize(serializer)
}

/// What becomes of a definition; ordered: more is worse.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing speaks against it.
    Accept,
    /// Someone should look at it.
    Flag,
    /// It must not reach a model before someone has looked at it.
    Quarantine,
}

impl Verdict {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Flag => "flag",
            Self::Quarantine => "quarantine",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
