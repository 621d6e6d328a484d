//! One thing a tool might try to reach, and the judgement of it.
//!
//! The same question is asked by policy examples, by `ringfence ask` and by tests, and answered by the same grant
//! that the enforcers consume.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Code, Direction, Grant, PathError, PathPattern, Refusal, Target, Variables, normalise};

/// One thing a tool might try to reach.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Starting a binary.
    Binary(String),
    /// Connecting to `host:port`.
    Connect(String),
    /// Reading an environment variable.
    Env(String),
    /// Asking whether a path exists.
    Exists(PathBuf),
    /// Listing a directory.
    List(PathBuf),
    /// Reading a file.
    Read(PathBuf),
    /// Reading a secret.
    Secret(String),
    /// Requesting a URL.
    Url(String),
    /// Writing a file.
    Write(PathBuf),
}

impl Reach {
    /// Replaces a variable that a path starts with, as in a policy's examples.
    pub(crate) fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        let expanded = |path: &Path| match path.to_str() {
            Some(text) if text.starts_with('~') || text.starts_with("${") => {
                text.parse::<PathPattern>()?.expand(variables).map(|path| PathBuf::from(path.as_str()))
            }
            _ => Ok(path.to_path_buf()),
        };
        Ok(match self {
            Self::Exists(path) => Self::Exists(expanded(path)?),
            Self::List(path) => Self::List(expanded(path)?),
            Self::Read(path) => Self::Read(expanded(path)?),
            Self::Write(path) => Self::Write(expanded(path)?),
            Self::Binary(_) | Self::Connect(_) | Self::Env(_) | Self::Secret(_) | Self::Url(_) => {
                self.clone()
            }
        })
    }
}

impl Grant {
    /// Judges one reach without touching anything: hosts by name or literal address, paths by their text.
    ///
    /// A handle judges again where the world has a say: addresses after resolution, paths after links.
    ///
    /// # Errors
    ///
    /// The refusal, with the line of policy that would change it.
    pub fn judge(&self, reach: &Reach) -> Result<(), Refusal> {
        match reach {
            Reach::Binary(name) => self.judge_binary(name),
            Reach::Connect(authority) => self.judge_target(Target::from_authority(authority)),
            Reach::Env(name) => self.judge_variable(name),
            Reach::Exists(path) | Reach::List(path) | Reach::Read(path) => {
                self.judge_path(path, Direction::Read)
            }
            Reach::Secret(name) => self.judge_secret(name),
            Reach::Url(url) => self.judge_target(Target::from_url(url)),
            Reach::Write(path) => self.judge_path(path, Direction::Write),
        }
    }

    fn judge_target(&self, target: Result<Target, crate::HostError>) -> Result<(), Refusal> {
        let target = target.map_err(|error| Refusal::new(Code::InputInvalid, error.to_string()))?;
        match &self.network {
            Some(network) => network.judge(&target),
            None => crate::NetworkGrant::default().judge(&target),
        }
    }

    fn judge_path(&self, path: &Path, direction: Direction) -> Result<(), Refusal> {
        let path =
            normalise(path).map_err(|error| Refusal::new(Code::PathNotReachable, error.to_string()))?;
        match &self.fs {
            Some(fs) => fs.judge(&path, direction),
            None => crate::FsGrant::default().judge(&path, direction),
        }
    }

    /// Judges a secret ref. The answer does not tell what exists.
    ///
    /// # Errors
    ///
    /// `SECRET_NOT_DECLARED`.
    pub fn judge_secret(&self, name: &str) -> Result<(), Refusal> {
        if self.secrets.as_ref().is_some_and(|secrets| secrets.admits(name)) {
            return Ok(());
        }
        let name = shown(name);
        Err(Refusal::new(Code::SecretNotDeclared, format!("{name} is not in the tool's declared secrets"))
            .hint(format!(
                "add `{name}` to the tool's `secrets` and, where it lists any, to the personality's"
            )))
    }

    /// Judges a binary by the name it is asked for.
    ///
    /// # Errors
    ///
    /// `BINARY_NOT_ALLOWED`.
    pub fn judge_binary(&self, name: &str) -> Result<(), Refusal> {
        if self.process.as_ref().is_some_and(|process| process.admits(name)) {
            return Ok(());
        }
        let name = shown(name);
        Err(Refusal::new(Code::BinaryNotAllowed, format!("{name} is not in the declared allowedBinaries")).hint(
            format!("add `{name}` to the tool's `process.allowedBinaries` and to the personality's `process.allow`"),
        ))
    }

    /// Judges an environment variable.
    ///
    /// # Errors
    ///
    /// `ENVIRONMENT_NOT_DECLARED`.
    pub fn judge_variable(&self, name: &str) -> Result<(), Refusal> {
        if self.environment.as_ref().is_some_and(|environment| environment.admits(name)) {
            return Ok(());
        }
        let name = shown(name);
        Err(Refusal::new(
            Code::EnvironmentNotDeclared,
            format!("{name} is not in the tool's declared environment"),
        )
        .hint(format!(
            "add `{name}` to the tool's `environment` and, where it lists any, to the personality's"
        )))
    }
}

/// A name as a message may show it: one line of at most 200 characters.
fn shown(name: &str) -> Cow<'_, str> {
    if name.len() <= 200 && !name.chars().any(char::is_control) {
        return Cow::Borrowed(name);
    }
    let safe = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    Cow::Owned(name.chars().take(200).map(safe).collect())
}
