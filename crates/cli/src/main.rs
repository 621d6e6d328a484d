//! `ringfence`

fn main() -> std::process::ExitCode {
    ringfence_cli::main(None)
}
