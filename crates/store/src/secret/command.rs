//! Secrets that a command prints. No command is started here, nor anywhere else outside the sandbox.

use std::fmt;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use ringfence::{Secret, SecretError, SecretSource};

/// A command that would be asked for a secret. It refuses every ref: this build has no sandbox to run it in.
#[derive(Clone)]
pub struct CommandSecrets {
    argv: Vec<String>,
}

impl CommandSecrets {
    /// Remembers the command and its arguments.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { argv: argv.into_iter().map(Into::into).collect() }
    }

    fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }
}

impl SecretSource for CommandSecrets {
    fn describe(&self) -> String {
        format!("the command `{}`", self.program())
    }

    fn secret<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        ready(Err(SecretError::new(
            "a command secret source needs the OS sandbox, which this build does not have",
        )))
        .boxed()
    }
}

// An argument may be a token, so only the program is shown.
impl fmt::Debug for CommandSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSecrets").field("program", &self.program()).finish_non_exhaustive()
    }
}
