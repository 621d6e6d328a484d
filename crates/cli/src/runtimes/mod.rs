//! What runs the tools of a toolbox that are neither programs of this machine nor ringfence's own.
//!
//! A build without one of them says so where it is asked for.

mod cache;
mod component;
#[cfg(feature = "container")]
#[path = "engine.rs"]
mod engine;
#[cfg(not(feature = "container"))]
#[path = "engine_absent.rs"]
mod engine;
mod files;

pub(crate) use cache::component_cache;
pub use component::{Component, ComponentEngine, ComponentImport, EngineError, Sealing};
pub(crate) use component::{Plugin, bring, engine as component_engine, has_engine, plugin_tools};
pub(crate) use engine::{containers, describe, sandbox, sweep};
pub(crate) use files::PolicyFiles;

/// The largest component.
const MAX_COMPONENT: u64 = 256 << 20;

/// Reads a component's file.
pub(crate) fn read_component(path: &std::path::Path) -> Result<Vec<u8>, String> {
    let said = |error: std::io::Error| error.to_string();
    let metadata = std::fs::metadata(path).map_err(said)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if metadata.len() > MAX_COMPONENT {
        return Err("it is larger than 256 MiB".to_owned());
    }
    std::fs::read(path).map_err(said)
}
