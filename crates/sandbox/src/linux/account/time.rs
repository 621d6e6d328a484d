//! Processor time of a tree, which misses nothing that was seen.

use std::collections::HashMap;
use std::time::Duration;

use super::process::Account;

/// Adds up processor time from look to look.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// What was seen at the last look: own time and time waited for, by number and start.
    last: HashMap<(u32, u64), (Duration, Duration)>,
    total: Duration,
}

impl Clock {
    /// Returns the time of all looks so far.
    ///
    /// What a process used itself is new time, always. What it waited for is new too, but for what its children were seen to have used
    /// before they were gone. A child that nobody waits for is counted as far as it was seen.
    pub(super) fn count(&mut self, accounts: &HashMap<u32, Account>) -> Duration {
        let mut now = HashMap::with_capacity(accounts.len());
        let (mut own, mut waited_for) = (Duration::ZERO, Duration::ZERO);
        for (process, account) in accounts {
            let key = (*process, account.start);
            let (own_before, waited_before) = self.last.remove(&key).unwrap_or_default();
            // Two counters say what a process used, and the exact one may be behind the other.
            let used = account.own.max(own_before);
            own += used.saturating_sub(own_before);
            waited_for += account.waited_for.saturating_sub(waited_before);
            now.insert(key, (used, account.waited_for.max(waited_before)));
        }
        let known: Duration = self.last.values().map(|(own, waited_for)| *own + *waited_for).sum();
        self.last = now;
        self.total += own + waited_for.saturating_sub(known);
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn account(start: u64, own: u64, waited_for: u64) -> Account {
        Account {
            start,
            own: Duration::from_millis(own),
            waited_for: Duration::from_millis(waited_for),
            private: 0,
            tables: 0,
            descriptors: 0,
        }
    }

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
            let counted = clock.count(&accounts.iter().copied().collect());
            assert_eq!(counted.as_millis(), u128::from(*total), "{accounts:?}");
        }
    }
}
