//! A program that stays: it is asked things over a pipe for as long as somebody asks.
//!
//! INVARIANT: whoever drops a [`Running`] ends the program and everything it has started.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ringfence_egress::Scope;
use ringfence_policy::{Grant, Limits, NetworkGrant};
use ringfence_sandbox::{Access, Ending, Part, Plan, Spec, Streams};
use tokio::sync::oneshot;

use super::{SandboxLauncher, gated, refused};
use crate::error::ToolError;

/// How much of a stack the thread needs that waits for a program to end.
const STACK: usize = 256 << 10;

/// A program that is started once and asked many things, confined to its grant.
#[derive(Clone, Debug)]
pub struct Service {
    /// The program, as an absolute path. It may always be started.
    pub program: PathBuf,
    /// The name it is called by; its path where none is given.
    pub called: Option<String>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working directory; `here` or the private scratch folder where none is given.
    pub directory: Option<PathBuf>,
    /// Where it starts if something there is granted and no directory is given.
    pub here: Option<PathBuf>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// What it may spend. Time and output have no limit where none is given.
    pub limits: Limits,
    /// What it may reach.
    pub grant: Arc<Grant>,
    /// Whether it may open Unix sockets, which reach only what a granted path holds.
    pub unix_sockets: bool,
    /// Its own files, which it may read and run whatever the grant says.
    pub install: Vec<PathBuf>,
    /// What everything that it does on the network belongs to, also what it does in vain; without one it has no network.
    pub network: Option<Scope>,
}

/// A program that runs. Dropping it kills the program.
#[derive(Debug)]
pub struct Running {
    /// The end of its standard input to write to.
    pub input: OwnedFd,
    /// The end of its standard output to read from.
    pub output: OwnedFd,
    /// Is told how it ended.
    pub ended: oneshot::Receiver<ServiceEnd>,
    /// While this is held, it lives.
    pub leash: OwnedFd,
    /// How much memory it uses with everything it has started, in bytes; 0 where that is not seen.
    pub memory: Arc<AtomicU64>,
}

/// How a program ended that was to stay.
#[derive(Clone, Debug)]
pub enum ServiceEnd {
    /// It ran, and this is how it ended: a sentence without a subject, such as `exited with code 1`.
    Ended(String),
    /// It never ran.
    Refused(ToolError),
}

impl SandboxLauncher {
    /// Starts a program that stays. `errors` is given what it writes to its standard error, piece by piece, on a thread of
    /// its own.
    ///
    /// # Errors
    ///
    /// The sandbox cannot enforce the grant, or nothing can be started at all. What fails later is told by [`Running::ended`].
    pub fn serve(
        &self,
        service: Service,
        mut errors: impl FnMut(&[u8]) + Send + 'static,
    ) -> Result<Running, ToolError> {
        let plan = self.plan_of(&service)?;
        let failed = |error: std::io::Error| {
            ToolError::new(format!("the program cannot be started: {error}")).not_executed()
        };
        let pipe = || -> Result<(OwnedFd, OwnedFd), ToolError> {
            let (end, other) = std::io::pipe().map_err(failed)?;
            Ok((end.into(), other.into()))
        };
        let (their_input, input) = pipe()?;
        let (output, their_output) = pipe()?;
        let (held, leash) = pipe()?;
        let (tell, ended) = oneshot::channel();
        let (sandbox, dialer, scope) = (Arc::clone(&self.sandbox), self.dialer.clone(), service.network);
        let runtime = tokio::runtime::Handle::current();
        let memory = Arc::<AtomicU64>::default();
        let gauge = Arc::clone(&memory);
        let work = move || {
            let mut gate = None;
            let streams =
                Streams::default().input_pipe(their_input).output_to(their_output).leash(held).gauge(gauge);
            let streams = streams.observe(move |_, bytes| {
                errors(bytes);
                ControlFlow::Continue(())
            });
            let streams = gated(streams, scope, dialer, &runtime, &mut gate);
            let report = sandbox.run_plan(&plan, streams);
            drop(gate);
            // Whoever started it may be gone.
            let _told = tell.send(match report {
                Ok(report) => ServiceEnd::Ended(said(report.ending, &report.exceeded)),
                Err(error) => ServiceEnd::Refused(refused(&error)),
            });
        };
        let thread = std::thread::Builder::new().name("ringfence-server".into()).stack_size(STACK);
        thread.spawn(work).map_err(failed)?;
        Ok(Running { input, output, ended, leash, memory })
    }

    fn plan_of(&self, service: &Service) -> Result<Plan, ToolError> {
        let mut spec = Spec::new(&service.program).arguments(&service.arguments).service();
        if let Some(name) = &service.called {
            spec = spec.called(name);
        }
        spec = super::reaching(spec, &service.grant, &self.search, service.limits)?;
        // What it asks for in vain is seen too, where the backend can show it.
        if service.network.is_some() && !self.sandbox.backend().unsupported().contains(&Part::Hosts) {
            spec = spec.gated(service.grant.network.as_ref().unwrap_or(&NetworkGrant::default()));
        }
        for path in &service.install {
            spec = spec.tree(path, Access::EXECUTE);
        }
        for (name, value) in &service.environment {
            spec = spec.variable(name, value);
        }
        if let Some(directory) = &service.directory {
            spec = spec.directory(directory);
        }
        if service.unix_sockets {
            spec = spec.unix_sockets();
        }
        if let Some(here) = &service.here {
            spec = spec.directory_if_possible(here);
        }
        self.sandbox.plan(&spec).map_err(|error| refused(&error))
    }
}

fn said(ending: Ending, exceeded: &[ringfence_sandbox::LimitName]) -> String {
    let ended = match ending {
        Ending::Exited(code) => format!("exited with code {code}"),
        Ending::Signalled(signal) => format!("was ended by signal {signal}"),
        Ending::TimedOut => "was ended when its time was up".to_owned(),
    };
    let limits: Vec<String> = exceeded.iter().map(|limit| format!("`{limit}`")).collect();
    if limits.is_empty() { ended } else { format!("{ended}, at its limit of {}", limits.join(", ")) }
}
