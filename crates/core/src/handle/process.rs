//! Processes, as far as their binaries were declared, and only through a sandbox.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringfence_policy::{Direction, FsGrant, Limits, Refusal, normalise};

use crate::context::Context;
use crate::error::ToolError;
use crate::late::call_ended;
use crate::port::{Launch, Launcher, ProcessOutput, Secret};

/// Starts granted binaries inside the sandbox. There is no way to start one outside it.
#[derive(Clone)]
pub struct ScopedProcess {
    context: Context,
    launcher: Arc<dyn Launcher>,
    limits: Limits,
}

/// How a process is started, beside its binary and arguments.
#[derive(Clone, Debug, Default)]
pub struct SpawnOptions {
    /// The working directory, inside the grant. For a tool with a jail it is the jail, or a folder in it.
    pub cwd: Option<PathBuf>,
    /// Variables to add; each name must be granted. The rest of the environment is empty.
    pub env: BTreeMap<String, String>,
    /// How long it may run; the call's own limit holds in any case.
    pub timeout: Option<Duration>,
    /// What it reads from its standard input.
    pub stdin: Vec<u8>,
}

impl ScopedProcess {
    pub(crate) fn new(context: Context, launcher: Arc<dyn Launcher>, limits: Limits) -> Self {
        Self { context, launcher, limits }
    }

    /// Runs a binary to its end and returns what it wrote.
    ///
    /// # Errors
    ///
    /// `BINARY_NOT_ALLOWED` for a binary, `ENVIRONMENT_NOT_DECLARED` for a variable outside the grant,
    /// `CALL_ENDED` after the call, which ends the process too; otherwise what the sandbox says.
    pub async fn spawn(
        &self,
        binary: &str,
        arguments: &[String],
        options: SpawnOptions,
    ) -> Result<ProcessOutput, ToolError> {
        self.start(binary, None, arguments, options, &[]).await
    }

    /// Runs a program to its end and returns what it wrote, with secrets in variables of its environment. With an image, that
    /// is what is judged: its programs are one thing.
    pub(crate) async fn spawn_command(
        &self,
        image: Option<&str>,
        program: &str,
        arguments: &[String],
        options: SpawnOptions,
        secrets: &[(String, Secret)],
    ) -> Result<ProcessOutput, ToolError> {
        match image {
            Some(image) => self.start(image, Some(program), arguments, options, secrets).await,
            None => self.start(program, None, arguments, options, secrets).await,
        }
    }

    /// Returns where a process works. A jail is its working directory, so that it opens the paths that were judged.
    fn directory(&self, asked: Option<PathBuf>) -> Result<Option<PathBuf>, Refusal> {
        let Some(jail) = self.context.grant().fs.as_ref().and_then(FsGrant::jail) else { return Ok(asked) };
        let Some(asked) = asked else { return Ok(Some(jail.to_path_buf())) };
        let inside = normalise(&jail.join(&asked)).ok().filter(|inside| inside.starts_with(jail));
        let inside = inside.ok_or_else(|| {
            let refusal = Direction::Read.refusal(&asked);
            refusal.hint("the tool is jailed: its working directory is the jail or a folder in it")
        });
        if let Err(refusal) = &inside {
            self.context.touches().file(Direction::Read, &asked, Some(refusal.code));
        }
        inside.map(Some)
    }

    /// `binary` is what is judged, a program of this machine or an image; `inside` is the program of the image. The secrets
    /// were granted: whoever read them from their handle was judged there.
    async fn start(
        &self,
        binary: &str,
        inside: Option<&str>,
        arguments: &[String],
        options: SpawnOptions,
        secrets: &[(String, Secret)],
    ) -> Result<ProcessOutput, ToolError> {
        let grant = self.context.grant();
        let touches = self.context.touches();
        touches.admit("binary", binary)?;
        let code = |judged: &Result<(), Refusal>| judged.as_ref().err().map(|refusal| refusal.code);
        let judged = grant.judge_binary(binary);
        if judged.is_err() {
            touches.note("binary", binary, code(&judged));
        }
        judged?;
        for name in options.env.keys() {
            let judged = grant.judge_variable(name);
            touches.note("environment", name, code(&judged));
            judged?;
        }
        if let Some(argument) = arguments.iter().find(|argument| argument.contains('\0')) {
            let shown = argument.replace('\0', "\u{fffd}");
            return Err(ToolError::new(format!("argument `{shown}` contains a NUL character")));
        }
        let mut environment = options.env;
        environment.extend(secrets.iter().map(|(name, secret)| (name.clone(), secret.expose().to_owned())));
        let launch = Launch {
            binary: inside.unwrap_or(binary).to_owned(),
            image: inside.map(|_| binary.to_owned()),
            assurance: self.context.assurance(),
            arguments: arguments.to_vec(),
            cwd: self.directory(options.cwd)?,
            environment,
            timeout: options.timeout,
            stdin: options.stdin,
            limits: self.limits,
            grant: self.context.grant_arc(),
            network: self.context.scope(),
        };
        // Whoever launches ends the process when it is no longer waited for.
        let launched = tokio::select! {
            biased;
            launched = self.launcher.launch(launch) => launched,
            () = touches.ended().cancelled() => Err(call_ended().into()),
        };
        touches.note("binary", binary, launched.as_ref().err().and_then(ToolError::code));
        let output = launched?;
        touches.process(grant);
        if let Some(confinement) = &output.confinement {
            self.context.confined(confinement.clone());
        }
        Ok(output)
    }

    /// Judges a binary without starting it.
    ///
    /// # Errors
    ///
    /// `BINARY_NOT_ALLOWED`.
    pub fn check(&self, binary: &str) -> Result<(), Refusal> {
        self.context.touches().admit("binary", binary)?;
        let judged = self.context.grant().judge_binary(binary);
        if let Err(refusal) = &judged {
            self.context.touches().note("binary", binary, Some(refusal.code));
        }
        judged
    }
}

impl std::fmt::Debug for ScopedProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopedProcess")
            .field("granted", &self.context.grant().process)
            .finish_non_exhaustive()
    }
}
