//! The variables a pattern may start with, and the values a caller gives them.
//!
//! The library reads neither the home folder nor the working directory: whoever calls it passes values in.

use std::path::{Path, PathBuf};

use super::error::{PathError, shown};
use super::normal::normalise;

/// Values for the variables that patterns may start with. A missing value is an error only where it is needed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Variables {
    /// The value of `~` and `${home}`.
    pub home: Option<PathBuf>,
    /// The value of `${self}`: the tool's own directory.
    pub self_dir: Option<PathBuf>,
    /// The value of `${workspace}`.
    pub workspace: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Variable {
    Home,
    SelfDir,
    Workspace,
}

impl Variable {
    /// Splits a leading variable off `text`: the variable, and the rest, which is empty or starts with a slash.
    pub(super) fn split(text: &str) -> Result<Option<(Self, &str)>, PathError> {
        let (variable, rest) = if let Some(rest) = text.strip_prefix('~') {
            if !rest.is_empty() && !rest.starts_with('/') {
                return Err(PathError::OtherHome { text: shown(text) });
            }
            (Self::Home, rest)
        } else if let Some(open) = text.strip_prefix("${") {
            let unknown = || PathError::UnknownVariable { text: shown(text) };
            let (name, rest) = open.split_once('}').ok_or_else(unknown)?;
            let variable = match name {
                "home" => Self::Home,
                "self" => Self::SelfDir,
                "workspace" => Self::Workspace,
                _ => return Err(unknown()),
            };
            (variable, rest)
        } else {
            return Ok(None);
        };
        if rest.is_empty() || rest.starts_with('/') {
            Ok(Some((variable, rest)))
        } else {
            Err(PathError::MisplacedVariable { text: shown(text) })
        }
    }

    /// Returns the variable as it is written; `~` is `${home}`.
    pub(super) const fn written(self) -> &'static str {
        match self {
            Self::Home => "${home}",
            Self::SelfDir => "${self}",
            Self::Workspace => "${workspace}",
        }
    }

    /// Returns the value as normalised text that holds no pattern syntax; `text` is the pattern that needs it.
    pub(super) fn value(self, variables: &Variables, text: &str) -> Result<String, PathError> {
        let value: Option<&Path> = match self {
            Self::Home => variables.home.as_deref(),
            Self::SelfDir => variables.self_dir.as_deref(),
            Self::Workspace => variables.workspace.as_deref(),
        };
        let variable = self.written();
        let value = value.ok_or_else(|| PathError::Unset { text: shown(text), variable })?;
        let bad = || PathError::Value { variable, value: shown(&value.to_string_lossy()) };
        let normal = normalise(value).map_err(|_| bad())?;
        let normal = normal.into_os_string().into_string().map_err(|_| bad())?;
        // A wildcard in a value would widen the pattern behind its author's back.
        if normal.contains(['*', '?']) || normal.contains("${") { Err(bad()) } else { Ok(normal) }
    }
}
