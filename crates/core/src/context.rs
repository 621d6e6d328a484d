//! What a tool's code receives: who calls, and the handles for what was granted.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ringfence_egress::Scope;
use ringfence_policy::{Assurance, Code, Grant, Limits, Refusal, StorageScope, Surface, ToolName};
use tokio_util::sync::CancellationToken;

use crate::backend::StoreBackend;
use crate::call::Carried;
use crate::fs::ScopedFs;
use crate::handle::{KeyValueStore, ScopedEnvironment, ScopedFetch, ScopedProcess, ScopedSecrets};
use crate::network::{Connections, Reached};
use crate::port::{Confinement, Fence};
use crate::registry::Parts as Registry;
use crate::run::RunInfo;
use crate::touch::Touches;

/// The context of one call. Cloning is cheap.
///
/// A handle exists only for a declared surface: asking for another is refused, so that a tool cannot reach what
/// its declaration does not show. Handles end with their call: a later use is refused `CALL_ENDED` and recorded, and
/// processes and connections that are still open are ended.
#[derive(Clone)]
pub struct Context(Arc<Parts>);

/// What a context is made of.
pub(crate) struct Parts {
    pub(crate) tool: ToolName,
    pub(crate) call: u64,
    pub(crate) run: RunInfo,
    /// A child of the run's token, made when it is asked for: cancelling it does not cancel the run.
    pub(crate) cancellation: OnceLock<CancellationToken>,
    pub(crate) personality: Option<Arc<str>>,
    pub(crate) grant: Arc<Grant>,
    /// The digest of the tool's definition.
    pub(crate) digest: Arc<str>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) limits: Limits,
    /// How sure it must be that what the call starts is confined.
    pub(crate) assurance: Assurance,
    /// The idempotency key of the call, and the fence it was claimed with.
    pub(crate) key: Option<(String, Fence)>,
    /// What whoever made the call gave it for the tool.
    pub(crate) carried: Option<Carried>,
    /// What confined the processes that the call has started.
    pub(crate) processes: Mutex<Vec<Confinement>>,
    /// What it does on the network, from the first time it goes there.
    pub(crate) reached: OnceLock<Reached>,
    /// What the call touches and is refused.
    pub(crate) touches: Touches,
}

impl Drop for Parts {
    fn drop(&mut self) {
        if let Some(reached) = self.reached.get() {
            reached.scope.revoke();
            self.registry.live.remove(self.call);
        }
    }
}

impl Context {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Returns the tool's name.
    pub fn tool(&self) -> &ToolName {
        &self.0.tool
    }

    /// Returns the number of the call, unique in its registry.
    pub fn call(&self) -> u64 {
        self.0.call
    }

    /// Returns the run the call belongs to, to look at.
    pub fn run(&self) -> &RunInfo {
        &self.0.run
    }

    /// Returns the directory that relative paths start from, where there is one.
    pub fn working_dir(&self) -> Option<&Path> {
        self.0.run.working_dir()
    }

    /// Returns a token that is cancelled with the run, for tools that can stop early. Cancelling it does nothing to the run.
    pub fn cancellation(&self) -> &CancellationToken {
        self.0.cancellation.get_or_init(|| self.0.run.as_run().cancellation().child_token())
    }

    /// Returns the idempotency key of the call and the fence it was claimed with, where it has one. A tool passes the key on to
    /// whatever it changes, so that a call that is made again is recognised there too.
    pub fn idempotency_key(&self) -> Option<(&str, Fence)> {
        self.0.key.as_ref().map(|(key, fence)| (key.as_str(), *fence))
    }

    /// Returns what the call carries for the tool, where it carries such a thing. See [`Call::carrying`](crate::Call::carrying).
    pub fn carried<T: std::any::Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.carried.clone()?.downcast().ok()
    }

    /// Returns the grant, as data.
    pub fn grant(&self) -> &Grant {
        &self.0.grant
    }

    /// Returns what the call may spend: the tighter of what the tool and the operator say.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Returns the HTTP handle.
    ///
    /// # Errors
    ///
    /// `NOT_AVAILABLE` when `network` was not declared.
    pub fn fetch(&self) -> Result<ScopedFetch, Refusal> {
        let client = self.declared(
            Surface::Network,
            self.0.grant.network.is_some(),
            &self.0.registry.backends.network,
        )?;
        let scope = self.scope().ok_or_else(|| self.undeclared(Surface::Network))?;
        Ok(ScopedFetch::new(scope, client.clone(), self.touches().clone()))
    }

    /// Returns the file handle.
    ///
    /// # Errors
    ///
    /// `NOT_AVAILABLE` when `fs_reach` was not declared.
    pub fn fs(&self) -> Result<ScopedFs, Refusal> {
        let files =
            self.declared(Surface::FsReach, self.0.grant.fs.is_some(), &self.0.registry.backends.files)?;
        let grant = self.0.grant.fs.clone().unwrap_or_default();
        Ok(ScopedFs::new(files, grant, self.working_dir().map(Path::to_path_buf))
            .telling(self.touches().clone()))
    }

    /// Returns the secrets handle.
    ///
    /// # Errors
    ///
    /// `NOT_AVAILABLE` when `secrets` was not declared.
    pub fn secrets(&self) -> Result<ScopedSecrets, Refusal> {
        let source = self.declared(
            Surface::Secrets,
            self.0.grant.secrets.is_some(),
            &self.0.registry.backends.secrets,
        )?;
        Ok(ScopedSecrets::new(self.grant_arc(), Arc::clone(source), self.touches().clone()))
    }

    /// Returns the process handle.
    ///
    /// # Errors
    ///
    /// `NOT_AVAILABLE` when `process` was not declared.
    pub fn process(&self) -> Result<ScopedProcess, Refusal> {
        let launcher = self.declared(
            Surface::Process,
            self.0.grant.process.is_some(),
            &self.0.registry.backends.launcher,
        )?;
        Ok(ScopedProcess::new(self.clone(), Arc::clone(launcher), self.0.limits))
    }

    /// Returns the process handle for the programs of images.
    ///
    /// # Errors
    ///
    /// `NOT_AVAILABLE` when `process` was not declared.
    pub(crate) fn containers(&self) -> Result<ScopedProcess, Refusal> {
        let granted = self.0.grant.process.is_some();
        let launcher = self.declared(Surface::Process, granted, &self.0.registry.backends.containers)?;
        Ok(ScopedProcess::new(self.clone(), Arc::clone(launcher), self.0.limits))
    }

    /// Returns how sure it must be that what the call starts is confined.
    pub(crate) fn assurance(&self) -> Assurance {
        self.0.assurance
    }

    /// Returns the environment handle.
    ///
    /// # Errors
    ///
    /// `NOT_AVAILABLE` when `environment` was not declared.
    pub fn environment(&self) -> Result<ScopedEnvironment, Refusal> {
        let granted = self.0.grant.environment.is_some();
        let environment =
            self.declared(Surface::Environment, granted, &self.0.registry.backends.environment)?;
        Ok(ScopedEnvironment::new(self.grant_arc(), environment.clone(), self.touches().clone()))
    }

    /// Returns the key-value handle, in the namespace of the declared scope.
    ///
    /// # Errors
    ///
    /// `NOT_AVAILABLE` when `storage` was not declared, or the store cannot be opened.
    pub fn store(&self) -> Result<KeyValueStore, Refusal> {
        let store =
            self.declared(Surface::Storage, self.0.grant.storage.is_some(), &self.0.registry.backends.store)?;
        let storage = self.0.grant.storage.ok_or_else(|| self.undeclared(Surface::Storage))?;
        let ttl = storage.ttl_seconds_default.map(Duration::from_secs);
        let namespace = self.namespace(storage.scope);
        let store = match store {
            StoreBackend::Shared(store) => Arc::clone(store),
            StoreBackend::PerTool(factory) => {
                self.0.run.as_run().stores().open(factory, &self.0.tool, &namespace)?
            }
        };
        Ok(KeyValueStore::new(store, namespace, ttl, self.touches().clone()))
    }

    fn namespace(&self, scope: StorageScope) -> Arc<str> {
        match (scope, &self.0.personality) {
            (StorageScope::ToolPrivate, _) => format!("tool:{}", self.0.tool).into(),
            (StorageScope::Personality, Some(id)) => format!("personality:{id}").into(),
            (StorageScope::Personality, None) | (StorageScope::Session, _) => {
                self.0.run.as_run().session_namespace()
            }
        }
    }

    /// Returns where it is kept what the call touches and is refused.
    pub(crate) fn touches(&self) -> &Touches {
        &self.0.touches
    }

    /// Remembers what confined a process.
    pub(crate) fn confined(&self, confinement: Confinement) {
        self.0.processes.lock().unwrap_or_else(PoisonError::into_inner).push(confinement);
    }

    /// Returns the scope of everything the call does on the network, where it declared any.
    pub(crate) fn scope(&self) -> Option<Scope> {
        let grant = self.0.grant.network.as_ref()?;
        Some(self.0.reached.get_or_init(|| Reached::new(&self.0, grant)).scope.clone())
    }

    /// Returns what the gate said to the first connection or name of the call that it refused.
    pub(crate) fn refused_connection(&self) -> Option<String> {
        self.0.reached.get()?.first_refusal()
    }

    /// Ends what the call does on the network and takes what was seen of it.
    pub(crate) fn take_connections(&self) -> Connections {
        self.0.reached.get().map(Reached::end).unwrap_or_default()
    }

    /// Takes what confined the processes of the call so far.
    pub(crate) fn take_processes(&self) -> Vec<Confinement> {
        std::mem::take(&mut *self.0.processes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn grant_arc(&self) -> Arc<Grant> {
        Arc::clone(&self.0.grant)
    }

    fn declared<'a, T>(
        &self,
        surface: Surface,
        is_declared: bool,
        backend: &'a Option<T>,
    ) -> Result<&'a T, Refusal> {
        self.touches().admit(surface.as_str(), "handle")?;
        backend.as_ref().filter(|_| is_declared).ok_or_else(|| self.undeclared(surface))
    }

    fn undeclared(&self, surface: Surface) -> Refusal {
        Refusal::new(Code::NotAvailable, format!("Tool {} did not declare `{surface}`", self.0.tool))
            .hint(format!("declare `{surface}` in the tool's capabilities"))
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("tool", &self.0.tool)
            .field("call", &self.0.call)
            .field("grant", &self.0.grant)
            .finish_non_exhaustive()
    }
}
