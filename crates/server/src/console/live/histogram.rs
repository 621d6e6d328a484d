//! How long calls took, counted in fixed steps.
//!
//! INVARIANT: counting takes no lock, and a call counts in exactly one step.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper ends of the steps, in microseconds; what took longer is in a last step without end.
pub(crate) const STEPS: [u64; 16] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Counts of calls by how long they took.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    steps: [AtomicU64; STEPS.len()],
    beyond: AtomicU64,
    sum_us: AtomicU64,
}

/// What was counted at one time.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Counted {
    /// How many calls are in each step, the last one without end among them.
    pub(crate) steps: Vec<u64>,
    /// How long all of them took together, in microseconds.
    pub(crate) sum_us: u64,
}

impl Histogram {
    /// Counts a call.
    pub(crate) fn add(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let step = STEPS.iter().position(|end| took <= *end).and_then(|step| self.steps.get(step));
        step.unwrap_or(&self.beyond).fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(took, Ordering::Relaxed);
    }

    /// Returns what was counted.
    pub(crate) fn counted(&self) -> Counted {
        let all = self.steps.iter().chain([&self.beyond]);
        let steps = all.map(|step| step.load(Ordering::Relaxed)).collect();
        Counted { steps, sum_us: self.sum_us.load(Ordering::Relaxed) }
    }
}

impl Counted {
    /// Returns how many calls were counted.
    pub(crate) fn count(&self) -> u64 {
        self.steps.iter().sum()
    }

    /// Returns the end of the step in which so many of a hundred calls are done, in microseconds; nothing where there were no
    /// calls, or where that step has no end.
    pub(crate) fn within(&self, percent: u64) -> Option<u64> {
        let wanted = (self.count() * percent).div_ceil(100).max(1);
        let mut sum = 0;
        let step = self.steps.iter().position(|step| {
            sum += step;
            sum >= wanted
        })?;
        STEPS.get(step).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_in_the_step_that_it_fits() {
        #[rustfmt::skip]
        let cases = [
            // took in µs    step
            (0,              0),
            (500,            0),
            (501,            1),
            (60_000_000,     15),
            (60_000_001,     16),
            (u64::MAX,       16),
        ];
        for (took, step) in cases {
            let histogram = Histogram::default();
            histogram.add(Duration::from_micros(took));
            let counted = histogram.counted();
            assert_eq!(counted.count(), 1);
            assert_eq!(counted.steps.iter().position(|step| *step == 1), Some(step), "{took}");
        }
    }

    #[test]
    fn says_within_which_time_most_calls_are_done() {
        let histogram = Histogram::default();
        assert_eq!(histogram.counted().within(50), None, "no calls");
        for took in [100, 200, 300, 2_000, 2_000, 2_000, 2_000, 9_000, 9_000, 90_000] {
            histogram.add(Duration::from_micros(took));
        }
        let counted = histogram.counted();
        assert_eq!(
            [30, 31, 50, 90, 95, 99].map(|one| counted.within(one)).map(Option::unwrap),
            [500, 2_500, 2_500, 10_000, 100_000, 100_000]
        );
        histogram.add(Duration::from_secs(100));
        assert_eq!(histogram.counted().within(99), None, "it took longer than is counted");
    }
}
