//! `ringfence pins`

mod server;
mod toolbox;

use std::io::Write;

use ringfence::policy::ServerName;

use crate::book::{Book, state_folder};
use crate::error::{CommandError, Exit};
use crate::load::Place;
use crate::shown::one_line;

/// Keep track of the definitions that were accepted
///
/// A pin file (`ringfence.pins.json` beside the toolbox) holds the digest and the definition of every tool that
/// somebody has accepted. Once it holds a tool of the toolbox, one that is new or has changed is quarantined until it is
/// accepted. What MCP servers send is always quarantined until it is accepted; `--server` names the server.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence pins list
  ringfence pins diff --server git
  ringfence pins accept --server git")]
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
    #[command(after_help = "Examples:
  ringfence pins accept
  ringfence pins accept --server git git_status")]
    Accept {
        /// The tools; none = all of them. Of a server: `NAME`, `prompt:NAME` or `instructions`
        tools: Vec<String>,
        /// Accept only the definition with this digest, or one that starts like it
        #[arg(long, value_name = "PREFIX", requires = "server")]
        digest: Option<String>,
    },
    /// Show what differs from the accepted definitions
    ///
    /// Exits with 4 when something does.
    #[command(after_help = "Examples:
  ringfence pins diff
  ringfence pins diff --server git --json")]
    Diff {
        /// The tools; none = all of them. Of a server: `NAME`, `prompt:NAME` or `instructions`
        tools: Vec<String>,
        /// Print one JSON object for each: {"tool", "standing", "changes"}, or of a server {"server", "definition", "standing", "digest",
        /// "why", "verdict", "renamedFrom", "changes", "sent"}
        #[arg(long)]
        json: bool,
    },
    /// List tools with their digests and where they stand
    ///
    /// Where there is no toolbox, list what servers sent that are wrapped without one.
    #[command(after_help = "Examples:
  ringfence pins list
  ringfence pins list --json")]
    List {
        /// Print one JSON object for each: {"tool", "standing", "digest"}, or {"server", "definition", "standing", "digest"}
        #[arg(long)]
        json: bool,
    },
    /// Withhold what a server sent, for good
    #[command(after_help = "Examples:
  ringfence pins reject --server git git_push")]
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
    let book = book_of(name, place)?;
    let name = name.as_str();
    match &args.command {
        PinsCommand::Accept { tools, digest } => server::accept(&book, name, tools, digest.as_deref(), out),
        PinsCommand::Diff { tools, json } => server::diff(&book, name, tools, *json, out),
        PinsCommand::List { json } => server::list(&[(book, vec![name.to_owned()])], *json, out),
        PinsCommand::Reject { tools, digest } => server::reject(&book, name, tools, digest.as_deref(), out),
    }
}

/// Finds the book in which a server is: beside the policy, or in the state folder where it is wrapped without one.
fn book_of(name: &ServerName, place: &Place) -> Result<Book, CommandError> {
    let mut known = Vec::new();
    if place.is_named || place.policy.exists() {
        let (loaded, book) = (place.load()?, Book::beside(&place.policy));
        known = server::known(&book, loaded.servers.iter().map(|server| server.name.as_str()))?;
        if known.iter().any(|own| own == name.as_str()) {
            return Ok(book);
        }
    }
    if !place.is_named {
        let kept = Book::kept()?;
        if kept.contains(name) {
            return Book::of_server(name);
        }
        known.extend(kept.iter().map(ToString::to_string));
    }
    known.sort_unstable();
    known.dedup();
    let known: Vec<String> = known.iter().map(|own| format!("`{}`", one_line(own))).collect();
    let others = match known.as_slice() {
        [] => "nor of any other".to_owned(),
        known => format!("only of {}", known.join(", ")),
    };
    Err(CommandError::Input {
        message: format!("nothing is known of a server `{name}`, {others}"),
        hint: Some("start it once; name the policy with --policy FILE where it is started with one"),
    })
}

/// Returns the books of servers that are wrapped without a policy, with their names.
fn kept() -> Result<Vec<(Book, Vec<String>)>, CommandError> {
    // Whoever has no state folder has no books there.
    if state_folder().is_err() {
        return Ok(Vec::new());
    }
    Book::kept()?.iter().map(|name| Ok((Book::of_server(name)?, vec![name.to_string()]))).collect()
}

fn of_toolbox(args: &PinsArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if let PinsCommand::List { json } = args.command
        && !place.is_named
        && !place.policy.exists()
    {
        let books = kept()?;
        if !books.is_empty() {
            return server::list(&books, json, out);
        }
    }
    let loaded = place.load()?.sound()?;
    let book = Book::beside(&place.policy);
    match &args.command {
        PinsCommand::Accept { tools, .. } => toolbox::accept(&loaded, &book, tools, out),
        PinsCommand::Diff { tools, json } => toolbox::diff(&loaded, &book, tools, *json, out),
        PinsCommand::List { json } => {
            let servers = server::known(&book, loaded.servers.iter().map(|server| server.name.as_str()))?;
            if servers.is_empty() || !loaded.declarations.is_empty() {
                toolbox::list(&loaded, &book, *json, out)?;
            }
            if servers.is_empty() { Ok(Exit::Done) } else { server::list(&[(book, servers)], *json, out) }
        }
        PinsCommand::Reject { .. } => Err(CommandError::Input {
            message: "only what a server sent can be rejected".into(),
            hint: Some("name the server with --server NAME; a tool of the toolbox is taken out of its file"),
        }),
    }
}
