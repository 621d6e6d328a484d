//! `ringfence wrap`

mod name;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::{Accept, ServerEntry, ServerName, resolve_capabilities};
use ringfence::{Grant, SandboxLauncher};

use crate::book::Book;
use crate::commands::gateway::withheld;
use crate::error::{CommandError, Exit};
use crate::exposed::refuse_writable_policy;
use crate::held::Held;
use crate::install::Refresh;
use crate::load::{Loaded, Place};
use crate::sandbox::{BackendChoice, choose};
use crate::serving::{Fenced, Listening, Plan, log_to_error_stream, serve, server_spec};
use crate::store::StoreName;

use name::{By, Named, name_of};

/// Put an MCP server inside the fence, with no change to the server or the client
///
/// Write `ringfence wrap --` in front of the command in a client's configuration. The server is started in the sandbox with
/// what the `[[server]]` entry of its name grants, and with nothing but its own installation where there is none. Its tools
/// wait to be accepted (`ringfence pins`), unless the entry says `accept = "clean"` or the command line `--accept clean`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence wrap -- uvx mcp-server-git --repository .
  ringfence wrap --policy fence.toml --name git -- uvx mcp-server-git
  ringfence wrap --accept clean -- npx -y @modelcontextprotocol/server-memory")]
pub(crate) struct WrapArgs {
    /// The name of the server's entry and of its pins; that of its package or program where it is left out
    #[arg(long, value_name = "NAME")]
    name: Option<ServerName>,
    /// Which definitions are accepted when they are first seen, instead of what the entry says
    #[arg(long, value_name = "WHICH", value_enum)]
    accept: Option<Accepted>,
    /// Keep the audit log, approvals and idempotency keys here; RINGFENCE_STORE by default
    #[arg(long, value_name = "FILE|URL")]
    store: Option<StoreName>,
    /// Let clients connect here over HTTP, instead of serving the one that has started us
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// With --listen on loopback: let everybody in who can reach the address, without a token
    #[arg(long, requires = "listen")]
    anonymous: bool,
    /// Install the package of an `npx`, `uvx` or `pipx run` command anew, instead of using what is installed
    #[arg(long)]
    refresh: bool,
    /// What confines it
    #[arg(long, value_enum, default_value = "auto")]
    backend: BackendChoice,
    /// The server's command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Which definitions are accepted when they are first seen.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Accepted {
    /// Those in which the scan finds nothing
    Clean,
    /// None
    Review,
}

pub(crate) fn run(args: &WrapArgs, place: &Place, _: &mut dyn Write) -> Result<Exit, CommandError> {
    log_to_error_stream();
    let loaded = place.load_if_named()?.sound()?;
    let (entry, has_entry) = entry(args, &loaded)?;
    let held = if place.is_named { place.agreed(&loaded)? } else { Held::default() };
    if let Some(why) = held.servers.get(entry.name.as_str()) {
        withheld(entry.name.as_str(), why);
        return Ok(Exit::Refused);
    }
    let grant = granted(&entry, &loaded, place)?;
    let launcher = Arc::new(launcher(args.backend, &loaded)?);
    // A pin file that lies where a client happens to start us is nobody's word, and the policy beside it neither.
    let book = if place.is_named { Book::beside(&place.policy) } else { Book::of_server(&entry.name)? };
    // A pin file that cannot be trusted stops everything, before anything is started.
    book.read_pins()?;
    let refresh = if args.refresh { Refresh::Anew } else { Refresh::Keep };
    let server = Fenced::new(&entry, &args.command, refresh, grant, Arc::clone(&launcher))?;
    if !has_entry {
        server.tried.no_policy();
    }
    server.tell_dropped();
    let spec = server_spec(&entry, Arc::new(server), false, Duration::ZERO);
    let plan = Plan {
        place,
        servers: vec![spec],
        launcher: Some(launcher),
        book,
        policy_tool: entry.policy_tool,
        toolbox: false,
        held,
    };
    let listening = args.listen.map(|address| Listening::at(address, args.anonymous, &loaded));
    serve(plan, loaded, args.store.as_ref(), listening, None)
}

fn entry(args: &WrapArgs, loaded: &Loaded) -> Result<(ServerEntry, bool), CommandError> {
    let Named { name, by } = match &args.name {
        Some(name) => Named { name: name.clone(), by: By::Command },
        None => name_of(&args.command)?,
    };
    let known = loaded.servers.iter().find(|own| own.name == name).cloned();
    let has_entry = known.is_some();
    // A package that could choose its name could choose what it is granted.
    if by == By::Package && known.as_ref().is_some_and(|own| own.command.is_empty()) {
        return Err(CommandError::Input {
            message: format!(
                "`{name}` is only what the package calls itself, and the policy has a server of that name"
            ),
            hint: Some("say that it is the one with `--name NAME`, or give the entry its `command`"),
        });
    }
    let mut entry = known.unwrap_or_else(|| ServerEntry::of_nothing(name));
    if !entry.command.is_empty() && entry.command != args.command {
        return Err(CommandError::Input {
            message: format!(
                "the command is not the one of server `{}` in the policy: {}",
                entry.name,
                entry.command.join(" ")
            ),
            hint: Some("correct one of them, or leave `command` out of the entry"),
        });
    }
    match args.accept {
        Some(Accepted::Clean) => entry.accept = Accept::Clean,
        Some(Accepted::Review) => entry.accept = Accept::Review,
        None => {}
    }
    Ok((entry, has_entry))
}

/// Returns what a server is granted: what its entry declares and the personality permits, and never the policy itself.
pub(crate) fn granted(
    entry: &ServerEntry,
    loaded: &Loaded,
    place: &Place,
) -> Result<Arc<Grant>, CommandError> {
    refuse_writable_policy(loaded, &place.policy)?;
    let grant = resolve_capabilities(&entry.capabilities, &loaded.personality);
    let grant = grant.map_err(|refusal| CommandError::Input {
        message: format!("server `{}`: {refusal}", entry.name),
        hint: None,
    })?;
    Ok(Arc::new(grant))
}

/// Chooses what confines servers.
pub(crate) fn launcher(choice: BackendChoice, loaded: &Loaded) -> Result<SandboxLauncher, CommandError> {
    let sandbox = choose(choice, loaded.text()).map_err(|error| CommandError::Input {
        message: format!("there is no sandbox to start servers in: {error}"),
        hint: Some("`ringfence doctor` says what this machine has"),
    })?;
    Ok(SandboxLauncher::new(sandbox))
}
