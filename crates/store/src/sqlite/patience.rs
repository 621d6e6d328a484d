//! How one connection waits for another.
//!
//! SQLite's own handler sleeps up to a tenth of a second between two tries, and meanwhile a process with a long queue
//! takes the lock again and again. This one tries often enough to get its turn, and gives up at the same time.

use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How long one connection waits for another.
const PATIENCE: Duration = Duration::from_secs(10);
/// The shortest time between two tries.
const SHORTEST: Duration = Duration::from_micros(50);

/// Has a connection wait with patience.
pub(super) fn have(connection: &mut Connection) -> rusqlite::Result<()> {
    let mut since = Instant::now();
    connection.busy_handler(Some(move |tries| wait(&mut since, tries)))
}

/// Has a connection not wait at all.
pub(super) fn lose(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)
}

/// Says whether to try again after `tries` tries, the first of which was at `since`.
fn wait(since: &mut Instant, tries: i32) -> bool {
    if tries == 0 {
        *since = Instant::now();
    }
    if since.elapsed() > PATIENCE {
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
        let mut since = Instant::now();
        assert!(wait(&mut since, 0));
        assert!(wait(&mut since, 1));
        since = since.checked_sub(PATIENCE + SHORTEST).unwrap();
        assert!(!wait(&mut since, 2));
        assert!(wait(&mut since, 0));
    }
}
