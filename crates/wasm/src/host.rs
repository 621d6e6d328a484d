//! The engine: compiled code, the pool of instances, the clock of deadlines.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ringfence::Tool as RingfenceTool;
use ringfence::policy::{Declaration, Runtime};
use tokio::sync::Semaphore;
use wasmtime::component::{Component, Linker};
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel,
    PoolingAllocationConfig,
};

use crate::bindings::ToolPre;
use crate::call::ask;
use crate::error::said;
use crate::import::{self, Import};
use crate::limit::{self, TABLE_ENTRIES};
use crate::link::link;
use crate::package::normal;
use crate::shape;
use crate::state::State;
use crate::ticker::Ticker;
use crate::tool::WasmTool;
use crate::{Package, WasmError};

/// Instances that may run at a time, unless told otherwise.
const INSTANCES: u32 = 64;
/// The most memory that any one instance can have, whatever its limit says: all that 32 bits address.
const MEMORY: usize = 4 << 30;
/// The stack of a guest.
const STACK: usize = 512 << 10;
/// The stack that a guest and the host functions it calls run on.
const WHOLE_STACK: usize = 1 << 20;
/// Memory of a slot that is wiped instead of given back, so that the next instance need not fault it in.
const KEPT: usize = 256 << 10;
/// How long a component may take to say what it is.
const ASKING: Duration = Duration::from_secs(5);

/// One engine per process. Cloning is cheap, and clones are the same engine.
///
/// A tool that was made by a host keeps it alive.
#[derive(Clone)]
pub struct Host(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) engine: Engine,
    linker: Linker<State>,
    pub(crate) ticker: Ticker,
    /// As many permits as there are places in the pool.
    pub(crate) places: Semaphore,
    pub(crate) fuel: Option<u64>,
}

/// Settings of a [`Host`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct HostBuilder {
    cache: Option<PathBuf>,
    fuel: Option<u64>,
    instances: u32,
}

impl Host {
    /// Starts from no cache, no fuel, and 64 instances at a time.
    pub fn builder() -> HostBuilder {
        HostBuilder { cache: None, fuel: None, instances: INSTANCES }
    }

    /// Makes the tool that a component is: compiles it, compares what it imports with what it declares, and asks it,
    /// with nothing granted, whether it says of itself what its section says.
    ///
    /// This compiles, which takes as long as the component is large, and blocks the thread meanwhile.
    ///
    /// # Errors
    ///
    /// See [`WasmError`]. All imports that the declaration does not cover are named at once.
    pub fn tool(
        &self,
        package: &Package,
        declaration: Declaration,
    ) -> Result<Arc<dyn RingfenceTool>, WasmError> {
        same_component(package, &declaration)?;
        limit::check(&declaration)?;
        covered(import::of_bytes(package.bytes())?, &declaration)?;
        let component = self.compile(package.bytes())?;
        let said = asked(self, &component)?;
        let same = normal(&said).is_ok_and(|said| normal(package.declaration()).is_ok_and(|own| own == said));
        if !same {
            return Err(WasmError::Differs);
        }
        Ok(Arc::new(WasmTool { host: self.clone(), component, declaration }))
    }

    /// Asks a component what it is, with nothing granted. It need not have a section yet.
    ///
    /// # Errors
    ///
    /// The bytes are no component of the world `ringfence:tool/tool`, or it does not answer.
    pub async fn ask(&self, bytes: &[u8]) -> Result<String, WasmError> {
        // Also finds out whether it is a component at all.
        crate::section::find(bytes)?;
        let component = self.compile(bytes)?;
        within(ask(self, &component)).await
    }

    fn compile(&self, bytes: &[u8]) -> Result<ToolPre<State>, WasmError> {
        // The engine writes out every instance that it stands for.
        shape::check(bytes)?;
        let component = Component::from_binary(&self.0.engine, bytes)
            .map_err(|error| WasmError::Compile { problem: said(&error) })?;
        let linked = self.0.linker.instantiate_pre(&component);
        let linked = linked.map_err(|error| WasmError::Exports { problem: said(&error) })?;
        ToolPre::new(linked).map_err(|error| WasmError::Exports { problem: said(&error) })
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.0
    }
}

/// Refuses a declaration that was read from another file.
fn same_component(package: &Package, declaration: &Declaration) -> Result<(), WasmError> {
    match &declaration.runtime {
        Runtime::Wasm { component } if component == package.digest() => Ok(()),
        Runtime::Wasm { component } => {
            Err(WasmError::Other { declared: component.clone(), found: package.digest().to_owned() })
        }
        _ => Err(WasmError::Other { declared: "none".to_owned(), found: package.digest().to_owned() }),
    }
}

/// Refuses imports that a declaration does not cover, all of them at once.
fn covered(imports: Vec<Import>, declaration: &Declaration) -> Result<(), WasmError> {
    let declared: Vec<_> =
        declaration.capabilities.iter().flat_map(ringfence::Capabilities::surfaces).collect();
    let beyond: Vec<Import> = imports
        .into_iter()
        .filter(|import| !import.known || import.needs.is_some_and(|needs| !declared.contains(&needs)))
        .collect();
    if beyond.is_empty() { Ok(()) } else { Err(WasmError::Imports { imports: beyond }) }
}

/// Asks a component what it is, from a thread that need not belong to any runtime.
fn asked(host: &Host, component: &ToolPre<State>) -> Result<String, WasmError> {
    let failed = |problem: String| WasmError::Ask { problem };
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let runtime = runtime.map_err(|error| failed(said(&error)))?;
            runtime.block_on(within(ask(host, component)))
        });
        asking.join().unwrap_or_else(|_| Err(failed("the engine panicked".to_owned())))
    })
}

async fn within(asking: impl Future<Output = Result<String, WasmError>>) -> Result<String, WasmError> {
    let late = |_| WasmError::Ask { problem: format!("it took longer than {} seconds", ASKING.as_secs()) };
    tokio::time::timeout(ASKING, asking).await.map_err(late)?
}

impl HostBuilder {
    /// Keeps compiled code in a folder. It must be the caller's alone: whoever can write there chooses what runs.
    pub fn cache(mut self, folder: PathBuf) -> Self {
        self.cache = Some(folder);
        self
    }

    /// Sets how many instructions a call may run, roughly; none counts none. Counting makes every call slower.
    pub fn fuel(mut self, per_call: Option<u64>) -> Self {
        self.fuel = per_call;
        self
    }

    /// Sets how many instances may run at a time. A call beyond waits for a place.
    pub fn instances(mut self, most: u32) -> Self {
        self.instances = most.max(1);
        self
    }

    /// Starts the engine.
    ///
    /// # Errors
    ///
    /// The address space for the pool cannot be had, the cache folder cannot be used, or no thread can be started.
    pub fn build(self) -> Result<Host, WasmError> {
        let failed = |error: wasmtime::Error| WasmError::Engine { problem: said(&error) };
        let mut config = Config::new();
        config
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(self.instances)))
            .async_stack_size(WHOLE_STACK)
            .concurrency_support(false)
            .consume_fuel(self.fuel.is_some())
            .cranelift_opt_level(OptLevel::Speed)
            .epoch_interruption(true)
            .generate_address_map(false)
            .max_wasm_stack(STACK)
            .wasm_backtrace_max_frames(None)
            .wasm_component_model(true)
            .wasm_memory64(false);
        if let Some(folder) = self.cache {
            let mut cache = CacheConfig::new();
            cache.with_directory(folder);
            config.cache(Some(Cache::new(cache).map_err(failed)?));
        }
        let engine = Engine::new(&config).map_err(failed)?;
        let mut linker = Linker::new(&engine);
        link(&mut linker).map_err(failed)?;
        let ticker = Ticker::start(&engine)?;
        let places = Semaphore::new(usize::try_from(self.instances).unwrap_or(usize::MAX >> 3));
        Ok(Host(Arc::new(Parts { engine, linker, ticker, places, fuel: self.fuel })))
    }
}

/// The room for so many components at a time, each with all that one may have: nobody takes another's place.
fn pool(instances: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    // Where the kernel can say which pages were written, only those are wiped.
    pool.pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(KEPT)
        .table_keep_resident(KEPT)
        .max_core_instances_per_component(100)
        .max_memories_per_component(4)
        .max_tables_per_component(20)
        .max_memory_size(MEMORY)
        .max_tables_per_module(8)
        .table_elements(TABLE_ENTRIES)
        .total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(100))
        .total_memories(instances.saturating_mul(4))
        .total_stacks(instances.saturating_add(1))
        .total_tables(instances.saturating_mul(20));
    pool
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("fuel", &self.0.fuel).finish_non_exhaustive()
    }
}
