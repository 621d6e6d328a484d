//! The stores that a factory has opened for the tools of one run: each once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ringfence_policy::{Code, Refusal, ToolName};

use crate::port::{Store, StoreFactory};

/// Which factory a store is from, for which tool and which namespace.
type Key = (usize, ToolName, Arc<str>);

/// The stores of a run. They are closed with it.
#[derive(Default)]
pub(crate) struct OpenStores(Mutex<HashMap<Key, Opened>>);

/// A store and its factory, which is kept so that no other one gets its address.
struct Opened {
    store: Arc<dyn Store>,
    _factory: Arc<dyn StoreFactory>,
}

impl OpenStores {
    /// Returns the store of a tool; asks the factory the first time, and again only after it has failed.
    pub(crate) fn open(
        &self,
        factory: &Arc<dyn StoreFactory>,
        tool: &ToolName,
        namespace: &Arc<str>,
    ) -> Result<Arc<dyn Store>, Refusal> {
        // A run may be used with several registries.
        let origin = Arc::as_ptr(factory).cast::<()>().addr();
        let key = (origin, tool.clone(), Arc::clone(namespace));
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = stores.get(&key) {
            return Ok(Arc::clone(&opened.store));
        }
        let store = factory.open_store(tool, namespace).map_err(|error| {
            Refusal::new(
                Code::NotAvailable,
                format!("the storage of tool `{tool}` cannot be opened: {error}"),
            )
        })?;
        stores.insert(key, Opened { store: Arc::clone(&store), _factory: Arc::clone(factory) });
        Ok(store)
    }
}

impl fmt::Debug for OpenStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenStores")
    }
}
