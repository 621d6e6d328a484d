//! How one connection waits for another.
//!
//! SQLite's own handler sleeps up to a tenth of a second between two tries, and meanwhile a process with a long queue
//! takes the lock again and again. This one tries often enough to get its turn, and gives up at the same time.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How long one connection waits for another.
const PATIENCE: Duration = Duration::from_secs(10);
/// The shortest time between two tries.
const SHORTEST: Duration = Duration::from_micros(50);

thread_local! {
    /// When the wait of this thread began. A thread waits for one lock at a time.
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Has a connection wait with patience.
pub(super) fn have(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait))
}

/// Says whether to try again after `tries` tries.
fn wait(tries: i32) -> bool {
    if tries == 0 {
        SINCE.set(Some(Instant::now()));
    }
    if SINCE.get().is_none_or(|since| since.elapsed() > PATIENCE) {
        return false;
    }
    // The steps are uneven, so that two that wait do not do so in step: up to half a millisecond.
    let steps = 1 + u32::try_from(tries % 10).unwrap_or(0);
    std::thread::sleep(SHORTEST * steps);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends() {
        assert!(wait(0));
        assert!(wait(1));
        SINCE.set(Instant::now().checked_sub(PATIENCE + SHORTEST));
        assert!(!wait(2));
        assert!(wait(0));
    }
}
