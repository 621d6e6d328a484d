//! Times of single operations, and the memory of this process.

use std::error::Error;
use std::time::{Duration, Instant};

/// The times of one subject, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// Adds the time of one operation.
    pub fn add(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64() * 1e9);
    }

    /// Adds the time of one operation, taken over many that are too short to be measured alone.
    pub fn add_each(&mut self, operations: u32, mut act: impl FnMut()) {
        let begun = Instant::now();
        for _ in 0..operations {
            act();
        }
        self.0.push(begun.elapsed().as_secs_f64() * 1e9 / f64::from(operations));
    }

    /// Returns how many operations were measured.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the time in microseconds that so many percent of the operations stayed below.
    pub fn at(&mut self, percent: usize) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0.get(self.0.len() * percent / 100).map_or(f64::NAN, |time| time / 1e3)
    }
}

/// Returns the memory of this process that is resident, in KiB.
///
/// # Errors
///
/// The system does not say.
pub fn resident() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no line `VmRSS`")?;
    Ok(line.split_whitespace().next().unwrap_or_default().parse()?)
}
