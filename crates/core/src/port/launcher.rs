//! The port behind which a sandbox starts processes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ringfence_policy::{Grant, Limits};

use crate::error::ToolError;

/// A process to be started, confined to its grant.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The binary, already judged by name.
    pub binary: String,
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
}

/// What a process left behind.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProcessOutput {
    /// Its exit code; 128 and the signal's number when a signal ended it.
    pub exit_code: i32,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
}

/// Starts processes inside a sandbox. An implementation that cannot enforce the whole grant starts nothing.
pub trait Launcher: Send + Sync {
    /// Runs a process to its end.
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>>;
}
