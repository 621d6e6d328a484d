//! What the measurements share: rounds that take turns, and medians of them.
//!
//! INVARIANT: every subject of a run is measured in every round, so that a machine that slows down slows all of
//! them and their ratios stay true.

use std::time::{Duration, Instant};

/// One thing that is measured.
pub struct Subject<'a> {
    /// What it is called in the table.
    pub name: &'static str,
    /// How many operations one turn of `turn` does.
    pub operations: u32,
    /// Does them.
    pub turn: Box<dyn FnMut() + 'a>,
}

/// What came out.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What was measured.
    pub name: &'static str,
    /// The median over all rounds, in nanoseconds per operation.
    pub nanoseconds: f64,
    /// Allocations per operation.
    pub allocations: f64,
    /// Allocated bytes per operation.
    pub bytes: f64,
}

/// Measures the subjects in turns: first the allocations of one turn, then `rounds` rounds of `span` for each.
pub fn measure(subjects: &mut [Subject<'_>], rounds: usize, span: Duration) -> Vec<Figure> {
    let mut allocations = Vec::new();
    let mut batches = Vec::new();
    for subject in subjects.iter_mut() {
        let batch = calibrated(subject, span);
        let counted = allocation_counter::measure(|| (subject.turn)());
        allocations.push((counted.count_total, counted.bytes_total));
        batches.push(batch);
    }
    let mut samples = vec![Vec::with_capacity(rounds); subjects.len()];
    for _ in 0..rounds {
        for ((subject, batch), samples) in subjects.iter_mut().zip(&batches).zip(&mut samples) {
            let per_turn = timed(subject, *batch) / f64::from(*batch);
            samples.push(per_turn / f64::from(subject.operations));
        }
    }
    subjects
        .iter()
        .zip(samples)
        .zip(allocations)
        .map(|((subject, samples), (count, bytes))| Figure {
            name: subject.name,
            nanoseconds: median(samples),
            allocations: per(count, subject.operations),
            bytes: per(bytes, subject.operations),
        })
        .collect()
}

/// Warms a subject up and returns how many turns take about `span`.
fn calibrated(subject: &mut Subject<'_>, span: Duration) -> u32 {
    let mut turns = 1_u32;
    loop {
        let taken = timed(subject, turns);
        if taken >= span.as_secs_f64() * 1e9 || turns > 1 << 28 {
            return turns;
        }
        turns *= 2;
    }
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

fn per(total: u64, operations: u32) -> f64 {
    u32::try_from(total).map_or(f64::INFINITY, f64::from) / f64::from(operations)
}
