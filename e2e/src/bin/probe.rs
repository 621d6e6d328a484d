//! Tries one escape by name: `probe fs::read_outside work=/… outside=/…`.
//!
//! Prints `escaped: <evidence>` and exits with 0, `confined: <reason>` with 1, or `broken: <reason>` with 2 when the
//! escape could not even be tried. `probe canary …` is the process that holds the secrets; `probe say` is the program
//! that an escape starts.

#![expect(clippy::print_stdout, reason = "its line is its result")]

use std::process::ExitCode;

use ringfence_e2e::{PAYLOAD, Scene, Stop, probes, serve};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let scene: Scene = arguments.collect();
    let (word, evidence, code) = match name.as_str() {
        "canary" => match serve(&scene) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(stop) => ("broken", format!("{stop:?}"), 2),
        },
        "say" => {
            println!("{PAYLOAD}");
            return ExitCode::SUCCESS;
        }
        name => match probes().find(|probe| probe.name == name).map(|probe| probe.run(&scene)) {
            Some(Ok(evidence)) => ("escaped", evidence, 0),
            Some(Err(Stop::Confined(reason))) => ("confined", reason, 1),
            Some(Err(Stop::Broken(reason))) => ("broken", reason, 2),
            None => ("broken", format!("there is no probe `{name}`"), 2),
        },
    };
    println!("{word}: {}", evidence.escape_debug());
    ExitCode::from(code)
}
