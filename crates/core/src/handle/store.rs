//! Key-value storage in the one namespace that was granted.

use std::sync::Arc;
use std::time::Duration;

use crate::port::{Store, StoreError};
use crate::touch::Touches;

/// Keys and string values in a namespace the tool did not choose and cannot leave. After the call everything is refused `CALL_ENDED`.
#[derive(Clone)]
pub struct KeyValueStore {
    store: Arc<dyn Store>,
    namespace: Arc<str>,
    default_ttl: Option<Duration>,
    touches: Touches,
}

impl KeyValueStore {
    pub(crate) const fn new(
        store: Arc<dyn Store>,
        namespace: Arc<str>,
        default_ttl: Option<Duration>,
        touches: Touches,
    ) -> Self {
        Self { store, namespace, default_ttl, touches }
    }

    fn touched(&self, key: &str) -> Result<(), StoreError> {
        self.touches.admit("storage", key)?;
        self.touches.note("storage", key, None);
        Ok(())
    }

    /// Returns a value; `None` when there is none or it has expired.
    ///
    /// # Errors
    ///
    /// The store cannot be reached.
    pub async fn get(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.touched(key)?;
        self.store.get(&self.namespace, key).await
    }

    /// Stores a value for the declared default time, or for ever.
    ///
    /// # Errors
    ///
    /// The store cannot be reached or is full, or the key is empty or too long.
    pub async fn set(&self, key: &str, value: &str) -> Result<(), StoreError> {
        self.touched(key)?;
        self.store.set(&self.namespace, key, value, self.default_ttl).await
    }

    /// Stores a value for a time of its own.
    ///
    /// # Errors
    ///
    /// As [`KeyValueStore::set`].
    pub async fn set_for(&self, key: &str, value: &str, ttl: Duration) -> Result<(), StoreError> {
        self.touched(key)?;
        self.store.set(&self.namespace, key, value, Some(ttl)).await
    }

    /// Removes a key; nothing happens when it is not there.
    ///
    /// # Errors
    ///
    /// The store cannot be reached.
    pub async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.touched(key)?;
        self.store.delete(&self.namespace, key).await
    }

    /// Returns the keys that start with `prefix`, sorted.
    ///
    /// # Errors
    ///
    /// The store cannot be reached.
    pub async fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.touched(&format!("{prefix}*"))?;
        self.store.list(&self.namespace, prefix).await
    }
}

impl std::fmt::Debug for KeyValueStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyValueStore").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
