//! The port behind which a call is recognised when it comes again, and its version in memory.
//!
//! States: absent → executing → committed | failed | unknown. A key whose outcome is unknown is never run again by
//! itself. The memory version forgets with the process; it protects against retries, not against crashes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, ready};

use crate::pipeline::CleanOutput;

/// How many keys are kept in memory; more are refused rather than forgotten.
const MAX_KEYS: usize = 100_000;

/// What a claim on a key found.
#[derive(Clone, Debug)]
pub enum Claim {
    /// The key is in use with other arguments, or right now.
    Conflict(&'static str),
    /// The key is free and now belongs to this call.
    Granted,
    /// The call was done before; this is what it returned.
    Replay(Arc<CleanOutput>),
    /// The call may or may not have taken effect.
    Unknown,
}

/// Remembers calls by key. `scope` is the personality and the tool; `digest` stands for the arguments.
pub trait IdempotencyStore: Send + Sync {
    /// Claims a key for one call.
    fn claim<'a>(&'a self, scope: &'a str, key: &'a str, digest: &'a str) -> BoxFuture<'a, Claim>;

    /// Records that the claimed call was done.
    fn commit<'a>(&'a self, scope: &'a str, key: &'a str, output: Arc<CleanOutput>) -> BoxFuture<'a, ()>;

    /// Records that the claimed call never ran, so that the key is free again.
    fn release<'a>(&'a self, scope: &'a str, key: &'a str) -> BoxFuture<'a, ()>;

    /// Records that nobody knows whether the claimed call took effect.
    fn doubt<'a>(&'a self, scope: &'a str, key: &'a str) -> BoxFuture<'a, ()>;
}

/// Keys that are forgotten when the process ends.
#[derive(Debug, Default)]
pub struct MemoryIdempotency {
    entries: Mutex<HashMap<(String, String), Entry>>,
}

#[derive(Debug)]
struct Entry {
    digest: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Committed(Arc<CleanOutput>),
    Executing,
    Unknown,
}

impl MemoryIdempotency {
    fn settle(&self, scope: &str, key: &str, state: Option<State>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (scope.to_owned(), key.to_owned());
        match state {
            None => {
                entries.remove(&name);
            }
            Some(state) => {
                if let Some(entry) = entries.get_mut(&name) {
                    entry.state = state;
                }
            }
        }
    }
}

impl IdempotencyStore for MemoryIdempotency {
    fn claim<'a>(&'a self, scope: &'a str, key: &'a str, digest: &'a str) -> BoxFuture<'a, Claim> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (scope.to_owned(), key.to_owned());
        let claim = match entries.get(&name) {
            None if entries.len() >= MAX_KEYS => {
                Claim::Conflict("cannot be kept: too many keys are in memory")
            }
            None => {
                entries.insert(name, Entry { digest: digest.to_owned(), state: State::Executing });
                Claim::Granted
            }
            Some(entry) if entry.digest != digest => Claim::Conflict("was used with other arguments"),
            Some(Entry { state: State::Committed(output), .. }) => Claim::Replay(Arc::clone(output)),
            Some(Entry { state: State::Executing, .. }) => {
                Claim::Conflict("is in use by a call that has not ended")
            }
            Some(Entry { state: State::Unknown, .. }) => Claim::Unknown,
        };
        ready(claim).boxed()
    }

    fn commit<'a>(&'a self, scope: &'a str, key: &'a str, output: Arc<CleanOutput>) -> BoxFuture<'a, ()> {
        self.settle(scope, key, Some(State::Committed(output)));
        ready(()).boxed()
    }

    fn release<'a>(&'a self, scope: &'a str, key: &'a str) -> BoxFuture<'a, ()> {
        self.settle(scope, key, None);
        ready(()).boxed()
    }

    fn doubt<'a>(&'a self, scope: &'a str, key: &'a str) -> BoxFuture<'a, ()> {
        self.settle(scope, key, Some(State::Unknown));
        ready(()).boxed()
    }
}
