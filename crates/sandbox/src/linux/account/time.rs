//! Processor time of a tree, which misses little of what was never seen.

use std::collections::HashMap;
use std::time::Duration;

use super::process::Account;

/// Adds up processor time from look to look.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// What was seen at the last look: own time and time waited for, by number and start.
    last: HashMap<(u32, u64), (Duration, Duration)>,
    total: Duration,
    /// Time of processes that were seen, that are gone, and that nobody waited for; less what was waited for and not seen.
    forgotten: Duration,
}

/// What a process waited for is rounded down to ticks, in user and in kernel mode: so much of it may be missing.
const ROUNDED: Duration = Duration::from_millis(20);

impl Clock {
    /// Returns the time of all looks so far; the last was so long ago.
    ///
    /// What a process used itself is new time, always. What it waited for is new too, but for what its children were seen to have used
    /// before they were gone. Where children are gone that nobody waited for, others have come and gone unseen: then it is assumed
    /// that whatever runs now ran all the time.
    pub(super) fn count(&mut self, accounts: &HashMap<u32, Account>, elapsed: Duration) -> Duration {
        let mut now = HashMap::with_capacity(accounts.len());
        let (mut own, mut waited_for, mut running) = (Duration::ZERO, Duration::ZERO, 0);
        for (process, account) in accounts {
            let key = (*process, account.start);
            let (own_before, waited_before) = self.last.remove(&key).unwrap_or_default();
            // Two counters say what a process used, and the exact one may be behind the other.
            let used = account.own.max(own_before);
            own += used.saturating_sub(own_before);
            waited_for += account.waited_for.saturating_sub(waited_before);
            running += u32::from(account.running);
            now.insert(key, (used, account.waited_for.max(waited_before)));
        }
        let gone: Duration = self.last.values().map(|(own, waited_for)| *own + *waited_for).sum();
        self.last = now;
        let rounded = ROUNDED * (accounts.len() as u32 + 1);
        let seen = own + waited_for.saturating_sub(self.forgotten.min(rounded) + gone);
        self.forgotten = (self.forgotten + gone).saturating_sub(waited_for);
        let forgets = gone > waited_for && self.forgotten > rounded;
        self.total += if forgets { seen.max(elapsed * running.min(processors())) } else { seen };
        self.total
    }
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(start: u64, own: u64, waited_for: u64) -> Account {
        let (own, waited_for) = (Duration::from_millis(own), Duration::from_millis(waited_for));
        Account { start, own, waited_for, ..Account::default() }
    }

    const LOOK: Duration = Duration::from_millis(20);

    #[test]
    fn counts_each_moment_once() {
        #[rustfmt::skip]
        let looks: &[(&[(u32, Account)], u64)] = &[
            // process, (start, own, waited for)                        in all
            (&[(1, account(1, 10, 0))],                                 10),
            // A child appears, and ends as a zombie that is still seen.
            (&[(1, account(1, 10, 0)), (2, account(2, 50, 0))],         60),
            (&[(1, account(1, 10, 0)), (2, account(2, 70, 0))],         80),
            // It is waited for: nothing new but what it used since.
            (&[(1, account(1, 10, 75))],                                85),
            // Children that were never seen, and waited for.
            (&[(1, account(1, 10, 175))],                               185),
            // A child that nobody waits for, and another by the same number.
            (&[(1, account(1, 10, 175)), (2, account(3, 40, 0))],       225),
            (&[(1, account(1, 10, 175)), (2, account(4, 30, 0))],       255),
            (&[(1, account(1, 10, 175))],                               255),
        ];
        let mut clock = Clock::default();
        for (accounts, total) in looks {
            let counted = clock.count(&accounts.iter().copied().collect(), LOOK);
            assert_eq!(counted.as_millis(), u128::from(*total), "{accounts:?}");
        }
    }

    #[test]
    fn children_that_nobody_waits_for_are_counted_for_the_time_between() {
        // At each look another child of a few milliseconds, on one processor.
        let mut clock = Clock::default();
        let mut total = Duration::ZERO;
        for look in 0..100 {
            let child = Account { running: true, ..account(look, 4, 0) };
            total = clock.count(&HashMap::from([(1, account(0, 0, 0)), (2, child)]), LOOK);
        }
        let all = LOOK * 100;
        assert!(total > all * 3 / 4 && total <= all, "{total:?}");
        // The same, waited for: what the parent is told is rounded down, and nothing is assumed.
        let mut clock = Clock::default();
        for look in 0..100 {
            let child = Account { running: true, ..account(look, 4, 0) };
            let waited_for = look * 4 / 10 * 10;
            total = clock.count(&HashMap::from([(1, account(0, 0, waited_for)), (2, child)]), LOOK);
        }
        assert!(total >= Duration::from_millis(380) && total <= Duration::from_millis(440), "{total:?}");
    }
}
