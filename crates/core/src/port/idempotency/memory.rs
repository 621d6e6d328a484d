//! Keys that are forgotten when the process ends: they protect against retries, not against crashes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};

use super::{
    Claim, Fence, IdempotencyStore, KeyClaim, KeyEntry, KeyFilter, KeyFinding, KeyName, KeyState, Settled,
    Settlement,
};
use crate::port::clock::{Clock, SystemClock};
use crate::port::store::StoreError;

/// How many keys are kept; more are refused rather than forgotten.
const MAX_KEYS: usize = 100_000;

/// Keys that are forgotten when the process ends.
pub struct MemoryIdempotency {
    clock: Arc<dyn Clock>,
    fences: AtomicU64,
    entries: Mutex<HashMap<KeyName, Entry>>,
}

struct Entry {
    digest: String,
    arguments: String,
    run: String,
    owner: String,
    fence: Fence,
    claimed: Duration,
    state: State,
}

enum State {
    Committed { output: String, until: Duration },
    Executing,
    Failed,
    Unknown,
}

impl Default for MemoryIdempotency {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl MemoryIdempotency {
    /// Makes an empty store that forgets what was done by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, fences: AtomicU64::new(0), entries: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<KeyName, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_now(&self, claim: &KeyClaim) -> Result<Claim, StoreError> {
        let now = self.clock.now();
        let mut entries = self.lock();
        if let Some(entry) = entries.get(&claim.name)
            && let Some(found) = entry.found(&claim.digest, now)
        {
            let is_mine = entry.owner == claim.owner && found == Claim::InFlight;
            return Ok(if is_mine { Claim::Granted(entry.fence) } else { found });
        }
        if entries.len() >= MAX_KEYS && !entries.contains_key(&claim.name) {
            entries.retain(|_, entry| entry.is_kept(now));
            if entries.len() >= MAX_KEYS {
                return Err(StoreError::Full);
            }
        }
        let fence = Fence(self.fences.fetch_add(1, Ordering::Relaxed) + 1);
        let entry = Entry {
            digest: claim.digest.clone(),
            arguments: claim.arguments.clone(),
            run: claim.run.clone(),
            owner: claim.owner.clone(),
            fence,
            claimed: now,
            state: State::Executing,
        };
        entries.insert(claim.name.clone(), entry);
        Ok(Claim::Granted(fence))
    }

    fn settle_now(
        &self,
        name: &KeyName,
        fence: Fence,
        settlement: Settlement,
        may: fn(&State) -> bool,
    ) -> Settled {
        let now = self.clock.now();
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(name).filter(|entry| entry.fence == fence && may(&entry.state))
        else {
            return Settled::Stale;
        };
        entry.state = match settlement {
            Settlement::Committed { output, keep } => {
                State::Committed { output, until: now.saturating_add(keep) }
            }
            Settlement::Failed => State::Failed,
            Settlement::Unknown => State::Unknown,
        };
        Settled::Kept
    }
}

impl Entry {
    /// Says what a claim finds; nothing where the key is free.
    fn found(&self, digest: &str, now: Duration) -> Option<Claim> {
        match &self.state {
            State::Failed => None,
            State::Committed { until, .. } if *until <= now => None,
            _ if self.digest != digest => Some(Claim::Conflict),
            State::Committed { output, .. } => Some(Claim::Replay(output.clone())),
            State::Executing => Some(Claim::InFlight),
            State::Unknown => Some(Claim::Unknown(self.fence)),
        }
    }

    fn is_kept(&self, now: Duration) -> bool {
        match self.state {
            State::Committed { until, .. } => until > now,
            State::Executing | State::Unknown => true,
            State::Failed => false,
        }
    }

    const fn state(&self) -> KeyState {
        match self.state {
            State::Committed { .. } => KeyState::Committed,
            State::Executing => KeyState::Executing,
            State::Failed => KeyState::Failed,
            State::Unknown => KeyState::Unknown,
        }
    }

    fn listed(&self, name: &KeyName) -> KeyEntry {
        KeyEntry {
            name: name.clone(),
            state: self.state(),
            fence: self.fence,
            digest: self.digest.clone(),
            arguments: self.arguments.clone(),
            run: self.run.clone(),
            claimed: self.claimed,
        }
    }
}

impl IdempotencyStore for MemoryIdempotency {
    fn claim<'a>(&'a self, claim: &'a KeyClaim) -> BoxFuture<'a, Result<Claim, StoreError>> {
        ready(self.claim_now(claim)).boxed()
    }

    fn find<'a>(
        &'a self,
        name: &'a KeyName,
        digest: &'a str,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>> {
        let now = self.clock.now();
        let found = self.lock().get(name).and_then(|entry| entry.found(digest, now));
        ready(Ok(found)).boxed()
    }

    fn settle<'a>(
        &'a self,
        name: &'a KeyName,
        fence: Fence,
        settlement: Settlement,
    ) -> BoxFuture<'a, Result<Settled, StoreError>> {
        let is_open = |state: &State| !matches!(state, State::Committed { .. });
        ready(Ok(self.settle_now(name, fence, settlement, is_open))).boxed()
    }

    fn find_out<'a>(&'a self, finding: &'a KeyFinding) -> BoxFuture<'a, Result<Settled, StoreError>> {
        let in_doubt = |state: &State| matches!(state, State::Unknown);
        let settled = self.settle_now(&finding.name, finding.fence, finding.settlement.clone(), in_doubt);
        ready(Ok(settled)).boxed()
    }

    fn keys<'a>(&'a self, filter: &'a KeyFilter) -> BoxFuture<'a, Result<Vec<KeyEntry>, StoreError>> {
        let now = self.clock.now();
        let wanted = |(name, entry): &(&KeyName, &Entry)| {
            (entry.is_kept(now) || matches!(entry.state, State::Failed))
                && filter.state.is_none_or(|state| state == entry.state())
                && filter.key.as_ref().is_none_or(|key| *key == name.key)
        };
        let entries = self.lock();
        let mut keys: Vec<_> =
            entries.iter().filter(wanted).map(|(name, entry)| entry.listed(name)).collect();
        drop(entries);
        keys.sort_by_key(|entry| std::cmp::Reverse(entry.fence));
        if filter.most > 0 {
            keys.truncate(filter.most);
        }
        ready(Ok(keys)).boxed()
    }
}

impl std::fmt::Debug for MemoryIdempotency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryIdempotency({} keys)", self.lock().len())
    }
}
