//! `ringfence-components`: what `ringfence` becomes when it meets a WebAssembly component.
//!
//! The same command with an engine, in a program of its own because the engine takes longer to build than all the rest.

mod engine;

use crate::engine::Wasmtime;

static ENGINE: Wasmtime = Wasmtime::new();
static BROUGHT: &Wasmtime = &ENGINE;

fn main() -> std::process::ExitCode {
    ringfence_cli::main(Some(&BROUGHT))
}
