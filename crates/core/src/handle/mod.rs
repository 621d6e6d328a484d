//! The handles through which a tool reaches what it was granted, and nothing else.

mod environment;
mod fetch;
mod process;
mod secrets;
mod store;

pub use environment::ScopedEnvironment;
pub use fetch::ScopedFetch;
pub use process::{ScopedProcess, SpawnOptions};
pub use secrets::ScopedSecrets;
pub use store::KeyValueStore;
