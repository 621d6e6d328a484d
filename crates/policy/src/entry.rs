//! What is wrong with an entry of a toolbox file that is not a tool.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// A kind of entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Table {
    /// `[[agent]]`.
    Agent,
    /// `[console]`.
    Console,
    /// `[gateway]`.
    Gateway,
    /// `[[server]]`.
    Server,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agent",
            Self::Console => "console",
            Self::Gateway => "gateway",
            Self::Server => "server",
        })
    }
}

/// One thing that is wrong with an entry.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct EntryGap {
    /// The kind of entry.
    pub table: Table,
    /// Its name; empty for the console and the gateway, of which there is one each.
    pub name: String,
    /// The field, such as `command` or `tool.transfer.class`.
    pub field: Cow<'static, str>,
    /// What is wrong.
    pub message: String,
    /// What would make it right.
    pub fix: String,
}

impl EntryGap {
    pub(crate) fn new(
        table: Table,
        name: &str,
        field: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { table, name: name.to_owned(), field: field.into(), message: message.into(), fix: fix.into() }
    }
}
