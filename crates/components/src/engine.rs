//! The host of `ringfence-wasm` as the engine of the command.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ringfence::Tool;
use ringfence::policy::Declaration;
use ringfence_cli::{Component, ComponentEngine, ComponentImport, EngineError, Sealing};
use ringfence_wasm::{Host, Package, WasmError, imports};

/// The engine, whose host is made when the first component is to run.
#[derive(Debug)]
pub(crate) struct Wasmtime(Mutex<Option<Host>>);

impl Wasmtime {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn host(&self, cache: Option<&Path>) -> Result<Host, EngineError> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = &*made {
            return Ok(host.clone());
        }
        let builder = Host::builder();
        let builder = match cache {
            Some(folder) => builder.cache(folder.to_path_buf()),
            None => builder,
        };
        Ok(made.insert(builder.build().map_err(wrong)?).clone())
    }
}

impl ComponentEngine for &'static Wasmtime {
    fn read(&self, bytes: Vec<u8>) -> Result<Arc<dyn Component>, EngineError> {
        let package = Arc::new(Package::read(bytes).map_err(wrong)?);
        Ok(Arc::new(Read { package, engine: self }))
    }

    fn seal<'a>(&'a self, bytes: &'a [u8], cache: Option<&'a Path>) -> Sealing<'a> {
        Box::pin(async move {
            let declaration = self.host(cache)?.ask(bytes).await.map_err(wrong)?;
            Package::sealed(bytes, &declaration).map_err(wrong)
        })
    }
}

/// A component that was read, and who runs it.
#[derive(Debug)]
struct Read {
    package: Arc<Package>,
    engine: &'static Wasmtime,
}

impl Component for Read {
    fn declaration(&self) -> &str {
        self.package.declaration()
    }

    fn digest(&self) -> &str {
        self.package.digest()
    }

    fn imports(&self) -> Result<Vec<ComponentImport>, EngineError> {
        let found = imports(&self.package).map_err(wrong)?.into_iter();
        Ok(found.map(|one| ComponentImport { name: one.name, known: one.known, needs: one.needs }).collect())
    }

    fn tool(&self, declaration: Declaration, cache: Option<&Path>) -> Result<Arc<dyn Tool>, EngineError> {
        self.engine.host(cache)?.tool(&self.package, declaration).map_err(wrong)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what an error is mapped by")]
fn wrong(error: WasmError) -> EngineError {
    EngineError { message: error.to_string(), hint: error.hint() }
}
