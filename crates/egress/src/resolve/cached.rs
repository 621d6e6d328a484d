//! Keeping answers for a few seconds.
//!
//! INVARIANT: an answer or a failure is kept no longer than its time; the dialer judges a kept answer like any other. A lookup
//! that takes too long fails for everybody who wants its name, and starts no second one.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence_policy::HostName;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{LookupPermit, LookupPermits, Resolver, Resolving};
use crate::scope::locked;

/// How many names are kept.
const MOST: usize = 1_024;

/// How long a failure is kept at most.
const FAILED: Duration = Duration::from_secs(3);

/// How long a lookup may take before its name counts as failed.
const OVERDUE: Duration = Duration::from_secs(5);

/// What a lookup found, or why it failed.
type Answer = Result<Vec<IpAddr>, (io::ErrorKind, String)>;

/// What is known of one name.
#[derive(Debug)]
enum Slot {
    /// An answer, and until when it holds.
    Kept(Answer, Instant),
    /// A lookup under way.
    Running(Lookup),
}

/// A lookup that several may wait for.
#[derive(Clone, Debug)]
struct Lookup {
    answer: watch::Receiver<Option<Answer>>,
    overdue: Option<Instant>,
}

/// A resolver that keeps the answers of another for a few seconds and asks it once at a time for each name.
///
/// Failures are kept for at most 3 seconds. A lookup goes on when nobody waits for it any more; after 5 seconds its name counts as
/// failed until it ends.
#[derive(Debug)]
pub struct CachedResolver<R> {
    inner: Arc<R>,
    keep: Duration,
    slots: Arc<Mutex<HashMap<HostName, Slot>>>,
}

impl<R: Resolver + 'static> CachedResolver<R> {
    /// Keeps the answers of `inner` for 5 seconds.
    pub fn new(inner: R) -> Self {
        Self { inner: Arc::new(inner), keep: Duration::from_secs(5), slots: Arc::default() }
    }

    /// Sets how long an answer is kept, and a failure where that is shorter.
    #[must_use]
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Starts a lookup that ends without its callers, or returns the one under way, or what is kept.
    fn start(&self, name: &HostName, permit: LookupPermit) -> Slot {
        let mut slots = locked(&self.slots);
        if let Some(known) = slots.get(name).and_then(Slot::in_force) {
            return known;
        }
        let (sender, answer) = watch::channel(None);
        let lookup = Lookup { answer, overdue: Instant::now().checked_add(OVERDUE) };
        make_room(&mut slots);
        let is_shared = slots.len() < MOST || slots.contains_key(name);
        if is_shared {
            slots.insert(name.clone(), Slot::Running(lookup.clone()));
        }
        drop(slots);
        let (inner, slots, name, keep) =
            (Arc::clone(&self.inner), Arc::clone(&self.slots), name.clone(), self.keep);
        tokio::spawn(async move {
            let found = inner.resolve(&name).await.map_err(|error| (error.kind(), error.to_string()));
            drop(permit);
            if is_shared {
                locked(&slots).insert(name, Slot::kept(found.clone(), keep));
            }
            sender.send_replace(Some(found));
        });
        Slot::Running(lookup)
    }

    fn known_slot(&self, name: &HostName) -> Option<Slot> {
        locked(&self.slots).get(name).and_then(Slot::in_force)
    }
}

impl Slot {
    fn kept(answer: Answer, keep: Duration) -> Self {
        let is_useful = answer.as_ref().is_ok_and(|found| !found.is_empty());
        let keep = if is_useful { keep } else { keep.min(FAILED) };
        let now = Instant::now();
        Self::Kept(answer, now.checked_add(keep).unwrap_or(now))
    }

    /// Returns what still counts: an answer whose time is not over, or a lookup that has not been interrupted.
    fn in_force(&self) -> Option<Self> {
        match self {
            Self::Kept(answer, until) => {
                (Instant::now() < *until).then(|| Self::Kept(answer.clone(), *until))
            }
            Self::Running(lookup) => {
                let has_ended = lookup.answer.has_changed().is_err();
                (!has_ended).then(|| Self::Running(lookup.clone()))
            }
        }
    }

    /// Returns the answer, or waits for it.
    async fn answer(self) -> io::Result<Vec<IpAddr>> {
        let answer = match self {
            Self::Kept(answer, _) => answer,
            Self::Running(lookup) => lookup.wait().await,
        };
        answer.map_err(|(kind, message)| io::Error::new(kind, message))
    }
}

impl Lookup {
    async fn wait(mut self) -> Answer {
        let interrupted = || Err((io::ErrorKind::Other, "the lookup was interrupted".to_owned()));
        let Some(overdue) = self.overdue else { return interrupted() };
        match timeout_at(overdue, self.answer.wait_for(Option::is_some)).await {
            Ok(Ok(answer)) => answer.clone().unwrap_or_else(interrupted),
            Ok(Err(_)) => interrupted(),
            Err(_) => Err((io::ErrorKind::TimedOut, "the lookup took too long".to_owned())),
        }
    }
}

/// Forgets what no longer counts, where the table is full.
fn make_room(slots: &mut HashMap<HostName, Slot>) {
    if slots.len() >= MOST {
        slots.retain(|_, slot| slot.in_force().is_some());
    }
}

impl<R: Resolver + 'static> Resolver for CachedResolver<R> {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        Box::pin(async move { self.resolve_within(name, &LookupPermits::default()).await })
    }

    fn known<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        self.inner.known(name)
    }

    fn resolve_within<'a>(&'a self, name: &'a HostName, permits: &'a LookupPermits) -> Resolving<'a> {
        Box::pin(async move {
            if let Some(known) = self.known_slot(name) {
                return known.answer().await;
            }
            let known = self.inner.known(name).await?;
            if !known.is_empty() {
                return Ok(known);
            }
            // Whoever waits for a permit holds no name: another scope may look it up meanwhile.
            let permit = permits.acquire().await;
            self.start(name, permit).answer().await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StaticResolver;

    fn name(text: &str) -> HostName {
        text.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn keeps_answers_and_failures_for_a_while() {
        let table = StaticResolver::new().with(name("one.acme.io"), [[10, 0, 0, 1].into()]);
        let cached = CachedResolver::new(table).keep(Duration::from_millis(50));
        for _ in 0..3 {
            assert_eq!(cached.resolve(&name("one.acme.io")).await.unwrap().len(), 1);
        }
        assert_eq!(cached.inner.asked(), 1);
        for _ in 0..3 {
            assert_eq!(
                cached.resolve(&name("two.acme.io")).await.unwrap_err().kind(),
                io::ErrorKind::NotFound
            );
        }
        assert_eq!(cached.inner.asked(), 2);
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert!(cached.resolve(&name("one.acme.io")).await.is_ok());
        assert!(cached.resolve(&name("two.acme.io")).await.is_err());
        assert_eq!(cached.inner.asked(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_kept_shorter_than_an_answer() {
        let cached = CachedResolver::new(StaticResolver::new()).keep(Duration::from_secs(60));
        assert!(cached.resolve(&name("two.acme.io")).await.is_err());
        tokio::time::sleep(FAILED + Duration::from_millis(1)).await;
        assert!(cached.resolve(&name("two.acme.io")).await.is_err());
        assert_eq!(cached.inner.asked(), 2);
    }

    #[tokio::test]
    async fn holds_only_so_many_names() {
        let cached = CachedResolver::new(StaticResolver::new());
        for index in 0..3_000 {
            assert!(cached.resolve(&name(&format!("n{index}.acme.io"))).await.is_err());
        }
        assert!(locked(&cached.slots).len() <= MOST);
    }
}
