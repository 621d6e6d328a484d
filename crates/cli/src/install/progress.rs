//! Telling from time to time that an install is still at work.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often it is told.
const EVERY: Duration = Duration::from_secs(10);

/// Does some work, and tells that it goes on until it is done.
pub(super) fn reported<T>(package: &str, told: &(dyn Fn(&str) + Sync), work: impl FnOnce() -> T) -> T {
    reported_every(EVERY, package, told, work)
}

fn reported_every<T>(
    every: Duration,
    package: &str,
    told: &(dyn Fn(&str) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let start = Instant::now();
    // Nothing is ever sent: the end of the work drops one side, also when it panics.
    let (working, done) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                told(&format!("still installing `{package}`, {} s", start.elapsed().as_secs()));
            }
        });
        let _working = working;
        work()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn it_is_told_while_the_work_goes_on_and_not_after() {
        let lines = Mutex::new(Vec::new());
        let told = |line: &str| lines.lock().unwrap().push(line.to_owned());
        let every = Duration::from_millis(20);
        let done = reported_every(every, "x", &told, || {
            let start = Instant::now();
            while lines.lock().unwrap().len() < 2 && start.elapsed() < Duration::from_secs(120) {
                std::thread::sleep(Duration::from_millis(1));
            }
            7
        });
        assert_eq!(done, 7);
        let before = lines.lock().unwrap().clone();
        let is_told = |line: &String| line.starts_with("still installing `x`, ") && line.ends_with(" s");
        assert!(before.len() >= 2 && before.iter().all(is_told), "{before:?}");
        std::thread::sleep(every * 3);
        assert_eq!(*lines.lock().unwrap(), before);
        reported_every(Duration::from_hours(1), "x", &told, || ());
        assert_eq!(*lines.lock().unwrap(), before, "what is quick is not told");
    }
}
