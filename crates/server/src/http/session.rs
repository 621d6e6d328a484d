//! One session: a room, whose it is, and what is under way in it.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::log::Log;
use crate::door::Room;
use crate::message::Id;
use crate::outlet::Outlet;

/// How a session is spoken to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// By requests that speak for themselves; one for each agent.
    Modern,
    /// By the two endpoints of 2024-11-05.
    Old,
    /// By one endpoint and the id of the session.
    Streamable,
}

/// One session.
pub(super) struct Session {
    /// What a client names it by.
    pub(super) id: String,
    /// Whose it is.
    pub(super) agent: usize,
    /// How it is spoken to.
    pub(super) kind: Kind,
    /// Where everything goes.
    pub(super) room: Arc<dyn Room>,
    /// Cancelled when it is over.
    pub(super) over: CancellationToken,
    /// Where everything comes out, in a session of 2024-11-05.
    pub(super) outlet: OnceLock<Outlet>,
    version: OnceLock<String>,
    requests: Arc<Semaphore>,
    asides: Arc<Semaphore>,
    log: Mutex<Log>,
    standalone: Mutex<Option<CancellationToken>>,
    ids: Mutex<HashSet<Id>>,
    uses: Mutex<Uses>,
}

struct Uses {
    now: usize,
    last: Instant,
}

impl Session {
    pub(super) fn new(id: String, agent: usize, kind: Kind, room: Arc<dyn Room>, in_flight: usize) -> Self {
        Self {
            id,
            agent,
            kind,
            room,
            over: CancellationToken::new(),
            outlet: OnceLock::new(),
            version: OnceLock::new(),
            requests: Arc::new(Semaphore::new(in_flight)),
            asides: Arc::new(Semaphore::new(in_flight)),
            log: Mutex::default(),
            standalone: Mutex::default(),
            ids: Mutex::default(),
            uses: Mutex::new(Uses { now: 0, last: Instant::now() }),
        }
    }

    /// Returns the version that was agreed on; nothing before that.
    pub(super) fn version(&self) -> Option<&str> {
        self.version.get().map(String::as_str)
    }

    /// Keeps the version that was agreed on. The first time counts.
    pub(super) fn agree(&self, version: String) {
        let _kept = self.version.set(version);
    }

    /// Takes places for requests; nothing where too many are under way.
    pub(super) fn begin(&self, count: usize) -> Option<OwnedSemaphorePermit> {
        let count = u32::try_from(count).ok()?;
        Arc::clone(&self.requests).try_acquire_many_owned(count).ok()
    }

    /// Takes a place for something that wants no answer. It has places of its own: answers must come through when all
    /// requests wait for one.
    pub(super) fn begin_aside(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.asides).try_acquire_owned().ok()
    }

    /// Returns what was sent on its streams.
    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        locked(&self.log)
    }

    /// Returns the ids that are in use in its room, where they are not one client's.
    pub(super) fn ids(&self) -> MutexGuard<'_, HashSet<Id>> {
        locked(&self.ids)
    }

    /// Takes the place of the one stream that belongs to no request, until what is returned is cancelled; nothing where it is
    /// taken.
    pub(super) fn claim_standalone(&self, claim: Claim) -> Option<CancellationToken> {
        let mut slot = locked(&self.standalone);
        if let Some(other) = slot.as_ref().filter(|other| !other.is_cancelled()) {
            match claim {
                Claim::Again => other.cancel(),
                Claim::New => return None,
            }
        }
        let token = self.over.child_token();
        *slot = Some(token.clone());
        Some(token)
    }

    /// Returns how long ago it was used last.
    pub(super) fn unused(&self) -> Duration {
        locked(&self.uses).last.elapsed()
    }

    /// Says whether nothing has been under way for so long.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        let uses = locked(&self.uses);
        uses.now == 0 && uses.last.elapsed() >= time
    }
}

/// Who claims the one stream that belongs to no request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Claim {
    /// Somebody who had it and lost the connection.
    Again,
    /// Somebody who never had it.
    New,
}

/// A session that is in use; it does not end for idleness as long as one of these is there.
pub(super) struct Held(Arc<Session>);

impl Held {
    pub(super) fn new(session: Arc<Session>) -> Self {
        locked(&session.uses).now += 1;
        Self(session)
    }

    pub(super) fn session(&self) -> &Arc<Session> {
        &self.0
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Deref for Held {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut uses = locked(&self.0.uses);
        uses.now = uses.now.saturating_sub(1);
        uses.last = Instant::now();
    }
}

/// What is behind these locks is whole after every statement, so a panic elsewhere does not spoil it.
pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
