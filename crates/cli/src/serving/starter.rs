//! Starting a server inside the fence, with what its policy entry grants and nothing else.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::egress::{Scope, Witness};
use ringfence::policy::{Limits, ServerEntry};
use ringfence::{Grant, Running, SandboxLauncher, SecretSource as _, Service, ToolError};
use ringfence_server::{ErrorSink, Starter};

use super::tried::Tried;
use crate::secrets;

/// How much of what a server writes to its error stream is passed on.
const MOST_PASSED: usize = 4 << 20;

/// A server that is started inside the fence.
pub(crate) struct Fenced {
    pub(crate) launcher: Arc<SandboxLauncher>,
    /// The program that runs, its own name for itself, and its arguments.
    pub(crate) program: PathBuf,
    pub(crate) called: Option<String>,
    pub(crate) arguments: Vec<String>,
    /// Its own files.
    pub(crate) install: Vec<PathBuf>,
    pub(crate) grant: Arc<Grant>,
    pub(crate) limits: Limits,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) variables: BTreeMap<String, String>,
    /// Variables, and the secrets they hold.
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) tried: Arc<Tried>,
}

impl Fenced {
    /// Puts a server together from its policy entry.
    pub(crate) fn new(
        entry: &ServerEntry,
        grant: Arc<Grant>,
        launcher: Arc<SandboxLauncher>,
        program: PathBuf,
        arguments: Vec<String>,
        install: Vec<PathBuf>,
    ) -> Self {
        let mut variables = entry.env.clone();
        for (name, value) in std::env::vars_os() {
            let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else { continue };
            let granted = grant.environment.as_ref().is_some_and(|own| own.admits(&name));
            if granted && !variables.contains_key(&name) {
                variables.insert(name, value);
            }
        }
        Self {
            launcher,
            program,
            called: None,
            arguments,
            install,
            limits: entry.limits,
            directory: entry.directory(),
            variables,
            secrets: entry.secrets.clone(),
            tried: Tried::new(entry.name.as_str(), Arc::clone(&grant)),
            grant,
        }
    }

    async fn service(&self) -> Result<Service, ToolError> {
        let failed = |message: String| ToolError::new(message).not_executed();
        let mut environment = self.variables.clone();
        for (variable, reference) in &self.secrets {
            if !self.grant.secrets.as_ref().is_some_and(|own| own.admits(reference)) {
                return Err(failed(format!("the secret of `{variable}` is not granted")));
            }
            let found = secrets::source().secret(reference).await;
            let found = found.map_err(|error| failed(format!("the secret of `{variable}`: {error}")))?;
            let secret = found.ok_or_else(|| failed(format!("there is no secret for `{variable}`")))?;
            environment.insert(variable.clone(), secret.expose().to_owned());
        }
        let network = self.grant.network.as_ref().filter(|own| !own.is_empty()).map(|own| {
            let witness = Arc::clone(&self.tried) as Arc<dyn Witness>;
            Scope::builder(own.clone()).limits(self.limits).witness(witness).build()
        });
        Ok(Service {
            program: self.program.clone(),
            called: self.called.clone(),
            arguments: self.arguments.clone(),
            directory: self.directory.clone(),
            environment,
            limits: self.limits,
            grant: Arc::clone(&self.grant),
            install: self.install.clone(),
            network,
        })
    }
}

impl Starter for Fenced {
    fn start(&self, mut errors: ErrorSink) -> BoxFuture<'_, Result<Running, ToolError>> {
        async move {
            let service = self.service().await?;
            let tried = Arc::clone(&self.tried);
            let mut passed = 0_usize;
            let sink = move |bytes: &[u8]| {
                errors(bytes);
                let text = String::from_utf8_lossy(bytes);
                tried.heard(&text);
                // Escapes would drive the terminal of whoever looks at the log.
                let clean = ringfence::text::clean(&text).text;
                if passed < MOST_PASSED {
                    passed += bytes.len();
                    let _passed = std::io::stderr().lock().write_all(clean.as_bytes());
                }
            };
            let launcher = Arc::clone(&self.launcher);
            let runtime = tokio::runtime::Handle::current();
            // Planning looks at the file system.
            let started = tokio::task::spawn_blocking(move || {
                let _inside = runtime.enter();
                launcher.serve(service, sink)
            });
            started.await.map_err(|error| ToolError::new(error.to_string()).not_executed())?
        }
        .boxed()
    }

    fn refusals(&self) -> Vec<String> {
        self.tried.lines()
    }
}
