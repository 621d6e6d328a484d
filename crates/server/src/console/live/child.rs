//! The MCP servers that run.
//!
//! INVARIANT: a server is listed while somebody holds its [`Child`], and no longer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::front::now;

/// The servers that run.
#[derive(Debug, Default)]
pub(super) struct Children(Mutex<Listed>);

#[derive(Debug, Default)]
struct Listed {
    next: u64,
    all: BTreeMap<u64, Listing>,
}

#[derive(Debug)]
struct Listing {
    server: String,
    run: String,
    since: Duration,
    memory: Arc<AtomicU64>,
}

/// A server that runs; it is listed until this is dropped.
#[must_use = "dropping a Child takes the server off the list"]
#[derive(Debug)]
pub struct Child {
    children: Arc<Children>,
    number: u64,
}

/// A server as it is listed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ChildSeen {
    /// The server's name in the policy.
    pub(crate) server: String,
    /// The run it was started for.
    pub(crate) run: String,
    /// When it was started, since 1970.
    pub(crate) since: Duration,
    /// How much memory it uses in bytes, where that is known.
    pub(crate) memory: Option<u64>,
}

impl Children {
    /// Lists a server.
    pub(super) fn add(self: &Arc<Self>, server: &str, run: &str, memory: Arc<AtomicU64>) -> Child {
        let mut listed = self.lock();
        let number = listed.next;
        listed.next += 1;
        let listing = Listing { server: server.to_owned(), run: run.to_owned(), since: now(), memory };
        listed.all.insert(number, listing);
        Child { children: Arc::clone(self), number }
    }

    /// Returns who is listed, the longest running first.
    pub(super) fn seen(&self) -> Vec<ChildSeen> {
        let seen = |listing: &Listing| ChildSeen {
            server: listing.server.clone(),
            run: listing.run.clone(),
            since: listing.since,
            memory: Some(listing.memory.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0),
        };
        self.lock().all.values().map(seen).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Listed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.children.lock().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_listed_while_it_is_held() {
        let children = Arc::new(Children::default());
        let memory = Arc::new(AtomicU64::new(0));
        let one = children.add("mail", "run-1", Arc::clone(&memory));
        let other = children.add("mail", "run-2", Arc::default());
        let seen = children.seen();
        assert_eq!(seen.iter().map(|child| child.run.as_str()).collect::<Vec<_>>(), ["run-1", "run-2"]);
        assert_eq!(seen[0].memory, None, "nobody has said how much");
        memory.store(7, Ordering::Relaxed);
        assert_eq!(children.seen()[0].memory, Some(7));
        drop(one);
        assert_eq!(children.seen().len(), 1);
        drop(other);
        assert!(children.seen().is_empty());
    }
}
