//! The port behind which a sandbox starts processes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ringfence_egress::Scope;
use ringfence_policy::{Assurance, Grant, Limits};
use ringfence_sandbox::{Enforcer, LimitName, Quarantined, Tier, Usage};
use serde::Serialize;

use crate::error::ToolError;

/// How much of standard error an error quotes, in characters.
const MAX_QUOTED: usize = 2_000;

/// A process to be started, confined to its grant.
#[derive(Clone)]
pub struct Launch {
    /// The binary, already judged by name; with an image, the name of a program of that image.
    pub binary: String,
    /// The image whose programs it runs, already judged, by digest; this machine's programs where there is none.
    pub image: Option<String>,
    /// How sure it must be that it is confined.
    pub assurance: Assurance,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub cwd: Option<PathBuf>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// Its standard input.
    pub stdin: Vec<u8>,
    /// What it may spend.
    pub limits: Limits,
    /// What it may reach.
    pub grant: Arc<Grant>,
    /// What everything the call does on the network belongs to; absent where it declared no hosts.
    pub network: Option<Scope>,
}

// Variables may hold secrets, so only their names are shown.
impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch")
            .field("binary", &self.binary)
            .field("image", &self.image)
            .field("arguments", &self.arguments)
            .field("cwd", &self.cwd)
            .field("environment", &self.environment.keys())
            .finish_non_exhaustive()
    }
}

/// What a process left behind.
#[derive(Clone, Debug, Default)]
pub struct ProcessOutput {
    /// Its exit code; 128 and the signal's number when a signal ended it, 124 when its time was up.
    pub exit_code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// How many bytes of both were beyond the limit and not kept.
    pub dropped: u64,
    /// What confined it, where the launcher says so.
    pub confinement: Option<Confinement>,
}

impl ProcessOutput {
    /// Returns the output of a process that ended with 0; any other end is an error that quotes what it wrote to standard error.
    ///
    /// # Errors
    ///
    /// The process ended otherwise, or a signal ended it.
    ///
    /// # Examples
    ///
    /// ```
    /// use ringfence::ProcessOutput;
    ///
    /// let failed = ProcessOutput { exit_code: 2, stderr: "no such file\n".into(), ..ProcessOutput::default() };
    /// assert_eq!(failed.checked().unwrap_err().to_string(), "exit code 2: no such file");
    /// ```
    pub fn checked(self) -> Result<Self, ToolError> {
        if self.exit_code == 0 && self.signal.is_none() {
            return Ok(self);
        }
        let head: String = self.stderr.chars().take(MAX_QUOTED).collect();
        Err(ToolError::new(format!("exit code {}: {}", self.exit_code, head.trim_end())))
    }
}

/// What confined a process, what it used and what it ran into. Goes into the record of the call.
#[derive(Clone, Debug, Serialize)]
pub struct Confinement {
    /// The backend.
    pub backend: &'static str,
    /// How much of the grant it enforces.
    pub tier: Tier,
    /// How that is known.
    pub assurance: Assurance,
    /// The program that was started.
    pub program: PathBuf,
    /// The digest of that program's file.
    pub digest: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// What enforced each limit.
    pub limits: BTreeMap<LimitName, Enforcer>,
    /// The limits it ran into.
    pub exceeded: Vec<LimitName>,
    /// The system calls that were refused and how often, where that was observed.
    pub denied: BTreeMap<&'static str, u64>,
    /// Protected files that it made and that were moved out of the way.
    pub quarantined: Vec<Quarantined>,
    /// What should have been moved and could not be, and why.
    pub left: Vec<(PathBuf, String)>,
}

/// Starts processes inside a sandbox. An implementation that cannot enforce the whole grant starts nothing.
pub trait Launcher: Send + Sync {
    /// Runs a process to its end.
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>>;
}
