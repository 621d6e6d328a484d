//! The `ringfence-lint` command, which `ringfence lint` starts. It is also what cargo starts in place of the compiler.

mod command;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use ringfence_lint::build::{self, BuildError};
use ringfence_policy::explain::explain_line;
use ringfence_sandbox::inner;

use crate::command::{Args, CommandError};

fn main() -> ExitCode {
    if std::env::var_os(build::VARIABLE).is_some() {
        return build::stand_in(std::env::args_os().skip(1));
    }
    if let Some(said) = inner::stage(std::env::args_os().skip(1)) {
        let _told = writeln!(std::io::stderr().lock(), "{said}");
        return ExitCode::from(inner::FAILED);
    }
    let args = Args::parse();
    match command::run(&args) {
        Ok(code) => code,
        // Whoever reads our output has had enough.
        Err(CommandError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            let is_missing = matches!(error, CommandError::Build(BuildError::NotFetched { .. }));
            if !(is_missing && args.quiet_missing) {
                tell(&error);
            }
            ExitCode::from(error.exit())
        }
    }
}

fn tell(error: &CommandError) {
    let mut stderr = std::io::stderr().lock();
    // What a build says has lines, and is not to drive the terminal.
    let shown: Vec<String> = error.to_string().lines().map(ringfence_policy::report::plain).collect();
    let _told = writeln!(stderr, "error: {}", shown.join("\n  "));
    if let Some(hint) = error.hint() {
        let _told = writeln!(stderr, "  hint: {hint}");
    }
    if let Some(code) = error.code() {
        let _told = writeln!(stderr, "  {}", explain_line(code.as_str()));
    }
}
