//! Waiting for what another task, thread or process is about to do.

use std::time::Duration;

use tokio::time::Instant;

/// How long a test waits for what is certain to happen. Only a broken build waits that long, so a busy machine may
/// take all of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `is_so` is true, and panics if it never is.
pub(crate) async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "still waiting: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
