//! Processor time of a tree, which misses little of what was never seen.

use std::collections::HashMap;
use std::sync::OnceLock;
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
    /// Time that processes which come and go must have had and that is not counted yet.
    doubt: Duration,
}

/// What a look tells beside the processes that were read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// How many processes were there, and gone before they were read.
    pub(super) missed: u32,
    /// Which part of a processor whoever wants one has, of 1.
    pub(super) share: f64,
}

/// What a process waited for is rounded down to ticks, in user and in kernel mode: so much of it may be missing.
const ROUNDED: Duration = Duration::from_millis(20);
/// So much of the time that is estimated is left to chance: looks are samples.
const CHANCE: Duration = Duration::from_millis(200);

impl Clock {
    /// Returns the time of all looks so far; the last was so long ago.
    ///
    /// What a process used itself is new time, always. What it waited for is new too, but for what its children were seen to have used
    /// before they were gone.
    ///
    /// Processes that come and go between two looks leave their time with whoever waits for them, and nowhere if nobody does. A look
    /// is a sample of them: one that is new and busy stands for others like it since the last look. Whatever that is more than new
    /// processes and waiting parents show, is counted as soon as it is more than chance.
    pub(super) fn count(
        &mut self,
        accounts: &HashMap<u32, Account>,
        sample: Sample,
        elapsed: Duration,
    ) -> Duration {
        let mut now = HashMap::with_capacity(accounts.len());
        let (mut own, mut waited_for, mut waiting) = (Duration::ZERO, Duration::ZERO, 0);
        let (mut fresh, mut shares) = (Duration::ZERO, f64::from(sample.missed) * sample.share);
        for (process, account) in accounts {
            let key = (*process, account.start);
            let before = self.last.remove(&key);
            if before.is_none() {
                fresh += account.own;
                if account.is_busy() {
                    shares += account.share().min(sample.share);
                }
            }
            let (own_before, waited_before) = before.unwrap_or_default();
            // Two counters say what a process used, and the exact one may be behind the other.
            let used = account.own.max(own_before);
            own += used.saturating_sub(own_before);
            waited_for += account.waited_for.saturating_sub(waited_before);
            waiting += u32::from(!account.waited_for.is_zero());
            now.insert(key, (used, account.waited_for.max(waited_before)));
        }
        let gone: Duration = self.last.values().map(|(own, waited_for)| *own + *waited_for).sum();
        self.last = now;
        // Only whoever waited for somebody has rounded anything.
        let rounded = ROUNDED * (waiting + 1);
        let unseen = waited_for.saturating_sub(self.forgotten.min(rounded) + gone);
        self.forgotten = (self.forgotten + gone).saturating_sub(waited_for);
        self.total += own + unseen;

        let sampled = shares.min(f64::from(processors()));
        self.doubt = (self.doubt + elapsed.mul_f64(sampled)).saturating_sub(fresh + unseen);
        if self.doubt > CHANCE {
            self.total += std::mem::take(&mut self.doubt);
        }
        self.total
    }
}

/// Returns which part of a processor whoever wants one has just now, of 1.
pub(super) fn processor_share() -> f64 {
    let wanted = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| wanting(&text));
    // We want one too, to look.
    let others = wanted.unwrap_or_default().saturating_sub(1).max(1);
    (f64::from(processors()) / f64::from(others)).min(1.0)
}

/// The fourth field is how many threads want a processor, of how many.
fn wanting(loadavg: &str) -> Option<u32> {
    loadavg.split_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

/// Returns how many processors there are, asked once: the answer is in several files.
pub(crate) fn processors() -> u32 {
    static PROCESSORS: OnceLock<u32> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, |count| count.get() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(start: u64, own: u64, waited_for: u64) -> Account {
        let (own, waited_for) = (Duration::from_millis(own), Duration::from_millis(waited_for));
        Account { start, own, waited_for, threads: 1, ..Account::default() }
    }

    const LOOK: Duration = Duration::from_millis(20);
    /// Nobody else wants a processor.
    const ALONE: Sample = Sample { missed: 0, share: 1.0 };

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
            let counted = clock.count(&accounts.iter().copied().collect(), ALONE, LOOK);
            assert_eq!(counted.as_millis(), u128::from(*total), "{accounts:?}");
        }
    }

    /// Counts a hundred looks, at each of which there is one new child that has run for a millisecond, beside others.
    fn count(child: Account, others: u32, parent: impl Fn(u64) -> Account) -> Duration {
        let (mut clock, mut total) = (Clock::default(), Duration::ZERO);
        for look in 0..100 {
            let mut accounts = HashMap::from([(1, parent(look)), (2, Account { start: look, ..child })]);
            accounts.extend((10..10 + others).map(|number| (number, account(0, 0, 0))));
            total = clock.count(&accounts, ALONE, LOOK);
        }
        total
    }

    #[test]
    fn children_that_nobody_waits_for_are_counted_for_the_time_between() {
        let all = LOOK * 100;
        let child = Account { running: true, ..account(0, 1, 0) };
        let idle = |_| account(0, 0, 0);
        let is_near = |total: Duration| total + CHANCE >= all && total <= all + LOOK;
        assert!(is_near(count(child, 0, idle)));
        // Many that sleep hide nothing.
        assert!(is_near(count(child, 200, idle)));
        // Nor does a thread that runs behind one that does not.
        assert!(is_near(count(Account { running: false, threads: 2, ..child }, 0, idle)));
        // Nor a child that is waited for beside them.
        let drained = count(child, 200, |look| account(0, 0, look * 5));
        assert!(drained + CHANCE >= all, "{drained:?}");
        // One that has had a tenth of a processor stands for others that had.
        let delayed = Duration::from_millis(9);
        let total = count(Account { delayed, ..child }, 0, idle);
        assert!(total <= all / 10 + CHANCE, "{total:?}");
        // Those that were gone before they were read are counted too.
        let mut clock = Clock::default();
        let total = (0..100)
            .map(|_| clock.count(&HashMap::from([(1, idle(0))]), Sample { missed: 1, ..ALONE }, LOOK))
            .max();
        assert!(is_near(total.unwrap()), "{total:?}");
    }

    #[test]
    fn on_a_busy_machine_a_sample_stands_for_less() {
        assert_eq!(wanting("5.81 5.69 6.43 7/312 4711\n"), Some(7));
        assert_eq!(wanting(""), None);
        assert!(processor_share() > 0.0 && processor_share() <= 1.0);
        let (mut clock, mut total) = (Clock::default(), Duration::ZERO);
        for look in 0..100 {
            let child = Account { running: true, ..account(look, 0, 0) };
            // Waited for, and it had a quarter of the time.
            let accounts = HashMap::from([(1, account(0, 0, look * 5 / 10 * 10)), (2, child)]);
            total = clock.count(&accounts, Sample { missed: 0, share: 0.25 }, LOOK);
        }
        assert!(total <= LOOK * 100 / 4 + ROUNDED, "{total:?}");
    }

    #[test]
    fn children_that_are_waited_for_are_counted_once() {
        let child = Account { running: true, ..account(0, 1, 0) };
        // What the parent is told is rounded down, and nothing is assumed.
        let total = count(child, 0, |look| account(0, 0, look * 20 / 10 * 10));
        assert!(total >= LOOK * 98 && total <= LOOK * 102, "{total:?}");
        // A process that stays is counted by what it has used, whatever else it seems to do.
        let mut clock = Clock::default();
        let stays = |look: u64| HashMap::from([(1, Account { running: true, ..account(0, look, 0) })]);
        let total = (0..100).map(|look| clock.count(&stays(look), ALONE, LOOK)).max().unwrap();
        assert!(total <= Duration::from_millis(99) + LOOK, "{total:?}");
    }
}
