//! Starting a server inside the fence, with what its policy entry grants and nothing else.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::egress::{Evidence, Scope, Witness};
use ringfence::policy::explain::explain_line;
use ringfence::policy::{HostSet, Limits, ServerEntry};
use ringfence::{Grant, Running, SandboxLauncher, SecretSource as _, Service, ToolError, run_on_thread};
use ringfence_server::{ErrorSink, Starter};

use super::dropped::{dropped_line, dropped_variables};
use super::labelled::LabelledLines;
use super::log::tell;
use super::tried::Tried;
use crate::error::CommandError;
use crate::install::{Install, Refresh, installed, own_install};
use crate::program::{find_program, own_interpreter};
use crate::secrets;

/// A server that is started inside the fence.
pub(crate) struct Fenced {
    launcher: Arc<SandboxLauncher>,
    what: What,
    /// What runs, once it was found or installed.
    ready: tokio::sync::Mutex<Option<Arc<Program>>>,
    grant: Arc<Grant>,
    limits: Limits,
    directory: Option<PathBuf>,
    variables: BTreeMap<String, String>,
    /// The names of variables of whoever started us that it does not get.
    dropped: Vec<String>,
    unix_sockets: bool,
    /// Variables, and the secrets they hold.
    secrets: BTreeMap<String, String>,
    /// Their values, once it was started.
    values: Arc<Mutex<Vec<String>>>,
    /// Whose lookups its lookups count among.
    owner: String,
    pub(crate) tried: Arc<Tried>,
}

/// Where a server comes from.
#[derive(Clone)]
enum What {
    /// A program of this machine.
    Here { program: PathBuf, arguments: Vec<String> },
    /// A package, which is installed first.
    Package { install: Install, registry: Option<HostSet>, refresh: Refresh },
}

/// What is started.
struct Program {
    program: PathBuf,
    arguments: Vec<String>,
    /// Its own files, which it may read and run.
    install: Vec<PathBuf>,
}

impl Fenced {
    /// Puts a server together from its policy entry and its command.
    pub(crate) fn new(
        entry: &ServerEntry,
        command: &[String],
        refresh: Refresh,
        grant: Arc<Grant>,
        launcher: Arc<SandboxLauncher>,
    ) -> Result<Self, CommandError> {
        let what = what(entry, command, refresh)?;
        let mut variables = entry.env.clone();
        for (name, value) in std::env::vars_os() {
            let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else { continue };
            let granted = grant.environment.as_ref().is_some_and(|own| own.admits(&name));
            if granted && !variables.contains_key(&name) {
                variables.insert(name, value);
            }
        }
        let all = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        Ok(Self {
            launcher,
            what,
            ready: tokio::sync::Mutex::default(),
            // Its `wall` is that of each call: the process goes on.
            limits: Limits { wall: None, ..entry.limits },
            dropped: dropped_variables(all, &variables, &entry.secrets),
            unix_sockets: entry.unix_sockets,
            directory: entry.directory(),
            variables,
            secrets: entry.secrets.clone(),
            values: Arc::default(),
            owner: format!("server {}", entry.name.as_str()),
            tried: Tried::new(entry.name.as_str(), Arc::clone(&grant)),
            grant,
        })
    }

    /// Tells which variables of the client the server does not get, and how it would.
    pub(crate) fn tell_dropped(&self) {
        if let Some(line) = dropped_line(self.tried.server(), &self.dropped) {
            tell(&line);
        }
    }

    /// Finds out what runs, or installs it; once.
    async fn program(&self) -> Result<Arc<Program>, ToolError> {
        let mut ready = self.ready.lock().await;
        if let Some(program) = &*ready {
            return Ok(Arc::clone(program));
        }
        let what = self.what.clone();
        // Installing a package may take minutes.
        let found = run_on_thread("ringfence-install", move || find(what)).await;
        let found = found.map_err(|error| error.to_string()).and_then(|found| found);
        let program = Arc::new(found.map_err(|why| ToolError::new(why).not_executed())?);
        self.tried.own(&program.install);
        // Paths among its arguments that it has no access to are likely what it is for.
        for argument in program.arguments.iter().filter(|argument| argument.starts_with('/')) {
            let path = std::path::Path::new(argument);
            if !program.install.iter().any(|own| path.starts_with(own)) {
                self.tried.path(path);
            }
        }
        *ready = Some(Arc::clone(&program));
        Ok(program)
    }

    async fn service(&self, witness: Arc<dyn Witness>) -> Result<Service, ToolError> {
        let failed = |message: String| ToolError::new(message).not_executed();
        let program = self.program().await?;
        let mut environment = self.variables.clone();
        for (variable, reference) in &self.secrets {
            if !self.grant.secrets.as_ref().is_some_and(|own| own.admits(reference)) {
                return Err(failed(format!("the secret of `{variable}` is not granted")));
            }
            let found = secrets::source().secret(reference).await;
            let found = found.map_err(|error| failed(format!("the secret of `{variable}`: {error}")))?;
            let secret = found.ok_or_else(|| failed(format!("there is no secret for `{variable}`")))?;
            let value = secret.expose().to_owned();
            let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
            if !values.contains(&value) {
                values.push(value.clone());
            }
            drop(values);
            environment.insert(variable.clone(), value);
        }
        let both = Both(Arc::clone(&self.tried), witness);
        let hosts = self.grant.network.clone().unwrap_or_default();
        let scope = Scope::builder(hosts).owner(&self.owner).limits(self.limits);
        let network = Some(scope.witness(Arc::new(both)).build());
        Ok(Service {
            program: program.program.clone(),
            called: None,
            arguments: program.arguments.clone(),
            directory: self.directory.clone(),
            here: meant_from_here(&program.arguments),
            environment,
            limits: self.limits,
            grant: Arc::clone(&self.grant),
            unix_sockets: self.unix_sockets,
            install: program.install.clone(),
            network,
        })
    }
}

impl Starter for Fenced {
    fn start(
        &self,
        mut errors: ErrorSink,
        witness: Arc<dyn Witness>,
    ) -> BoxFuture<'_, Result<Running, ToolError>> {
        async move {
            let service = self.service(witness).await?;
            let (tried, values) = (Arc::clone(&self.tried), Arc::clone(&self.values));
            let mut lines = LabelledLines::new(tried, values, |line: &str| {
                let _passed = crate::print::errors().write_all(line.as_bytes());
            });
            let sink = move |bytes: &[u8]| {
                errors(bytes);
                lines.take(bytes);
            };
            let launcher = Arc::clone(&self.launcher);
            let runtime = tokio::runtime::Handle::current();
            // Planning looks at the file system, which may be large.
            let started = run_on_thread("ringfence-start", move || {
                let _inside = runtime.enter();
                launcher.serve(service, sink)
            });
            started.await.map_err(|error| ToolError::new(error.to_string()).not_executed())?
        }
        .boxed()
    }

    fn secrets(&self) -> Vec<String> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Tells whoever runs us, and whoever keeps the audit.
struct Both(Arc<Tried>, Arc<dyn Witness>);

impl Witness for Both {
    fn saw(&self, evidence: &Evidence) {
        self.0.saw(evidence);
        self.1.saw(evidence);
    }
}

/// Returns this folder where an argument names something in it: whoever wrote the command meant it from here.
fn meant_from_here(arguments: &[String]) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let is_meant = |argument: &String| {
        !argument.is_empty()
            && !argument.starts_with(['-', '/'])
            && here.join(argument).symlink_metadata().is_ok()
    };
    arguments.iter().any(is_meant).then_some(here)
}

/// Reads the command of a server.
fn what(entry: &ServerEntry, command: &[String], refresh: Refresh) -> Result<What, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint };
    let read = Install::read(command).map_err(|error| input(error.to_string(), Some(error.hint())))?;
    if let Some(install) = read {
        return Ok(What::Package { install, registry: entry.registry.clone(), refresh });
    }
    let (program, arguments) =
        command.split_first().ok_or_else(|| input("no command is given".to_owned(), None))?;
    let here = std::env::current_dir().unwrap_or_default();
    let found = if program.contains('/') { Some(here.join(program)) } else { find_program(program) };
    let found = found.filter(|path| path.exists());
    let program = found.ok_or_else(|| {
        let hint = "install it, or write its whole path";
        input(format!("no program is named `{program}`"), Some(hint))
    })?;
    Ok(What::Here { program, arguments: arguments.to_vec() })
}

fn find(what: What) -> Result<Program, String> {
    match what {
        What::Here { program, arguments } => {
            let mut install = own_install(&program, &arguments);
            // `env` would look in the folders of the system only, and find another interpreter than the client's.
            let Some(interpreter) = own_interpreter(&program) else {
                return Ok(Program { program, arguments, install });
            };
            let script = std::iter::once(program.to_string_lossy().into_owned());
            let arguments: Vec<String> = script.chain(arguments).collect();
            install.extend(own_install(&interpreter, &arguments));
            install.push(program);
            Ok(Program { program: interpreter, arguments, install })
        }
        What::Package { install, registry, refresh } => {
            let found = installed(&install, registry.as_ref(), refresh, &|line| tell(line));
            let found = found.map_err(|error| {
                let hint = error.hint().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
                let why = error.code().map(|code| format!("; {}", explain_line(code.as_str())));
                format!("{error}{hint}{}", why.unwrap_or_default())
            })?;
            let mut install = found.beside;
            install.push(found.root);
            Ok(Program { program: found.program, arguments: found.arguments, install })
        }
    }
}
