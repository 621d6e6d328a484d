//! How many lookups of one scope, and of all scopes of one owner, run at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many lookups of a scope run at the same time; more wait, and time out there.
const RUNNING: usize = 2;
/// The same for all scopes of one owner, one after another or at once: an eighth of what the process runs.
const RUNNING_OF_OWNER: usize = 8;

/// What all scopes of each owner share, as long as one of them or of their lookups lasts.
static OWNERS: Mutex<Option<HashMap<String, Weak<Semaphore>>>> = Mutex::new(None);

/// What each lookup of a scope needs one of: two lookups run at the same time, more wait. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LookupPermits {
    own: Arc<Semaphore>,
    /// What it shares with the other scopes of its owner.
    shared: Option<Arc<Semaphore>>,
}

/// Lets one lookup run. Dropping it lets the next one run.
#[derive(Debug)]
#[must_use = "a lookup runs only while its permit is held"]
pub struct LookupPermit {
    /// None where the semaphore was closed, which nobody does.
    _held: Option<OwnedSemaphorePermit>,
    _shared: Option<OwnedSemaphorePermit>,
}

impl LookupPermits {
    /// Makes the permits of one more scope of an owner: a tool or a server. Eight lookups of an owner run at the same time in this
    /// process, those of scopes that have ended and still hang included.
    pub fn of_owner(owner: &str) -> Self {
        let mut owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
        let owners = owners.get_or_insert_default();
        let shared = owners.get(owner).and_then(Weak::upgrade).unwrap_or_else(|| {
            owners.retain(|_, shared| shared.strong_count() > 0);
            let shared = Arc::new(Semaphore::new(RUNNING_OF_OWNER));
            owners.insert(owner.to_owned(), Arc::downgrade(&shared));
            shared
        });
        Self { shared: Some(shared), ..Self::default() }
    }

    /// Waits until one more lookup may run.
    pub async fn acquire(&self) -> LookupPermit {
        let held = Arc::clone(&self.own).acquire_owned().await.ok();
        let shared = match &self.shared {
            Some(shared) => Arc::clone(shared).acquire_owned().await.ok(),
            None => None,
        };
        LookupPermit { _held: held, _shared: shared }
    }
}

impl Default for LookupPermits {
    fn default() -> Self {
        Self { own: Arc::new(Semaphore::new(RUNNING)), shared: None }
    }
}
