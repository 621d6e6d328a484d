//! What the measurements share: subjects, rounds that take turns, and medians of them.
//!
//! INVARIANT: every subject of a run is measured in every round, so that a machine that slows down slows all of
//! them and their ratios stay true.

pub mod console;
pub mod durability;
pub mod egress;
pub mod mcp;
mod pipeline;
pub mod ratio;
pub mod report;
pub mod runtime;

use std::time::{Duration, Instant};

pub use pipeline::Pipeline;

/// One thing that is measured.
pub struct Subject<'a> {
    /// What it is called in the table.
    pub name: &'static str,
    /// How many operations one turn of `turn` does.
    pub operations: u32,
    /// Does them.
    pub turn: Box<dyn FnMut() + 'a>,
}

/// Returns the median nanoseconds per operation of each subject, over `rounds` rounds of about `span` for each.
pub fn measure(subjects: &mut [Subject<'_>], rounds: usize, span: Duration) -> Vec<f64> {
    let turns: Vec<u32> = subjects.iter_mut().map(|subject| calibrated(subject, span)).collect();
    let mut samples = vec![Vec::with_capacity(rounds); subjects.len()];
    for _ in 0..rounds {
        for ((subject, turns), samples) in subjects.iter_mut().zip(&turns).zip(&mut samples) {
            let operations = f64::from(*turns) * f64::from(subject.operations);
            samples.push(timed(subject, *turns) / operations);
        }
    }
    samples.into_iter().map(median).collect()
}

/// Warms a subject up and returns how many turns take about `span`.
fn calibrated(subject: &mut Subject<'_>, span: Duration) -> u32 {
    let mut turns = 1_u32;
    while timed(subject, turns) < span.as_secs_f64() * 1e9 && turns < 1 << 28 {
        turns *= 2;
    }
    turns
}

/// Returns the nanoseconds that `turns` turns take.
fn timed(subject: &mut Subject<'_>, turns: u32) -> f64 {
    let started = Instant::now();
    for _ in 0..turns {
        (subject.turn)();
    }
    started.elapsed().as_secs_f64() * 1e9
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
