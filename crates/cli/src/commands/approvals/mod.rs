//! `ringfence approvals`

mod decide;
mod list;
mod resume;
mod token;

use std::io::Write;

use ringfence::Word;
use ringfence::policy::Span;

use self::token::TokenArgs;
use crate::error::{CommandError, Exit};
use crate::load::Place;
use crate::store::{Opening, StoreArgs, runtime};

/// See what waits for people, and decide it
///
/// A request is about one call: this tool with these arguments, in this run, proposed by this name. Who proposed it cannot
/// decide it, and everybody decides once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence approvals list
  ringfence approvals approve 3f9a1c20 --token-file ~/ada.token")]
pub(crate) struct ApprovalsArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(subcommand)]
    command: ApprovalsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ApprovalsCommand {
    /// Agree to a call
    #[command(after_help = "Examples:
  ringfence approvals approve 3f9a1c20 --token-file ~/ada.token
  ringfence approvals approve 3f9a1c20 --token-file ~/ada.token --arguments '{\"amount\": 2}'")]
    Approve {
        #[command(flatten)]
        request: RequestArgs,
        /// Why
        #[arg(long)]
        reason: Option<String>,
        /// Agree to the call with these arguments instead, as JSON; they are judged again before it runs
        #[arg(long, value_name = "JSON")]
        arguments: Option<String>,
        #[command(flatten)]
        token: TokenArgs,
    },
    /// Refuse a call; it stays refused until the request expires
    #[command(after_help = "Examples:
  ringfence approvals deny 3f9a1c20 --reason \"wrong invoice\" --token-file ~/ada.token")]
    Deny {
        #[command(flatten)]
        request: RequestArgs,
        /// Why; whoever called is told
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        token: TokenArgs,
    },
    /// List requests that wait for people, newest first
    #[command(after_help = "Examples:
  ringfence approvals list
  ringfence approvals list --all --json")]
    List {
        /// Those too that are decided, expired or used
        #[arg(long)]
        all: bool,
        /// How many at most
        #[arg(long, short = 'n', alias = "most", value_name = "COUNT", default_value_t = 100)]
        limit: usize,
        /// Print one JSON object for each request, whole
        #[arg(long)]
        json: bool,
    },
    /// Go on with calls that waited for people when their process died
    ///
    /// Waits for those that nobody has decided. Prints one JSON object for each, with its outcome.
    #[command(after_help = "Examples:
  ringfence approvals resume --wait 10m")]
    Resume {
        /// How long to wait for people; until the requests expire by default
        #[arg(long, value_name = "TIME")]
        wait: Option<Span>,
    },
    /// Show one request
    #[command(after_help = "Examples:
  ringfence approvals show 3f9a1c20")]
    Show {
        #[command(flatten)]
        request: RequestArgs,
        /// Print one JSON object, whole
        #[arg(long)]
        json: bool,
    },
    /// Withdraw your approval before a call uses it
    #[command(after_help = "Examples:
  ringfence approvals withdraw 3f9a1c20 --reason \"wrong account\" --token-file ~/ada.token")]
    Withdraw {
        #[command(flatten)]
        request: RequestArgs,
        /// Why
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        token: TokenArgs,
    },
}

#[derive(Debug, clap::Args)]
struct RequestArgs {
    /// The request, or the first 8 or more characters of the digest it is about
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn run(args: &ApprovalsArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let store = args.store.name();
    let runtime = runtime()?;
    let exit = runtime.block_on(async {
        match &args.command {
            ApprovalsCommand::Approve { request, reason, arguments, token } => {
                let (token, reason) = (token.read()?, reason.as_deref().unwrap_or_default());
                let store = store.open(Opening::Change).await?;
                match arguments {
                    Some(arguments) => {
                        decide::change(&*store, &request.id, arguments, &token, reason, out).await
                    }
                    None => decide::decide(&*store, &request.id, Word::Approve, &token, reason, out).await,
                }
            }
            ApprovalsCommand::Deny { request, reason, token } => {
                let token = token.read()?;
                let store = store.open(Opening::Change).await?;
                decide::decide(&*store, &request.id, Word::Deny, &token, reason, out).await
            }
            ApprovalsCommand::List { all, limit, json } => {
                let store = store.open(Opening::Read).await?;
                let shown = if *all { list::Shown::All } else { list::Shown::Waiting };
                list::list(&*store, shown, *limit, *json, out).await
            }
            ApprovalsCommand::Resume { wait } => {
                resume::resume(&args.store, place, wait.map(Span::duration), out).await
            }
            ApprovalsCommand::Show { request, json } => {
                let store = store.open(Opening::Read).await?;
                list::show(&list::find(&*store, &request.id).await?, *json, out)
            }
            ApprovalsCommand::Withdraw { request, reason, token } => {
                let (token, reason) = (token.read()?, reason.as_deref().unwrap_or_default());
                let store = store.open(Opening::Change).await?;
                decide::withdraw(&*store, &request.id, &token, reason, out).await
            }
        }
    })?;
    // A blocking tool that missed its deadline must not keep the command alive.
    runtime.shutdown_background();
    Ok(exit)
}
