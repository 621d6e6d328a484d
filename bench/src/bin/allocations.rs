//! How often the same subjects allocate. On its own, because counting slows every allocation down.
#![expect(clippy::print_stdout, reason = "a measurement prints its table")]

use std::error::Error;

use ringfence_bench::Pipeline;
use ringfence_bench::ratio::Ratio;

/// Turns that are counted, enough for what happens now and then to show as its share.
const TURNS: u32 = 1_024;

fn main() -> Result<(), Box<dyn Error>> {
    let pipeline = Pipeline::new()?;
    println!("{:<36} {:>12} {:>8}", "per operation", "allocations", "bytes");
    let mut counts = Vec::new();
    for mut subject in pipeline.subjects() {
        (subject.turn)();
        let counted = allocation_counter::measure(|| (0..TURNS).for_each(|_| (subject.turn)()));
        let operations = f64::from(TURNS * subject.operations);
        let per = |total: u64| u32::try_from(total).map_or(f64::INFINITY, f64::from) / operations;
        let (count, bytes) = (per(counted.count_total), per(counted.bytes_total));
        println!("{:<36} {count:>12.1} {bytes:>8.0}", subject.name);
        counts.push((count, bytes));
    }
    if let [_, no_op, call, _, parallel] = counts.as_slice() {
        let against = "the no-op called directly";
        Ratio::lower("allocations of one call", call.0 / no_op.0, against).say()?;
        Ratio::lower("bytes of one call", call.1 / no_op.1, against).say()?;
        Ratio::lower("allocations of a call in execute_parallel of 8", parallel.0 / no_op.0, against)
            .say()?;
        Ratio::lower("bytes of a call in execute_parallel of 8", parallel.1 / no_op.1, against).say()?;
    }
    Ok(())
}
