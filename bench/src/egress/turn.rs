//! Turns that are taken by all, round after round, and what each took.

use std::error::Error;

/// One subject: what it is called and how it takes a turn.
pub struct Turn<'a> {
    /// What it is called in the table.
    pub name: String,
    /// Takes a turn and returns the nanoseconds of each operation.
    #[expect(clippy::type_complexity, reason = "it is one function")]
    pub take: Box<dyn FnMut() -> Result<Vec<u64>, Box<dyn Error>> + 'a>,
}

/// What one subject took, in order.
pub struct Samples {
    /// What it is called.
    pub name: String,
    sorted: Vec<u64>,
}

impl Samples {
    /// Returns the nanoseconds that this part of a hundred operations stayed below.
    pub fn at(&self, part: usize) -> f64 {
        self.sorted.get(self.sorted.len() * part / 100).map_or(f64::NAN, |nanos| *nanos as f64)
    }
}

/// Lets every subject take a turn in every round; what the first rounds took is not counted.
pub fn interleave(
    turns: &mut [Turn<'_>],
    warm_up: usize,
    rounds: usize,
) -> Result<Vec<Samples>, Box<dyn Error>> {
    let mut samples: Vec<Vec<u64>> = turns.iter().map(|_| Vec::new()).collect();
    for round in 0..warm_up + rounds {
        for (turn, samples) in turns.iter_mut().zip(&mut samples) {
            let times = (turn.take)().map_err(|error| format!("{}: {error}", turn.name))?;
            if round >= warm_up {
                samples.extend(times);
            }
        }
    }
    Ok(turns
        .iter()
        .zip(samples)
        .map(|(turn, mut sorted)| {
            sorted.sort_unstable();
            Samples { name: turn.name.clone(), sorted }
        })
        .collect())
}
