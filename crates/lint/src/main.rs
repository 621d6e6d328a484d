//! The `ringfence-lint` command.

use std::io::Write;
use std::process::ExitCode;

use ringfence_lint::build;
use ringfence_sandbox::inner;

fn main() -> ExitCode {
    if std::env::var_os(build::VARIABLE).is_some() {
        return build::stand_in(std::env::args_os().skip(1));
    }
    if let Some(said) = inner::stage(std::env::args_os().skip(1)) {
        let _told = writeln!(std::io::stderr().lock(), "{said}");
        return ExitCode::from(inner::FAILED);
    }
    ExitCode::FAILURE
}
