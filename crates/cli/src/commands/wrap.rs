//! `ringfence wrap`

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::{Accept, Direction, ServerEntry, ServerName, resolve_capabilities};
use ringfence::{Grant, SandboxLauncher};

use crate::book::Book;
use crate::error::{CommandError, Exit};
use crate::install::Refresh;
use crate::load::{Loaded, Place};
use crate::sandbox::{BackendChoice, choose};
use crate::serving::{
    Fenced, Listening, Plan, large_runtime, log_to_error_stream, open, serve_stdio, server_spec,
    small_runtime,
};
use crate::store::StoreName;

/// Put an MCP server inside the fence, with no change to the server or the client
///
/// Write `ringfence wrap --` in front of the command in a client's configuration. The server is started in the sandbox with
/// what the `[[server]]` entry of its name grants, and with nothing but its own installation where there is none. Its tools
/// wait to be accepted (`ringfence pins`), unless the entry says `accept = "clean"`.
#[derive(Debug, clap::Args)]
pub(crate) struct WrapArgs {
    /// The name of the server's entry in the toolbox; taken from the command where it is left out
    #[arg(long, value_name = "NAME")]
    name: Option<ServerName>,
    /// Accept definitions in which the scan finds nothing when they are first seen
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
    let grant = granted(&entry, &loaded, place)?;
    let launcher = Arc::new(launcher(args.backend, &loaded)?);
    let book =
        if place.policy.exists() { Book::beside(&place.policy) } else { Book::of_server(&entry.name)? };
    // A pin file that cannot be trusted stops everything, before anything is started.
    book.read_pins()?;
    let refresh = if args.refresh { Refresh::Anew } else { Refresh::Keep };
    let server = Fenced::new(&entry, &args.command, refresh, grant, Arc::clone(&launcher))?;
    if !has_entry {
        server.tried.no_policy();
    }
    let spec = server_spec(&entry, Arc::new(server), false, Duration::ZERO);
    let plan = Plan {
        place,
        servers: vec![spec],
        launcher: Some(launcher),
        book,
        policy_tool: entry.policy_tool,
        toolbox: false,
    };
    let listening = args.listen.map(|address| Listening {
        address,
        anonymous: args.anonymous,
        gateway: loaded.gateway.clone(),
        agents: loaded.agents.clone(),
    });
    let runtime = if listening.is_some() { large_runtime()? } else { small_runtime()? };
    let served = runtime.block_on(async {
        let opened = open(plan, loaded, args.store.as_ref()).await?;
        match listening {
            Some(listening) => listening.run(&opened.house).await,
            None => serve_stdio(&opened.house).await,
        }
    });
    runtime.shutdown_background();
    served.map(|()| Exit::Done)
}

fn entry(args: &WrapArgs, loaded: &Loaded) -> Result<(ServerEntry, bool), CommandError> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => name_of(&args.command)?,
    };
    let known = loaded.servers.iter().find(|own| own.name == name).cloned();
    let has_entry = known.is_some();
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

/// Makes a name of a command: the last part that says something, such as the package.
fn name_of(command: &[String]) -> Result<ServerName, CommandError> {
    let plain = |text: &str| -> String {
        let text = text.rsplit('/').next().unwrap_or(text);
        let text = text.split('@').find(|part| !part.is_empty()).unwrap_or(text);
        let legal =
            |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
        text.chars().map(legal).take(32).collect::<String>().trim_matches('-').to_owned()
    };
    let runners = ["npx", "npm", "exec", "uvx", "uv", "tool", "run", "pipx", "node", "python", "python3"];
    let word = command.iter().find(|word| !word.starts_with('-') && !runners.contains(&word.as_str()));
    let word = word.or_else(|| command.first()).map(|word| plain(word)).unwrap_or_default();
    word.parse().map_err(|_| CommandError::Input {
        message: "no name for the server can be made of its command".to_owned(),
        hint: Some("give it one with `--name NAME`"),
    })
}

/// Returns what a server is granted: what its entry declares and the personality permits, and never the policy itself.
pub(crate) fn granted(
    entry: &ServerEntry,
    loaded: &Loaded,
    place: &Place,
) -> Result<Arc<Grant>, CommandError> {
    let refused = |message: String, hint| CommandError::Input {
        message: format!("server `{}`: {message}", entry.name),
        hint,
    };
    let grant = resolve_capabilities(&entry.capabilities, &loaded.personality);
    let grant = grant.map_err(|refusal| refused(refusal.to_string(), None))?;
    let policy = place.policy.canonicalize().unwrap_or_else(|_| place.policy.clone());
    for extension in ["toml", "json", "pins.json", "pins.lock", "seen.json"] {
        let own = if policy.extension().is_some_and(|own| own == extension) {
            policy.clone()
        } else {
            policy.with_extension(extension)
        };
        let writable = grant.fs.as_ref().is_some_and(|fs| fs.judge(&own, Direction::Write).is_ok());
        if place.is_named && writable {
            let message = format!("it could write `{}`, which decides what it may do", own.display());
            return Err(refused(message, Some("keep the policy where no server may write")));
        }
    }
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
