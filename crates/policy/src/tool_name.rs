//! The name of a tool.
//!
//! INVARIANT: a `ToolName` is 1 to 128 characters of `A-Z a-z 0-9 _ . -`, so it needs no quoting on any wire.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::visited::visited;

/// A tool's name as every wire takes it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Wraps a text that another type has found to be legal.
    pub(crate) fn legal(text: Arc<str>) -> Self {
        Self(text)
    }
}

/// A text that cannot name a tool.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("tool name `{0}` is not 1 to 128 characters of letters, digits, `_`, `.` and `-`")]
pub struct ToolNameError(String);

impl FromStr for ToolName {
    type Err = ToolNameError;

    fn from_str(text: &str) -> Result<Self, ToolNameError> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if (1..=128).contains(&text.len()) && text.bytes().all(legal) {
            Ok(Self(text.into()))
        } else {
            Err(ToolNameError(text.chars().take(80).collect()))
        }
    }
}

impl std::borrow::Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        visited(deserializer, "a tool name, as a string", str::parse)
    }
}
