//! The formats of a report.

use std::fmt;
use std::str::FromStr;

/// A format of a report.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Format {
    /// Workflow commands of GitHub, and a summary of the job.
    Github,
    /// For a person at a terminal.
    #[default]
    Human,
    /// For a program.
    Json,
    /// For a comment on a change.
    Markdown,
    /// SARIF 2.1.0, for a forge that collects findings.
    Sarif,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::Human, Self::Json, Self::Sarif, Self::Github, Self::Markdown];

    /// Returns the format as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Human => "human",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Sarif => "sarif",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no format.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is not a format: human, json, sarif, github or markdown", .0.escape_debug())]
pub struct FormatError(String);

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let known = Self::ALL.into_iter().find(|format| format.as_str() == text);
        known.ok_or_else(|| FormatError(text.chars().take(80).collect()))
    }
}

/// Whether a terminal is to show colours.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Colour {
    /// With escape sequences of ours.
    Ansi,
    /// Without.
    #[default]
    Plain,
}

impl Colour {
    /// Returns what whoever sits at a terminal wants, by the variables that programs agree on: `NO_COLOR` that is not empty,
    /// `CLICOLOR=0` and `TERM=dumb` mean no escape sequences.
    pub fn of_terminal(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let is = |name: &str, value: &str| variable(name).is_some_and(|own| own == value);
        let is_set = |name: &str| variable(name).is_some_and(|own| !own.is_empty());
        if is_set("NO_COLOR") || is("CLICOLOR", "0") || is("TERM", "dumb") { Self::Plain } else { Self::Ansi }
    }
}

/// A report as text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rendered {
    /// What standard output gets; ends with a line break.
    pub text: String,
    /// Markdown with all findings for the summary of a job, where the format has one.
    pub summary: Option<String>,
}
