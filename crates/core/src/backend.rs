//! Enforcement point 3: a declared surface without its backend is refused, never skipped.

use std::sync::Arc;

use ringfence_egress::Client;
use ringfence_policy::{Capabilities, Code, Declaration, Refusal, Runtime, Surface};

use crate::fs::{FileStorage, HostFiles};
use crate::port::{Environment, Launcher, SecretSource, Store, StoreFactory};

/// What stands behind `storage`.
#[derive(Clone)]
pub(crate) enum StoreBackend {
    /// One store for all.
    Shared(Arc<dyn Store>),
    /// A store for each tool and run.
    PerTool(Arc<dyn StoreFactory>),
}

/// What stands behind the scoped handles. Starts with nothing, so that every declared surface is refused.
#[derive(Clone, Default)]
#[must_use = "backends do nothing until a registry is built with them"]
pub struct Backends {
    pub(crate) network: Option<Client>,
    pub(crate) secrets: Option<Arc<dyn SecretSource>>,
    pub(crate) store: Option<StoreBackend>,
    pub(crate) files: Option<HostFiles>,
    pub(crate) launcher: Option<Arc<dyn Launcher>>,
    pub(crate) containers: Option<Arc<dyn Launcher>>,
    pub(crate) environment: Option<Environment>,
}

impl Backends {
    /// Starts with nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Starts with what every machine has: its files, and the network through a client of its own. Secrets, storage,
    /// processes and variables are the program's to give, and are refused until they are.
    pub fn system() -> Self {
        Self::none().files(HostFiles::new()).network(Client::builder().build())
    }

    /// Lets `network` work, through this client.
    pub fn network(mut self, client: Client) -> Self {
        self.network = Some(client);
        self
    }

    /// Lets `secrets` work, from this source.
    pub fn secrets(mut self, source: Arc<dyn SecretSource>) -> Self {
        self.secrets = Some(source);
        self
    }

    /// Lets `storage` work, in this store.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(StoreBackend::Shared(store));
        self
    }

    /// Lets `storage` work, in stores that this opens: one for each tool and run.
    pub fn store_factory(mut self, factory: impl StoreFactory + 'static) -> Self {
        self.store = Some(StoreBackend::PerTool(Arc::new(factory)));
        self
    }

    /// Lets `fs_reach` work, on this machine's files.
    pub fn files(mut self, files: HostFiles) -> Self {
        self.files = Some(files);
        self
    }

    /// Lets `fs_reach` work, on files that are kept elsewhere, such as [`MemoryFiles`](crate::MemoryFiles) in a test.
    ///
    /// [`ScopedFs`](crate::ScopedFs) judges every path as it does on this machine. Programs that a tool starts see the
    /// machine's own files.
    pub fn file_storage(self, storage: Arc<dyn FileStorage>) -> Self {
        self.files(HostFiles::in_storage(storage))
    }

    /// Lets `process` work, inside this sandbox.
    pub fn launcher(mut self, launcher: Arc<dyn Launcher>) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Lets tools work that run in images, in this container engine.
    pub fn containers(mut self, launcher: Arc<dyn Launcher>) -> Self {
        self.containers = Some(launcher);
        self
    }

    /// Lets `environment` work, from these variables.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Says whether nothing is configured at all.
    pub const fn is_empty(&self) -> bool {
        self.network.is_none()
            && self.secrets.is_none()
            && self.store.is_none()
            && self.files.is_none()
            && self.launcher.is_none()
            && self.containers.is_none()
            && self.environment.is_none()
    }

    const fn has(&self, surface: Surface) -> bool {
        match surface {
            Surface::Environment => self.environment.is_some(),
            Surface::FsReach => self.files.is_some(),
            Surface::Network => self.network.is_some(),
            Surface::Process => self.launcher.is_some(),
            Surface::Secrets => self.secrets.is_some(),
            Surface::Storage => self.store.is_some(),
        }
    }

    /// Refuses a tool that declares a surface whose backend is missing, naming the first.
    pub(crate) fn missing_for(
        &self,
        declaration: &Declaration,
        capabilities: &Capabilities,
    ) -> Option<Refusal> {
        let tool = &declaration.name;
        let abroad = matches!(declaration.runtime, Runtime::Container { .. });
        let has = |surface| match surface {
            Surface::Process if abroad => self.containers.is_some(),
            // They are the engine's to mount.
            Surface::FsReach | Surface::Network if abroad => true,
            _ => self.has(surface),
        };
        let missing = capabilities.surfaces().find(|surface| !has(*surface))?;
        let needed =
            if abroad && missing == Surface::Process { "a container engine" } else { needs(missing) };
        let message = if self.is_empty() {
            format!("Tool {tool} declares capabilities but no capability backends are configured")
        } else {
            format!("Tool {tool} declares `{missing}` but no backend for it is configured: {needed}")
        };
        Some(Refusal::new(Code::NotAvailable, message))
    }
}

const fn needs(surface: Surface) -> &'static str {
    match surface {
        Surface::Environment => "an environment snapshot",
        Surface::FsReach => "host files",
        Surface::Network => "an HTTP client",
        Surface::Process => "a sandbox that starts processes",
        Surface::Secrets => "a secret source",
        Surface::Storage => "a key-value store",
    }
}

/// Says whether a tool with these capabilities needs any backend.
///
/// The name is that of the source documents; `{}` needs none.
pub fn needs_backends(capabilities: &Capabilities) -> bool {
    capabilities.needs_backends()
}

impl std::fmt::Debug for Backends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = [
            Surface::Environment,
            Surface::FsReach,
            Surface::Network,
            Surface::Process,
            Surface::Secrets,
            Surface::Storage,
        ];
        f.debug_set().entries(all.into_iter().filter(|surface| self.has(*surface))).finish()
    }
}
