//! The launcher that runs process tools in a sandbox of this machine.

mod service;
mod thread;

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use ringfence_egress::{CachedResolver, Dialer, Gate, Scope, Sockets, SystemResolver};
use ringfence_policy::{Code, Grant, Limits, Refusal, Span};
use ringfence_sandbox::{Ending, Report, Sandbox, SandboxError, SearchPath, Spec, Streams};
use sha2::{Digest, Sha256};

use crate::error::ToolError;
use crate::port::{Confinement, Launch, Launcher, ProcessOutput};

pub use service::{Running, Service, ServiceEnd};
use thread::CallThreads;
pub use thread::{ThreadError, run_on_thread};

/// Runs process tools in a [`Sandbox`], confined to their grants.
///
/// Binaries are looked up on a fixed search path, whatever the environment says. Each call has a thread of its own; at most 64 calls
/// run at the same time, and more wait for their turn.
#[derive(Debug)]
pub struct SandboxLauncher {
    sandbox: Arc<Sandbox>,
    search: SearchPath,
    digests: Arc<Digests>,
    dialer: Dialer,
    calls: CallThreads,
}

impl SandboxLauncher {
    /// Runs everything in this sandbox, with programs of the system's folders.
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox: Arc::new(sandbox),
            search: SearchPath::default(),
            digests: Arc::default(),
            dialer: Dialer::new(Arc::new(CachedResolver::new(SystemResolver))),
            calls: CallThreads::default(),
        }
    }

    /// Connects to granted hosts by this dialer.
    #[must_use]
    pub fn dialer(mut self, dialer: Dialer) -> Self {
        self.dialer = dialer;
        self
    }

    /// Looks programs up here.
    #[must_use]
    pub fn search(mut self, search: SearchPath) -> Self {
        self.search = search;
        self
    }

    fn spec(&self, launch: &Launch) -> Result<Spec, ToolError> {
        let program = match &launch.image {
            // Looked up inside, on the search path of the sandbox.
            Some(_) => PathBuf::from(&launch.binary),
            None => self.search.find(&launch.binary).ok_or_else(|| {
                Refusal::new(Code::BinaryNotFound, format!("no program is named `{}`", launch.binary)).hint(
                    "programs are looked for in the system's folders; name another by its absolute path",
                )
            })?,
        };
        let mut limits = launch.limits;
        limits.wall = match (limits.wall, launch.timeout.map(Span::new)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let mut spec = Spec::new(program).called(&launch.binary).arguments(&launch.arguments);
        spec = reaching(spec, &launch.grant, &self.search, limits)?.assurance(launch.assurance);
        if let Some(image) = &launch.image {
            spec = spec.in_image(image);
        }
        for (name, value) in &launch.environment {
            spec = spec.variable(name, value);
        }
        let is_jailed = launch.grant.fs.as_ref().is_some_and(|fs| fs.jail().is_some());
        Ok(match &launch.cwd {
            // Paths were judged from the jail, and mean nothing elsewhere.
            Some(directory) if is_jailed => spec.directory(directory),
            // The folder a run works in need not be granted to each of its tools.
            Some(directory) => spec.directory_if_possible(directory),
            None => spec,
        })
    }
}

fn reaching(spec: Spec, grant: &Grant, search: &SearchPath, limits: Limits) -> Result<Spec, ToolError> {
    // A granted path that does not exist grants nothing.
    let spec = spec.limits(limits).missing_paths_are_nothing();
    spec.grant(grant, |name| search.find(name)).map_err(|error| refused(&error))
}

impl Launcher for SandboxLauncher {
    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        async move {
            let spec = self.spec(&launch)?;
            let (sandbox, digests) = (Arc::clone(&self.sandbox), Arc::clone(&self.digests));
            // Whoever gives the call up drops its end, and the command dies.
            let (end, _held) = std::io::pipe()
                .map_err(|error| ToolError::new(format!("no pipe could be made: {error}")).not_executed())?;
            let streams = Streams::default().input(launch.stdin).leash(end.into());
            let (scope, dialer) = (launch.network, self.dialer.clone());
            let runtime = tokio::runtime::Handle::current();
            let (awaited, waits) = tokio::sync::oneshot::channel::<std::convert::Infallible>();
            let work = move || {
                let plan = sandbox.plan(&spec).map_err(|error| refused(&error))?;
                let digest = digests.of(plan.program.as_path());
                let mut gate = None;
                let streams = gated(streams, scope, dialer, &runtime, &mut gate);
                let report = sandbox.run_plan(&plan, streams);
                // What the command sent before it ended still arrives, and everything it did is known when it is told.
                // A call that was given up has nobody to tell, and its runtime may be gone: the gate is cut instead.
                if let Some(gate) = gate.filter(|_| !awaited.is_closed()) {
                    runtime.block_on(gate.close());
                }
                Ok(output(report.map_err(|error| refused(&error))?, plan.program, digest))
            };
            // Not a blocking thread of the runtime: there are few, and lookups, the audit and the store wait for them.
            let worked = self.calls.run(work).await;
            drop(waits);
            worked?
        }
        .boxed()
    }
}

/// Has a gate opened on the sockets of the sandbox, where something is to be reached by the network at all.
fn gated<'a>(
    streams: Streams<'a>,
    scope: Option<Scope>,
    dialer: Dialer,
    runtime: &'a tokio::runtime::Handle,
    gate: &'a mut Option<Gate>,
) -> Streams<'a> {
    let Some(scope) = scope else { return streams };
    streams.gate(move |made| {
        let sockets = Sockets { listeners: made.listeners, dns: made.dns };
        *gate = Some(Gate::open_on(runtime, scope, dialer, sockets)?);
        Ok(())
    })
}

/// Nothing ran: a decision, or a machine that cannot enforce it.
fn refused(error: &SandboxError) -> ToolError {
    let refusal = Refusal::new(error.code(), error.to_string());
    ToolError::from(match error.hint() {
        Some(hint) => refusal.hint(hint),
        None => refusal,
    })
    .not_executed()
}

fn output(report: Report, program: PathBuf, digest: Option<String>) -> ProcessOutput {
    let (code, signal) = match report.ending {
        Ending::Exited(code) => (code, None),
        Ending::Signalled(signal) => (128 + signal, Some(signal)),
        Ending::TimedOut => (124, None),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut stderr = text(&report.stderr.bytes);
    for (path, why) in &report.left {
        let what = if report.is_replaced(path) { "" } else { " and could not be moved aside" };
        let path = path.to_string_lossy();
        let path = path.escape_debug();
        stderr.push_str(&format!("ringfence: `{path}` is protected{what}: {why}\n"));
    }
    ProcessOutput {
        // What is left is not done, whatever the command says of itself.
        exit_code: if code == 0 && !report.left.is_empty() { 1 } else { code },
        signal,
        stdout: text(&report.stdout.bytes),
        stderr,
        dropped: report.stdout.dropped + report.stderr.dropped,
        confinement: Some(Confinement {
            backend: report.backend,
            tier: report.tier,
            assurance: report.assurance,
            program,
            digest,
            usage: report.usage,
            limits: report.limits,
            exceeded: report.exceeded,
            denied: report.denied,
            quarantined: report.quarantined,
            left: report.left,
        }),
    }
}

/// Digests of programs, each computed once as long as its file stays the same.
#[derive(Debug, Default)]
struct Digests(Mutex<HashMap<PathBuf, (Stamp, String)>>);

type Stamp = (u64, u64, u64, i64, i64);

impl Digests {
    fn of(&self, path: &Path) -> Option<String> {
        let metadata = std::fs::metadata(path).ok()?;
        let stamp =
            (metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime_nsec(), metadata.ctime_nsec());
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if let Some((_, digest)) = known.filter(|(known, _)| *known == stamp) {
            return Some(digest);
        }
        let mut file = std::fs::File::open(path).ok()?;
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 256 << 10]);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => hash.update(buffer.get(..length).unwrap_or_default()),
                Err(_) => return None,
            }
        }
        let digest = format!("sha256:{}", crate::digest::hex(&hash.finalize()));
        let entry = (stamp, digest.clone());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), entry);
        Some(digest)
    }
}
