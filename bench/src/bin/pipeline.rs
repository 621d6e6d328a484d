//! What one call through the whole pipeline takes, against the two schema checks it contains.
#![expect(clippy::print_stdout, reason = "a measurement prints its table")]

use std::error::Error;
use std::time::Duration;

use ringfence_bench::ratio::Ratio;
use ringfence_bench::{Pipeline, measure};

const ROUNDS: usize = 101;
const SPAN: Duration = Duration::from_millis(4);

fn main() -> Result<(), Box<dyn Error>> {
    let pipeline = Pipeline::new()?;
    let mut subjects = pipeline.subjects();
    let times = measure(&mut subjects, ROUNDS, SPAN);
    println!("{:<36} {:>8}", "per operation, median", "ns");
    for (subject, time) in subjects.iter().zip(&times) {
        println!("{:<36} {time:>8.0}", subject.name);
    }
    if let [floor, no_op, call, grant, parallel] = times.as_slice() {
        println!();
        println!("c / a        {:>6.2}   aim: at most 6", call / floor);
        println!("(c − b) / a  {:>6.2}   what ringfence adds to the no-op", (call - no_op) / floor);
        println!("d / a        {:>6.2}   aim: at most 1", grant / floor);
        println!("e / a        {:>6.2}", parallel / floor);
        let against = "the two bare schema validations of the call";
        Ratio::lower("one call through the pipeline", call / floor, against).aim(6.0).say()?;
        Ratio::lower("what ringfence adds to the no-op", (call - no_op) / floor, against).say()?;
        Ratio::lower("resolve_capabilities alone", grant / floor, against).aim(1.0).say()?;
        Ratio::lower("execute_parallel of 8, per call", parallel / floor, against).say()?;
    }
    Ok(())
}
