//! `ringfence serve`

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::book::Book;
use crate::commands::wrap::launcher;
use crate::error::{CommandError, Exit};
use crate::load::Place;
use crate::sandbox::BackendChoice;
use crate::serving::{ConsoleArgs, Listening, Plan, Wanted, log_to_error_stream, serve};
use crate::store::StoreName;

/// Offer the tools of a toolbox as an MCP server
///
/// Serves the client that has started it over standard input and output, or with `--listen` those that connect. Every call
/// goes the way of `ringfence call`: schemas, argument gate, approvals, sandbox, cleaning, audit.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence serve
  ringfence serve --listen 127.0.0.1:7119 --anonymous")]
pub(crate) struct ServeArgs {
    /// Let clients connect here over HTTP, instead of serving the one that has started us
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// With --listen on loopback: let everybody in who can reach the address, without a token
    #[arg(long, requires = "listen")]
    anonymous: bool,
    /// Keep the audit log, approvals and idempotency keys here; RINGFENCE_STORE by default
    #[arg(long, value_name = "FILE|URL")]
    store: Option<StoreName>,
    /// What confines the tools' commands
    #[arg(long, value_enum, default_value = "auto")]
    backend: BackendChoice,
    #[command(flatten)]
    console: ConsoleArgs,
}

pub(crate) fn run(args: &ServeArgs, place: &Place, _: &mut dyn Write) -> Result<Exit, CommandError> {
    log_to_error_stream();
    let loaded = place.load()?.sound()?;
    let starts =
        |own: &ringfence::Declaration| own.capabilities.as_ref().is_some_and(|own| own.process.is_some());
    let launcher = if loaded.declarations.iter().any(starts) {
        Some(Arc::new(launcher(args.backend, &loaded)?))
    } else {
        None
    };
    let listening = args.listen.map(|address| Listening::at(address, args.anonymous, &loaded));
    let plan = Plan {
        place,
        servers: Vec::new(),
        launcher,
        book: Book::beside(&place.policy),
        policy_tool: loaded.gateway.policy_tool,
        toolbox: true,
        held: place.held(&loaded)?,
    };
    let console = Wanted::new(&args.console, &loaded.console, place, None, args.listen.is_some());
    serve(plan, loaded, args.store.as_ref(), listening, Some(console))
}
