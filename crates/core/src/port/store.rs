//! The port behind which tools keep keys and values, and its version in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ringfence_policy::{Refusal, ToolName};

use super::clock::{Clock, SystemClock};

/// The longest key in bytes.
const MAX_KEY: usize = 1_024;
/// The largest value in bytes.
const MAX_VALUE: usize = 1 << 20;
/// How many keys one namespace may hold.
const MAX_KEYS: usize = 100_000;
/// How many bytes of keys and values one namespace may hold.
const MAX_BYTES: usize = 64 << 20;

/// Why a store did not do what was asked.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// The namespace is full.
    #[error("the namespace is full: {MAX_KEYS} keys or {MAX_BYTES} bytes")]
    Full,
    /// The key is empty, too long or holds a control character.
    #[error("a key must be 1 to {MAX_KEY} bytes without control characters")]
    Key,
    /// The handle may not be used.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store cannot be reached.
    #[error("the store cannot be reached: {0}")]
    Unreachable(String),
    /// The value is too large.
    #[error("a value may have at most {MAX_VALUE} bytes")]
    Value,
}

impl StoreError {
    /// How many keys one namespace may hold, in every implementation.
    pub const MAX_KEYS: usize = MAX_KEYS;
    /// How many bytes of keys and values one namespace may hold, in every implementation.
    pub const MAX_BYTES: usize = MAX_BYTES;

    /// Checks a key and a value; every implementation applies the same rules.
    ///
    /// # Errors
    ///
    /// The rule that is broken.
    pub fn check(key: &str, value: &str) -> Result<(), Self> {
        if key.is_empty() || key.len() > MAX_KEY || key.chars().any(char::is_control) {
            return Err(Self::Key);
        }
        if value.len() > MAX_VALUE { Err(Self::Value) } else { Ok(()) }
    }
}

/// Keeps keys and values by namespace.
pub trait Store: Send + Sync {
    /// Returns a value that has not expired.
    fn get<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Stores a value, for `ttl` or for ever.
    fn set<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
        value: &'a str,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes a key.
    fn delete<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the keys with a prefix, sorted.
    fn list<'a>(
        &'a self,
        namespace: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Drops a whole namespace, as when a session ends.
    fn clear<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Opens the store of a tool: once for each tool and run, when the tool first asks for it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use ringfence::policy::ToolName;
/// use ringfence::{Backends, MemoryStore, Store};
///
/// let backends = Backends::none().store_factory(|_tool: &ToolName, _namespace: &str| {
///     Ok(Arc::new(MemoryStore::default()) as Arc<dyn Store>)
/// });
/// ```
pub trait StoreFactory: Send + Sync {
    /// Returns the store of a tool. `namespace` is the scope that the tool's declaration chose, such as `tool:search` or
    /// `session:1`; the handle passes it to every operation, so a shared store is as good as one of its own.
    ///
    /// # Errors
    ///
    /// The store cannot be opened: the tool's use of it is refused `NOT_AVAILABLE`, and the next use asks again.
    fn open_store(&self, tool: &ToolName, namespace: &str) -> Result<Arc<dyn Store>, StoreError>;
}

impl<F> StoreFactory for F
where
    F: Fn(&ToolName, &str) -> Result<Arc<dyn Store>, StoreError> + Send + Sync,
{
    fn open_store(&self, tool: &ToolName, namespace: &str) -> Result<Arc<dyn Store>, StoreError> {
        self(tool, namespace)
    }
}

/// A store that forgets everything when the process ends.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    spaces: Mutex<BTreeMap<String, Space>>,
}

/// One namespace. `bytes` is the size of its keys and values together.
#[derive(Default)]
struct Space {
    entries: BTreeMap<String, Entry>,
    bytes: usize,
}

struct Entry {
    value: String,
    /// When it expires, by the store's clock.
    until: Option<Duration>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl MemoryStore {
    /// Makes an empty store that expires entries by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, spaces: Mutex::default() }
    }

    /// Runs `change` on a namespace.
    fn within<T>(&self, namespace: &str, change: impl FnOnce(&mut Space, Duration) -> T) -> T {
        let now = self.clock.now();
        let mut spaces = self.spaces.lock().unwrap_or_else(PoisonError::into_inner);
        let space = spaces.entry(namespace.to_owned()).or_default();
        let result = change(space, now);
        if space.entries.is_empty() {
            spaces.remove(namespace);
        }
        result
    }
}

impl Space {
    /// Makes room for an entry: what has expired goes when the namespace is full, and nothing else does.
    fn make_room(&mut self, key: &str, size: usize, now: Duration) -> Result<(), StoreError> {
        let fits = |space: &Self| {
            let old = space.entries.get(key).map_or(0, |entry| entry.size(key));
            let keys = space.entries.len() + usize::from(!space.entries.contains_key(key));
            keys <= MAX_KEYS && space.bytes - old + size <= MAX_BYTES
        };
        if !fits(self) {
            self.entries.retain(|_, entry| entry.is_alive(now));
            self.bytes = self.entries.iter().map(|(key, entry)| entry.size(key)).sum();
        }
        if fits(self) { Ok(()) } else { Err(StoreError::Full) }
    }

    fn insert(&mut self, key: &str, entry: Entry) {
        self.remove(key);
        self.bytes += entry.size(key);
        self.entries.insert(key.to_owned(), entry);
    }

    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.size(key);
        }
    }
}

impl Entry {
    fn is_alive(&self, now: Duration) -> bool {
        self.until.is_none_or(|until| until > now)
    }

    const fn size(&self, key: &str) -> usize {
        key.len() + self.value.len()
    }
}

impl Store for MemoryStore {
    fn get<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let found = self.within(namespace, |space, now| {
            space.entries.get(key).filter(|entry| entry.is_alive(now)).map(|entry| entry.value.clone())
        });
        ready(Ok(found)).boxed()
    }

    fn set<'a>(
        &'a self,
        namespace: &'a str,
        key: &'a str,
        value: &'a str,
        ttl: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let stored = StoreError::check(key, value).and_then(|()| {
            self.within(namespace, |space, now| {
                let entry = Entry { value: value.to_owned(), until: ttl.map(|ttl| now.saturating_add(ttl)) };
                space.make_room(key, entry.size(key), now)?;
                space.insert(key, entry);
                Ok(())
            })
        });
        ready(stored).boxed()
    }

    fn delete<'a>(&'a self, namespace: &'a str, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.within(namespace, |space, _| space.remove(key));
        ready(Ok(())).boxed()
    }

    fn list<'a>(
        &'a self,
        namespace: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let keys = self.within(namespace, |space, now| {
            let from =
                space.entries.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix));
            from.filter(|(_, entry)| entry.is_alive(now)).map(|(key, _)| key.clone()).collect()
        });
        ready(Ok(keys)).boxed()
    }

    fn clear<'a>(&'a self, namespace: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.within(namespace, |space, _| *space = Space::default());
        ready(Ok(())).boxed()
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryStore")
    }
}
