//! Secrets that a command prints. It runs in the sandbox like a tool, with a grant of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ringfence::egress::Scope;
use ringfence::policy::{Assurance, Limits};
use ringfence::{Grant, Launch, Launcher, SecretError, SecretSource};
use zeroize::Zeroizing;

use super::{Answer, value};

/// How long the command may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that is asked for a secret, as `op read` or `pass show`: the ref is its last argument, and what it prints is the
/// value, without one newline at its end.
///
/// It has no variables, and reaches what its grant holds and nothing else. A command that fails, or prints nothing, is an error
/// and not a secret that is not there: a chain asks nobody after it. What it says about its failure is not passed on, since it
/// could hold a value.
#[derive(Clone)]
pub struct CommandSecrets {
    program: String,
    arguments: Vec<String>,
    grant: Arc<Grant>,
    launcher: Arc<dyn Launcher>,
}

impl CommandSecrets {
    /// Remembers the command, its program first, and what confines it.
    ///
    /// # Errors
    ///
    /// The command is empty, or the grant does not hold its program.
    pub fn new(
        argv: impl IntoIterator<Item = impl Into<String>>,
        grant: Arc<Grant>,
        launcher: Arc<dyn Launcher>,
    ) -> Result<Self, SecretError> {
        let mut argv = argv.into_iter().map(Into::into);
        let program = argv.next().ok_or_else(|| SecretError::new("the command for secrets is empty"))?;
        if !grant.process.as_ref().is_some_and(|binaries| binaries.admits(&program)) {
            return Err(SecretError::new(format!("the command for secrets may not start `{program}`")));
        }
        Ok(Self { program, arguments: argv.collect(), grant, launcher })
    }

    async fn ask(&self, name: &str) -> Answer {
        // The command would take it for an option.
        if name.starts_with('-') {
            return Err(SecretError::new("a ref that begins with `-` is not given to a command"));
        }
        let launch = Launch {
            image: None,
            assurance: Assurance::Claimed,
            binary: self.program.clone(),
            arguments: self.arguments.iter().cloned().chain([name.to_owned()]).collect(),
            cwd: None,
            environment: BTreeMap::new(),
            timeout: Some(PATIENCE),
            stdin: Vec::new(),
            limits: Limits::default(),
            grant: Arc::clone(&self.grant),
            network: self.grant.network.clone().map(Scope::new),
        };
        let ended =
            self.launcher.launch(launch).await.map_err(|error| SecretError::new(error.to_string()))?;
        let (printed, _said) = (Zeroizing::new(ended.stdout), Zeroizing::new(ended.stderr));
        if ended.exit_code != 0 {
            return Err(SecretError::new(format!("the command ended with {}", ended.exit_code)));
        }
        if ended.dropped != 0 {
            return Err(SecretError::new("the command printed more than is kept"));
        }
        // What was not text has become this.
        if printed.contains(char::REPLACEMENT_CHARACTER) {
            return Err(SecretError::new("the value is not UTF-8 text"));
        }
        value::line(printed.as_bytes()).map(Some)
    }
}

impl SecretSource for CommandSecrets {
    fn describe(&self) -> String {
        format!("the command `{}`", self.program)
    }

    fn secret<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Answer> {
        self.ask(name).boxed()
    }
}

// An argument may be a token, so only the program is shown.
impl fmt::Debug for CommandSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSecrets").field("program", &self.program).finish_non_exhaustive()
    }
}
