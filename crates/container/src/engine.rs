//! A container engine as an adapter of the sandbox.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ringfence_sandbox::{Adapter, Part, Plan, Ran, SandboxError, Session};
use tokio::runtime::Handle;
use tokio::sync::OnceCell;

use crate::address::{Address, Way};
use crate::client::Client;
use crate::error::ContainerError;
use crate::nature::{Make, Nature};
use crate::owner::Owner;

/// What it is called in records.
pub(crate) const NAME: &str = "container";

/// The parts that no engine enforces here: nobody is told of refused system calls, the programs are an image's and not this machine's,
/// and streams are pipes.
pub const UNSUPPORTED: &[Part] = &[Part::Observing, Part::Programs, Part::Recording, Part::Terminal];

/// A container engine: Podman or Docker, on this machine or another.
///
/// Its requests run on a tokio runtime with more than one thread. A command is waited for on a thread of its own, so that it may be run
/// from any other.
#[derive(Clone, Debug)]
pub struct Engine(Arc<Parts>);

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) runtime: Handle,
    pub(crate) client: Client,
    pub(crate) owner: Owner,
    pub(crate) calls: AtomicU64,
    nature: OnceCell<Nature>,
}

impl Engine {
    /// Names an engine at `unix:///path`, or at `tcp://host:port` of this machine. Nothing is asked of it yet.
    ///
    /// # Errors
    ///
    /// The address is none, or leads to another machine: nothing on the way there would be encrypted.
    pub fn connect(runtime: Handle, address: &str) -> Result<Self, ContainerError> {
        Self::at(runtime, Address::parse(address, Way::Local)?)
    }

    /// As [`connect`](Self::connect), and lets an address be another machine's, unencrypted: whoever is on the way reads every secret that
    /// a command is given and can do there what they like.
    ///
    /// # Errors
    ///
    /// The address is none.
    pub fn connect_plain(runtime: Handle, address: &str) -> Result<Self, ContainerError> {
        Self::at(runtime, Address::parse(address, Way::Plain)?)
    }

    fn at(runtime: Handle, address: Address) -> Result<Self, ContainerError> {
        let here = |error| ContainerError::Here { place: "finding out which process this is", error };
        Ok(Self(Arc::new(Parts {
            runtime,
            client: Client::new(address),
            owner: Owner::this().map_err(here)?,
            calls: AtomicU64::new(0),
            nature: OnceCell::new(),
        })))
    }

    /// Asks the engine what it is, and returns it in a few words.
    ///
    /// # Errors
    ///
    /// The engine does not answer, or not as one.
    pub async fn describe(&self) -> Result<String, ContainerError> {
        let nature = self.0.nature().await?;
        let make = match nature.make {
            Make::Docker => "Docker",
            Make::Podman => "Podman",
        };
        Ok(format!("{make}, API {}", nature.api))
    }

    /// Removes the containers of gateways that are dead, and returns how many those were. A gateway does this when it starts.
    ///
    /// What another machine, another boot or another process namespace made is left alone: nothing can be known of it here.
    ///
    /// # Errors
    ///
    /// The engine does not answer, or does not let go of one.
    pub async fn sweep(&self) -> Result<usize, ContainerError> {
        let nature = self.0.nature().await?;
        crate::sweep::sweep(&self.0.client, &nature.api).await
    }
}

impl Parts {
    /// Asks once what the engine is.
    pub(crate) async fn nature(&self) -> Result<&Nature, ContainerError> {
        self.nature.get_or_try_init(|| Nature::of(&self.client)).await
    }
}

impl Adapter for Engine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn enforces(&self, plan: &Plan) -> BTreeSet<Part> {
        match aside(|| self.0.runtime.block_on(self.0.nature())) {
            Ok(Ok(nature)) => nature.enforces(plan),
            // Then nothing runs at all, and running says why.
            Ok(Err(_)) | Err(_) => {
                plan.parts().into_iter().filter(|part| !UNSUPPORTED.contains(part)).collect()
            }
        }
    }

    fn run(&self, plan: &Plan, session: &mut Session<'_>) -> Result<Ran, SandboxError> {
        let here = |error| ContainerError::Here { place: "making a thread to wait on", error };
        aside(|| self.0.runtime.block_on(crate::run::run(&self.0, plan, session)))
            .unwrap_or_else(|error| Err(here(error).into_sandbox(&plan.program)))
    }
}

/// Waits on a thread of its own: one that belongs to an asynchronous runtime must not wait for a future, and tasks that it spawned would
/// stand in its own queue behind the waiting.
fn aside<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let waiting =
            std::thread::Builder::new().name("ringfence-container".into()).spawn_scoped(scope, work)?;
        waiting.join().map_err(|_panic| std::io::Error::other("the thread that waited ended before its time"))
    })
}
