//! One change between two manifests, and the list that comparisons write to.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::ChangeCode;
use crate::manifest::Listed;
use crate::report::{Finding, Level};

/// Which way a change goes. Ordered: the worst is first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Drift {
    /// More is possible, or cannot be ruled out.
    Widened,
    /// Something else is possible.
    Changed,
    /// Less is possible.
    Narrowed,
}

/// What a change is about.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind", content = "name")]
pub enum Subject {
    /// An agent.
    Agent(String),
    /// The page for people.
    Console,
    /// The endpoint for agents.
    Gateway,
    /// The file itself.
    Manifest,
    /// Somebody who is told when a call waits for people.
    Notify(String),
    /// The ceiling.
    Personality,
    /// A server, as a whole or one of its tools.
    Server(String),
    /// A tool of the toolbox.
    Tool(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(name) => write!(f, "agent {name}"),
            Self::Console => f.write_str("console"),
            Self::Gateway => f.write_str("gateway"),
            Self::Manifest => f.write_str("manifest"),
            Self::Notify(name) => write!(f, "notify {name}"),
            Self::Personality => f.write_str("personality"),
            Self::Server(name) => write!(f, "server {name}"),
            Self::Tool(name) => write!(f, "tool {name}"),
        }
    }
}

/// One change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Change {
    /// What kind of change it is.
    pub code: ChangeCode,
    /// Which way it goes.
    pub direction: Drift,
    /// How bad it is: what widens is an error.
    pub level: Level,
    /// What it is about.
    pub subject: Subject,
    /// What was and what is, with their texts in backticks.
    pub message: String,
}

impl Change {
    /// Returns the change as a finding.
    pub fn finding(&self) -> Finding {
        let help = match (self.direction, &self.subject) {
            (Drift::Widened, Subject::Manifest) => {
                Some("restore the file, or write it with `ringfence manifest accept`")
            }
            (Drift::Widened, _) => Some("narrow it, or accept it with `ringfence manifest accept`"),
            (Drift::Changed | Drift::Narrowed, _) => None,
        };
        Finding {
            code: Cow::Borrowed(self.code.as_str()),
            level: self.level,
            subject: self.subject.to_string(),
            message: format!("{}: {}", self.direction, self.message),
            place: None,
            help: help.map(str::to_owned),
            steps: Vec::new(),
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Widened => "widened",
            Self::Changed => "changed",
            Self::Narrowed => "narrowed",
        })
    }
}

/// The changes of one subject.
pub(super) struct Changes<'a> {
    pub(super) subject: Subject,
    found: &'a mut Vec<Change>,
}

impl<'a> Changes<'a> {
    pub(super) const fn of(subject: Subject, found: &'a mut Vec<Change>) -> Self {
        Self { subject, found }
    }

    fn push(&mut self, code: ChangeCode, direction: Drift, level: Level, message: String) {
        self.found.push(Change { code, direction, level, subject: self.subject.clone(), message });
    }

    pub(super) fn widened(&mut self, code: ChangeCode, message: impl Into<String>) {
        self.push(code, Drift::Widened, Level::Error, message.into());
    }

    pub(super) fn changed(&mut self, code: ChangeCode, level: Level, message: impl Into<String>) {
        self.push(code, Drift::Changed, level, message.into());
    }

    pub(super) fn narrowed(&mut self, code: ChangeCode, message: impl Into<String>) {
        self.push(code, Drift::Narrowed, Level::Note, message.into());
    }

    /// Tells of entries that only one side covers.
    pub(super) fn sets(&mut self, [wide, narrow]: [ChangeCode; 2], what: &str, sets: &Sets) {
        let list = |texts: &[String]| if texts.is_empty() { "nothing".to_owned() } else { quoted(texts) };
        let both = format!("{} → {}", list(&sets.was), list(&sets.is));
        if !sets.gained.is_empty() {
            self.widened(wide, format!("{what}: now also {} ({both})", quoted(&sets.gained)));
        }
        if !sets.lost.is_empty() {
            self.narrowed(narrow, format!("{what}: {both}"));
        }
    }
}

/// Two sets, and what of each the other does not cover.
pub(super) struct Sets {
    pub(super) was: Vec<String>,
    pub(super) is: Vec<String>,
    pub(super) gained: Vec<String>,
    pub(super) lost: Vec<String>,
}

impl Sets {
    /// Compares two sets by coverage.
    pub(super) fn of<S: Listed>(old: &S, new: &S) -> Self {
        Self { was: old.texts(), is: new.texts(), gained: new.beyond(old), lost: old.beyond(new) }
    }
}

/// How many entries of a list are told.
const SHOWN: usize = 8;

/// Returns texts in backticks, with commas.
pub(super) fn quoted(texts: &[impl AsRef<str>]) -> String {
    let mut list = texts.iter().take(SHOWN).map(|text| quote(text.as_ref())).collect::<Vec<_>>().join(", ");
    if let Some(more) = texts.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        list.push_str(&format!(" and {more} more"));
    }
    list
}

/// Returns a foreign text in backticks; its own backticks would end them.
pub(super) fn quote(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

/// Returns `a → b`.
pub(super) fn arrow(old: &str, new: &str) -> String {
    format!("{} → {}", quote(old), quote(new))
}
