//! Processor time, measured while a guest runs and at no other time.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The work spent its processor time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Spent;

/// Runs work until it ends or has used so much time of its thread. What it has others do for it, such as reading a
/// file, is not counted.
///
/// The limit is looked at whenever the work gives way, which a guest does at every tick.
pub(crate) async fn within<F: Future>(limit: Option<Duration>, work: F) -> Result<F::Output, Spent> {
    let mut work = pin!(work);
    let Some(limit) = limit else { return Ok(work.await) };
    let mut spent = Duration::ZERO;
    poll_fn(|context| {
        let before = thread_time();
        let polled = work.as_mut().poll(context);
        spent += thread_time().saturating_sub(before);
        match polled {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending if spent > limit => Poll::Ready(Err(Spent)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn counts_work_and_not_waiting() {
        let waiting = within(Some(Duration::from_millis(20)), async {
            tokio::time::sleep(Duration::from_millis(60)).await;
        });
        assert_eq!(waiting.await, Ok(()));

        let working = within(Some(Duration::from_millis(20)), async {
            for _ in 0..100_000 {
                let before = thread_time();
                while thread_time() - before < Duration::from_millis(5) {}
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(working.await, Err(Spent));
    }
}
