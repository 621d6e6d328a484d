//! Keeping answers for a few seconds.
//!
//! INVARIANT: an answer is kept no longer than its time and a failure not at all; the dialer judges a kept answer
//! like any other.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence_policy::HostName;
use tokio::time::Instant;

use super::{Resolver, Resolving};
use crate::scope::locked;

/// How many names are kept.
const MOST: usize = 1_024;

/// The answer of one name and until when it holds. Whoever looks the name up holds the lock meanwhile.
type Slot = Arc<tokio::sync::Mutex<Option<(Vec<IpAddr>, Instant)>>>;

/// A resolver that keeps the answers of another for a few seconds and asks it once at a time for each name.
#[derive(Debug)]
pub struct CachedResolver<R> {
    inner: R,
    keep: Duration,
    slots: Mutex<HashMap<HostName, Slot>>,
}

impl<R: Resolver> CachedResolver<R> {
    /// Keeps the answers of `inner` for 5 seconds.
    pub fn new(inner: R) -> Self {
        Self { inner, keep: Duration::from_secs(5), slots: Mutex::default() }
    }

    /// Sets how long an answer is kept.
    #[must_use]
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    fn slot(&self, name: &HostName) -> Slot {
        let mut slots = locked(&self.slots);
        if slots.len() >= MOST && !slots.contains_key(name) {
            let now = Instant::now();
            // A slot that somebody holds is in use; one that cannot be locked is too.
            slots.retain(|_, slot| {
                Arc::strong_count(slot) > 1
                    || slot
                        .try_lock()
                        .map_or(true, |kept| kept.as_ref().is_some_and(|(_, until)| now < *until))
            });
            if slots.len() >= MOST {
                return Slot::default();
            }
        }
        Arc::clone(slots.entry(name.clone()).or_default())
    }
}

impl<R: Resolver> Resolver for CachedResolver<R> {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Resolving<'a> {
        Box::pin(async move {
            let slot = self.slot(name);
            let mut kept = slot.lock().await;
            if let Some((answers, until)) = &*kept
                && Instant::now() < *until
            {
                return Ok(answers.clone());
            }
            *kept = None;
            let answers = self.inner.resolve(name).await?;
            if !answers.is_empty() {
                *kept = Instant::now().checked_add(self.keep).map(|until| (answers.clone(), until));
            }
            Ok(answers)
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
    async fn keeps_answers_for_a_while_and_failures_not_at_all() {
        let table = StaticResolver::new().with(name("one.acme.io"), [[10, 0, 0, 1].into()]);
        let cached = CachedResolver::new(table).keep(Duration::from_millis(50));
        for _ in 0..3 {
            assert_eq!(cached.resolve(&name("one.acme.io")).await.unwrap().len(), 1);
        }
        assert_eq!(cached.inner.asked(), 1);
        for _ in 0..2 {
            assert!(cached.resolve(&name("two.acme.io")).await.is_err());
        }
        assert_eq!(cached.inner.asked(), 3);
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert!(cached.resolve(&name("one.acme.io")).await.is_ok());
        assert_eq!(cached.inner.asked(), 4);
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
