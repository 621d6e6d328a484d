//! One finding: what is wrong, with what, and where.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// How bad a finding is. Ordered: the worst is first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It stops a merge.
    Error,
    /// Somebody should look at it.
    Warning,
    /// Good to know.
    Note,
}

impl Level {
    /// Every level, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Note];

    /// Returns the level as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that was found.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// Its stable code, such as `tool.network.widened`.
    pub code: Cow<'static, str>,
    /// How bad it is.
    pub level: Level,
    /// What it is about: `tool grep`, `server git`, `personality`, `function a::b`, `package x@1`.
    pub subject: String,
    /// What was found, with foreign text in backticks and without places.
    pub message: String,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<FilePlace>,
    /// What would change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The way that leads to it, from the start to the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A place in a file.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct FilePlace {
    /// The file, as a path from the root of the project where it is below it.
    pub file: String,
    /// Line from 1.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
}

/// One step of the way to a finding.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Step {
    /// What happens there.
    pub text: String,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<FilePlace>,
}
