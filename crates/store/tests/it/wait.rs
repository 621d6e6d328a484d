//! Waiting for what another task, process or server is about to do.

use std::time::{Duration, Instant};

/// How long a test waits for what is certain to happen. Only a broken build waits that long, so a busy machine may
/// take all of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `look` finds something, and panics if it never does.
pub(crate) async fn wait_for<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "still waiting: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
