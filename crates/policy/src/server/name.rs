//! The name of a server.
//!
//! INVARIANT: a `ServerName` is 1 to 32 characters of `a-z 0-9 _ -`, starts with a letter or a digit, does not end in `_` and
//! holds no `__`. So `server__tool` has one reading only: the server's name ends at the first `__`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::ToolName;
use crate::visited::visited;

/// The name that stands for the toolbox's own tools where servers are named.
pub const TOOLBOX: &str = "toolbox";

/// A server's name: a prefix of tool names, a key of pins, and a folder's name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct ServerName(Arc<str>);

impl ServerName {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Splits the full name of a tool into the server's name and the tool's own.
    pub fn split(full: &str) -> Option<(&str, &str)> {
        full.split_once("__").filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
    }
}

/// A text that cannot name a server.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ServerNameError {
    /// It has another form.
    #[error(
        "server name `{0}` is not 1 to 32 characters of `a-z`, `0-9`, `_` and `-` that start with a letter or a digit, do not end in `_` and hold no `__`"
    )]
    Form(String),
    /// It stands for the toolbox's own tools.
    #[error("server name `toolbox` stands for the tools of the toolbox itself")]
    Reserved,
}

impl FromStr for ServerName {
    type Err = ServerNameError;

    fn from_str(text: &str) -> Result<Self, ServerNameError> {
        let legal =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        let fits = (1..=32).contains(&text.len())
            && text.bytes().all(legal)
            && !text.starts_with(['_', '-'])
            && !text.ends_with('_')
            && !text.contains("__");
        match text {
            TOOLBOX => Err(ServerNameError::Reserved),
            _ if fits => Ok(Self(text.into())),
            _ => Err(ServerNameError::Form(text.chars().take(80).collect())),
        }
    }
}

impl From<&ServerName> for ToolName {
    /// Every server name is a legal tool name, which is how gaps name what they are about.
    fn from(name: &ServerName) -> Self {
        Self::legal(Arc::clone(&name.0))
    }
}

impl std::borrow::Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ServerName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        visited(deserializer, "a server name, as a string", str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_names_that_can_be_a_prefix() {
        #[rustfmt::skip]
        let cases = [
            ("git", true), ("a", true), ("0", true), ("my-server_2", true), (&"a".repeat(32), true), ("a-", true),
            ("", false), (&"a".repeat(33), false), ("Git", false), ("a b", false), ("a__b", false), ("a_", false),
            ("_a", false), ("-a", false), ("a.b", false), ("a/b", false), ("ä", false), ("toolbox", false), ("..", false),
        ];
        for (text, fits) in cases {
            assert_eq!(text.parse::<ServerName>().is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn a_full_name_has_one_reading() {
        #[rustfmt::skip]
        let cases = [
            ("git__status",  Some(("git", "status"))),
            ("git___status", Some(("git", "_status"))),
            ("a__b__c",      Some(("a", "b__c"))),
            ("status",       None),
            ("__status",     None),
            ("git__",        None),
        ];
        for (full, parts) in cases {
            assert_eq!(ServerName::split(full), parts, "{full}");
        }
    }
}
