//! The acts of the component as a program: the act as JSON in the first argument, the answer on standard output.
//!
//! It exits with 0 whatever came of the act, and with 2 when there is no act.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let act = std::env::args().nth(1).unwrap_or_default();
    let (code, text) = match probe::answer(&act) {
        Ok(answer) => (ExitCode::SUCCESS, answer),
        Err(error) => (ExitCode::from(2), error),
    };
    // Where nobody reads any more there is nobody to tell.
    let _lost = writeln!(std::io::stdout(), "{text}");
    code
}
