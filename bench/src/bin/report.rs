//! Makes a page of what `script/bench` measured, compares it with the baseline, or writes a new one.
//!
//! ```text
//! report page FOLDER                 the page, for docs/benchmarks.md
//! report table FOLDER                the ratios alone
//! report check FOLDER BASELINE       what became of each ratio; exit code 1 when one got worse or is gone, or a program failed
//! report baseline FOLDER BASELINE    writes the baseline anew; exit code 1, and nothing written, when a program failed
//! ```
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it reads what was measured and prints what it came to"
)]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use ringfence_bench::report::{Baseline, Measured, Verdict, page, table};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let measured = match words.as_slice() {
        [_, folder, ..] => Measured::read(Path::new(folder))?,
        _ => return Err(USAGE.into()),
    };
    match words.as_slice() {
        ["page", _] => {
            let own = std::env::current_exe()?;
            let target = own.ancestors().nth(2).and_then(Path::to_str).ok_or("this program lies nowhere")?;
            print!("{}", page(&measured, &[(target, "target"), (checkout(), ".")]));
        }
        ["table", _] => print!("{}", table(&measured)),
        ["check", _, baseline] => return check(&measured, Path::new(baseline)),
        ["baseline", _, baseline] => {
            if measured.has_failed() {
                println!("a program failed: the baseline stays as it is");
                return Ok(ExitCode::FAILURE);
            }
            let renewed = read(Path::new(baseline))?.renewed(&measured);
            std::fs::write(baseline, renewed.to_string())?;
        }
        _ => return Err(USAGE.into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder of these sources, which must not be in the page.
fn checkout() -> &'static str {
    env!("CARGO_MANIFEST_DIR").trim_end_matches("/bench")
}

const USAGE: &str = "usage: report page|table FOLDER, or report check|baseline FOLDER BASELINE";

/// Reads the baseline; none at all is an empty one.
fn read(path: &Path) -> Result<Baseline, Box<dyn Error>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.parse()?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Baseline::default()),
        Err(error) => Err(error.into()),
    }
}

fn check(measured: &Measured, baseline: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let compared = read(baseline)?.compare(measured);
    for one in compared.iter().filter(|one| one.verdict != Verdict::Same) {
        println!("{one}");
    }
    for program in measured.programs.iter().filter(|program| program.failed.is_some()) {
        println!("FAILED {}: {}", program.name, program.failed.as_deref().unwrap_or_default());
    }
    let worse = compared.iter().filter(|one| one.verdict.is_regression()).count();
    println!("{} ratios compared, {worse} worse or gone", compared.len());
    let is_sound = worse == 0 && !measured.has_failed();
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
