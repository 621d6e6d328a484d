//! What a component may be linked to. Everything here is either inert or asks the call's context.

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random, sockets};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView as _};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use crate::bindings::Tool;
use crate::files::HasFiles;
use crate::state::State;

/// Fills a linker.
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    // Streams, clocks, randomness, standard input, output and error.
    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(linker)?;
    random::insecure::add_to_linker::<State, WasiRandom>(linker, State::random)?;
    random::insecure_seed::add_to_linker::<State, WasiRandom>(linker, State::random)?;
    cli::environment::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::exit::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    // Files, through the scoped handle.
    filesystem::preopens::add_to_linker::<State, HasFiles>(linker, State::files)?;
    filesystem::types::add_to_linker::<State, HasFiles>(linker, State::files)?;
    // Sockets, of which the context refuses every use.
    let options = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<State, WasiSockets>(linker, &options, State::sockets)?;
    sockets::instance_network::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::ip_name_lookup::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::tcp::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::tcp_create_socket::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::udp::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    sockets::udp_create_socket::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    Tool::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}
