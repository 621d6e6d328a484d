//! `ringfence pins`

mod server;
mod toolbox;

use std::io::Write;

use ringfence::policy::ServerName;

use crate::book::Book;
use crate::error::{CommandError, Exit};
use crate::load::Place;

/// Keep track of the definitions that were accepted
///
/// A pin file (`ringfence.pins.json` beside the toolbox) holds the digest and the definition of every tool that
/// somebody has accepted. Once it holds a tool of the toolbox, one that is new or has changed is quarantined until it is
/// accepted. What MCP servers send is always quarantined until it is accepted; `--server` names the server.
#[derive(Debug, clap::Args)]
pub(crate) struct PinsArgs {
    /// Look at what this MCP server sent, instead of the tools of the toolbox
    #[arg(long, global = true, value_name = "NAME")]
    server: Option<ServerName>,
    #[command(subcommand)]
    command: PinsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PinsCommand {
    /// Accept tools as they are now
    ///
    /// Of a server, accept what `pins diff` has shown.
    Accept {
        /// The tools; none = every tool of the toolbox. Of a server: `NAME`, `prompt:NAME` or `instructions`
        tools: Vec<String>,
        /// Accept only the definition with this digest, or one that starts like it
        #[arg(long, value_name = "PREFIX", requires = "server")]
        digest: Option<String>,
    },
    /// Show what differs from the accepted definitions
    ///
    /// Exits with 4 when something does.
    Diff {
        /// The tools; none = all of them
        tools: Vec<String>,
    },
    /// List tools with their digests and where they stand
    List,
    /// Withhold what a server sent, for good
    Reject {
        /// `NAME`, `prompt:NAME` or `instructions`
        #[arg(required = true)]
        tools: Vec<String>,
        /// Reject only the definition with this digest, or one that starts like it
        #[arg(long, value_name = "PREFIX")]
        digest: Option<String>,
    },
}

pub(crate) fn run(args: &PinsArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let Some(name) = &args.server else { return of_toolbox(args, place, out) };
    let book = if place.policy.exists() { Book::beside(&place.policy) } else { Book::of_server(name)? };
    let name = name.as_str();
    match &args.command {
        PinsCommand::Accept { tools, digest } => server::accept(&book, name, tools, digest.as_deref(), out),
        PinsCommand::Diff { tools } => server::diff(&book, name, tools, out),
        PinsCommand::List => server::list(&book, &[name.to_owned()], out),
        PinsCommand::Reject { tools, digest } => server::reject(&book, name, tools, digest.as_deref(), out),
    }
}

fn of_toolbox(args: &PinsArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let loaded = place.load()?.sound()?;
    let book = Book::beside(&place.policy);
    match &args.command {
        PinsCommand::Accept { tools, .. } => toolbox::accept(&loaded, &book, tools, out),
        PinsCommand::Diff { tools } => toolbox::diff(&loaded, &book, tools, out),
        PinsCommand::List => {
            let servers = server::known(&book, loaded.servers.iter().map(|server| server.name.as_str()))?;
            if servers.is_empty() || !loaded.declarations.is_empty() {
                toolbox::list(&loaded, &book, out)?;
            }
            if servers.is_empty() { Ok(Exit::Done) } else { server::list(&book, &servers, out) }
        }
        PinsCommand::Reject { .. } => Err(CommandError::Input {
            message: "only what a server sent can be rejected".into(),
            hint: Some("name the server with --server NAME; a tool of the toolbox is taken out of its file"),
        }),
    }
}
