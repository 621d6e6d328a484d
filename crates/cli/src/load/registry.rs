//! From a toolbox that was read to its tools, registered with what they need to run.

use std::sync::Arc;

use ringfence::policy::{Declaration, Runtime};
use ringfence::{
    Backends, HostFiles, Launcher, RegistrationError, Registry, SandboxLauncher, Tool, declared_tool,
};
use ringfence_store::Database;

use super::Loaded;
use crate::error::CommandError;
use crate::held::Held;
use crate::runtimes::{containers, plugin_tools};
use crate::sandbox::choose;

impl Loaded {
    /// Registers every tool, with the backends that the command has.
    pub(crate) fn registry(
        self,
        held: Held,
        store: Option<Arc<dyn Database>>,
        configure: impl FnOnce(ringfence::RegistryBuilder) -> ringfence::RegistryBuilder,
    ) -> Result<Registry, CommandError> {
        let backends = Backends::none()
            .files(HostFiles::new())
            .network(ringfence::egress::Client::builder().build())
            .secrets(Arc::new(crate::secrets::source()))
            .environment(crate::secrets::environment());
        let backends = match store {
            Some(store) => backends.store(store),
            None => backends,
        };
        let starts_processes = |declaration: &Declaration| {
            !matches!(declaration.runtime, Runtime::Container { .. })
                && declaration.capabilities.as_ref().is_some_and(|own| own.process.is_some())
        };
        // Looked for only when a tool needs it: choosing a sandbox means trying it.
        let sandbox =
            self.declarations.iter().any(starts_processes).then(|| choose(self.backend, &self.text));
        let backends = match sandbox {
            Some(Ok(sandbox)) => backends.launcher(Arc::new(SandboxLauncher::new(sandbox))),
            // Without a sandbox `process` has no backend, and a call says so.
            Some(Err(_)) | None => backends,
        };
        let backends = match self.containers()? {
            Some(containers) => backends.containers(containers),
            None => backends,
        };
        let tools = self.tools()?;
        let keep = self.gateway.keep_keys.duration();
        let mut builder =
            Registry::builder().personality(self.personality).backends(backends).keep_keys(keep);
        builder = builder.manifest(held.in_force);
        if let Some(pins) = held.pins {
            builder = builder.pins(pins);
        }
        let registry = configure(builder).build();
        for tool in &tools {
            registry.register_shared(tool).map_err(|error: RegistrationError| CommandError::Input {
                message: error.to_string(),
                hint: None,
            })?;
        }
        Ok(registry)
    }

    /// Makes the tools, which may be registered more than once.
    pub(crate) fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, CommandError> {
        let mut plugin = plugin_tools(&self.files.plugins);
        let make = |declaration: &Declaration| match declaration.runtime {
            Runtime::Wasm { .. } => plugin(declaration.clone()),
            _ => declared_tool(declaration.clone()).map_err(|error| CommandError::Input {
                message: format!("tool `{}`: {error}", declaration.name),
                hint: None,
            }),
        };
        self.declarations.iter().map(make).collect()
    }

    /// Returns what starts programs of images, where a tool needs it.
    pub(crate) fn containers(&self) -> Result<Option<Arc<dyn Launcher>>, CommandError> {
        let in_image = |tool: &Declaration| matches!(tool.runtime, Runtime::Container { .. });
        if self.declarations.iter().any(in_image) { containers(&self.container) } else { Ok(None) }
    }
}
