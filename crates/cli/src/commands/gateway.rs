//! `ringfence gateway`

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ringfence::policy::{ServerEntry, TokenDigest, ToolName};
use ringfence_server::http::{new_token, token_hash};

use crate::book::Book;
use crate::commands::wrap::{granted, launcher};
use crate::error::{CommandError, Exit};
use crate::install::Refresh;
use crate::load::Place;
use crate::sandbox::BackendChoice;
use crate::serving::{
    ConsoleArgs, Fenced, IDLE, Listening, Plan, Standing, Wanted, Watch, log_to_error_stream,
    serve_until_changed, server_spec, tell,
};
use crate::store::StoreName;

/// Hold the servers and tools of the toolbox behind one endpoint
///
/// Every `[[server]]` entry with a command and every tool of the toolbox is offered, the tools of a server as `server__tool`.
/// A server is started for a session when it is first needed, and ends when nothing is asked of it. Clients connect over
/// streamable HTTP at `/mcp` with the bearer token of their `[[agent]]` entry. When the policy or its manifest is changed and
/// sound, it is put in force: sessions end, and new ones are held to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence gateway --new-token researcher
  ringfence gateway --store fence.db --open
  ringfence gateway --stdio")]
pub(crate) struct GatewayArgs {
    /// Where clients connect; `listen` of `[gateway]`, or 127.0.0.1:7117
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Serve the client that has started us, over standard input and output
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,
    /// On loopback and without `[[agent]]` entries: let everybody in who can reach the address, without a token
    #[arg(long, conflicts_with = "stdio")]
    anonymous: bool,
    /// Print a new token and the entry of the agent that is to have it, and do nothing else
    #[arg(long, value_name = "AGENT")]
    new_token: Option<ToolName>,
    /// Keep the audit log, approvals and idempotency keys here; RINGFENCE_STORE by default
    #[arg(long, value_name = "FILE|URL")]
    store: Option<StoreName>,
    /// What confines the servers
    #[arg(long, value_enum, default_value = "auto")]
    backend: BackendChoice,
    #[command(flatten)]
    console: ConsoleArgs,
}

/// Where clients connect when nothing else is said.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7117);

pub(crate) fn run(args: &GatewayArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if let Some(name) = &args.new_token {
        let token = new_token();
        let digest = TokenDigest::new(token_hash(&token));
        writeln!(out, "# The token of `{name}`, which is shown only here: {token}")?;
        writeln!(out, "[[agent]]\nname = \"{name}\"\ntoken = \"{digest}\"")?;
        return Ok(Exit::Done);
    }
    log_to_error_stream();
    let mut standing = None;
    loop {
        standing = serve_once(args, place, standing)?;
        if standing.is_none() {
            return Ok(Exit::Done);
        }
    }
}

/// Serves until a signal comes, or until the policy was changed and is to be put in force.
fn serve_once(
    args: &GatewayArgs,
    place: &Place,
    standing: Option<Standing>,
) -> Result<Option<Standing>, CommandError> {
    let watch = Watch::new(place);
    let loaded = place.load()?.sound()?;
    let book = Book::beside(&place.policy);
    // A pin file that cannot be trusted stops everything, before anything is started.
    book.read_pins()?;
    let needs_sandbox = !loaded.servers.is_empty()
        || loaded
            .declarations
            .iter()
            .any(|own| own.capabilities.as_ref().is_some_and(|own| own.process.is_some()));
    let launcher = if needs_sandbox { Some(Arc::new(launcher(args.backend, &loaded)?)) } else { None };
    let held = place.held(&loaded)?;
    let mut servers = Vec::new();
    for entry in &loaded.servers {
        if let Some(why) = held.servers.get(entry.name.as_str()) {
            withheld(entry.name.as_str(), why);
            continue;
        }
        let Some(launcher) = &launcher else { continue };
        let grant = granted(entry, &loaded, place)?;
        let server = Fenced::new(entry, command(entry)?, Refresh::Keep, grant, Arc::clone(launcher))?;
        servers.push(server_spec(entry, Arc::new(server), true, IDLE));
    }
    let former = standing.as_ref().and_then(|standing| standing.console.clone());
    let console = Wanted::new(&args.console, &loaded.console, place, former, !args.stdio);
    let listening = (!args.stdio).then(|| {
        let address = args.listen.or(loaded.gateway.listen).unwrap_or(ADDRESS);
        Listening { standing, watch: Some(watch), ..Listening::at(address, args.anonymous, &loaded) }
    });
    let policy_tool = loaded.gateway.policy_tool;
    let plan = Plan { place, servers, launcher, book, policy_tool, toolbox: true, held };
    serve_until_changed(plan, loaded, args.store.as_ref(), listening, Some(console))
}

/// Tells whoever started us that a server is not there, and why.
pub(crate) fn withheld(server: &str, why: &str) {
    tell(&format!(
        "server `{server}` may do more than was accepted, and is withheld: {why}; `ringfence manifest accept` shows what changed, and asks before it accepts it"
    ));
}

fn command(entry: &ServerEntry) -> Result<&[String], CommandError> {
    if entry.command.is_empty() {
        return Err(CommandError::Input {
            message: format!("server `{}` has no `command`", entry.name),
            hint: Some("write `command = [\"program\", …]` into its `[[server]]` entry"),
        });
    }
    Ok(&entry.command)
}
