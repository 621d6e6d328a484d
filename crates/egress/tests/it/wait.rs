//! Waiting for what another task or thread is about to do, and time that stands still.

use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// How long a test waits for what is certain to happen. Only a broken build waits that long, so a busy machine may
/// take all of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `is_so` is true, and panics if it never is.
pub(crate) async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, async || is_so().then_some(())).await;
}

/// Waits until `look` finds something, and panics if it never does. Works while time stands still too.
pub(crate) async fn wait_for<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "still waiting: {what}");
        rest_a_moment(Duration::from_millis(2)).await;
    }
}

/// Lets the machine work for a moment, whatever the clock of the runtime does.
pub(crate) async fn rest_a_moment(moment: Duration) {
    tokio::task::spawn_blocking(move || std::thread::sleep(moment)).await.unwrap();
}

/// Stops the clock of the runtime until it is dropped: time passes only by `tokio::time::advance`.
pub(crate) struct StoppedClock {
    _held: Sender<()>,
}

impl StoppedClock {
    pub(crate) fn new() -> Self {
        tokio::time::pause();
        let (held, release) = channel::<()>();
        // A paused clock jumps to the next timer whenever nothing runs, but never while a blocking task does.
        tokio::task::spawn_blocking(move || release.recv_timeout(PATIENCE));
        Self { _held: held }
    }
}
