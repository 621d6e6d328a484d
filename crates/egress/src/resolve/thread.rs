//! Lookups that block, on threads of their own.
//!
//! INVARIANT: a lookup that hangs holds no thread of the runtime, and counts for its scope until its thread has ended.

use std::io;

use tokio::sync::{Semaphore, oneshot};

use super::LookupPermit;

/// How many lookups run in this process at the same time.
const MOST: usize = 64;

/// The stack of a lookup. Memory is taken only as far as it is used; modules of the system may need some.
const STACK: usize = 1 << 20;

static RUNNING: Semaphore = Semaphore::const_new(MOST);

/// Runs a lookup on a thread of its own. Dropping the future leaves the thread, with its permit, to its end.
pub(super) async fn look_up<T: Send + 'static>(
    permit: LookupPermit,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let turn = RUNNING.acquire().await.map_err(io::Error::other)?;
    let (sender, answer) = oneshot::channel();
    let thread = std::thread::Builder::new().name("ringfence-lookup".into()).stack_size(STACK);
    thread.spawn(move || {
        let found = work();
        drop((turn, permit));
        // Whoever asked may have given up.
        let _sent = sender.send(found);
    })?;
    answer.await.map_err(|_| io::Error::other("the lookup was interrupted"))?
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use ringfence_policy::NetworkGrant;
    use tokio::time::timeout;

    use super::*;
    use crate::{LookupPermits, Scope};

    const MOMENT: Duration = Duration::from_millis(50);
    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_lookup_that_nobody_waits_for_counts_until_its_thread_ends() {
        let (one, other) = (LookupPermits::default(), LookupPermits::default());
        let mut ends = Vec::new();
        for _ in 0..2 {
            let (end, ended) = channel::<()>();
            ends.push(end);
            let stuck = look_up(one.acquire().await, move || Ok(ended.recv().is_ok()));
            assert!(timeout(MOMENT, stuck).await.is_err());
        }
        assert!(timeout(MOMENT, one.acquire()).await.is_err(), "two threads are stuck");
        let answer = timeout(PATIENCE, look_up(other.acquire().await, || Ok(7))).await;
        assert_eq!(answer.unwrap().unwrap(), 7);
        drop(ends);
        let _free = timeout(PATIENCE, one.acquire()).await.unwrap();
    }

    /// Calls that ended leave their threads behind; the next calls of the same tool must not take those of others.
    #[tokio::test]
    async fn many_calls_of_one_owner_leave_threads_to_others() {
        let mut ends = Vec::new();
        for _ in 0..MOST {
            let (end, ended) = channel::<()>();
            ends.push(end);
            let call = Scope::builder(NetworkGrant::default()).owner("silent").build();
            let call = call.lookup_permits().clone();
            let stuck = async { look_up(call.acquire().await, move || Ok(ended.recv().is_ok())).await };
            assert!(timeout(MOMENT / 10, stuck).await.is_err());
        }
        let other = LookupPermits::of_owner("other");
        let answer = timeout(PATIENCE / 10, look_up(other.acquire().await, || Ok(7))).await;
        assert_eq!(answer.expect("all threads are taken").unwrap(), 7);
        let call = LookupPermits::of_owner("silent");
        assert!(timeout(MOMENT, call.acquire()).await.is_err(), "an owner has eight");
        drop(ends);
        let _free = timeout(PATIENCE, call.acquire()).await.unwrap();
    }
}
