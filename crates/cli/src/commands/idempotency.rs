//! `ringfence idempotency`

use std::io::Write;
use std::time::Duration;

use ringfence::policy::{JsonLimits, parse_json};
use ringfence::{KeyEntry, KeyFilter, KeyFinding, KeyState, Settled, Settlement};
use ringfence_store::Database;
use serde_json::json;

use crate::error::{CommandError, Exit};
use crate::list_limit::{COUNTED, report_cut};
use crate::shown::{cell, json_line, one_line};
use crate::store::{Opening, StoreArgs, runtime};
use crate::table::table;
use crate::time::{Age, Moment};

/// See which idempotency keys were used, and settle calls in doubt
///
/// A call whose process died between its start and its end may or may not have taken effect: its key is `unknown`, and no
/// call runs under it until its tool or a person has found out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence idempotency list --state unknown")]
pub(crate) struct IdempotencyArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(subcommand)]
    command: IdempotencyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum IdempotencyCommand {
    /// List keys, newest first
    #[command(after_help = "Examples:
  ringfence idempotency list
  ringfence idempotency list --state unknown --json")]
    List {
        /// Only those in this state
        #[arg(long, value_enum)]
        state: Option<State>,
        /// Only this key
        #[arg(long)]
        key: Option<String>,
        /// How many at most
        #[arg(long, short = 'n', alias = "most", value_name = "COUNT", default_value_t = 100)]
        limit: usize,
        /// Print one JSON object for each key, with its arguments
        #[arg(long)]
        json: bool,
    },
    /// Say what became of a call in doubt
    ///
    /// With `--done` a call that comes again is answered with this output; with `--not-done` it runs. Whoever settles a key
    /// wrongly makes a call happen twice or not at all: look first. What was settled, by whom and why goes into the audit.
    #[command(after_help = "Examples:
  ringfence idempotency settle invoice-7 --done '\"paid\"' --by ada --reason \"it is on the statement\"
  ringfence idempotency settle invoice-7 --not-done --by ada --reason \"the bank knows nothing of it\"")]
    Settle(SettleArgs),
}

#[derive(Debug, clap::Args)]
struct SettleArgs {
    /// The key
    key: String,
    #[command(flatten)]
    found: FoundArgs,
    /// Who says so
    #[arg(long, value_name = "NAME")]
    by: String,
    /// How they know
    #[arg(long)]
    reason: String,
    /// The personality and the tool, where the key is in doubt for several
    #[arg(long)]
    scope: Option<String>,
    /// How long a call that comes again is answered with the output
    #[arg(long, value_name = "TIME", default_value = "30d")]
    keep: Age,
}

/// What became of the call.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct FoundArgs {
    /// It took effect, and this is what it returned, as JSON
    #[arg(long, value_name = "OUTPUT")]
    done: Option<String>,
    /// It had no effect
    #[arg(long)]
    not_done: bool,
}

/// [`KeyState`] as it is written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum State {
    /// Done, and replayed
    Committed,
    /// Started, by a process that is alive
    Executing,
    /// Had no effect; free
    Failed,
    /// Started, and nobody knows what became of it
    Unknown,
}

impl From<State> for KeyState {
    fn from(state: State) -> Self {
        match state {
            State::Committed => Self::Committed,
            State::Executing => Self::Executing,
            State::Failed => Self::Failed,
            State::Unknown => Self::Unknown,
        }
    }
}

pub(crate) fn run(args: &IdempotencyArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let store = args.store.name();
    runtime()?.block_on(async {
        match &args.command {
            IdempotencyCommand::List { state, key, limit, json } => {
                let store = store.open(Opening::Read).await?;
                let filter = |most| KeyFilter { state: state.map(KeyState::from), key: key.clone(), most };
                let keys = store.keys(&filter(*limit)).await?;
                let exit = list(&keys, *json, out)?;
                if *limit > 0 && keys.len() >= *limit {
                    let counted = store.keys(&filter((*limit).max(COUNTED).saturating_add(1))).await?;
                    report_cut(keys.len(), counted.len());
                }
                Ok(exit)
            }
            IdempotencyCommand::Settle(args) => settle(args, &*store.open(Opening::Change).await?, out).await,
        }
    })
}

fn list(keys: &[KeyEntry], json: bool, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if json {
        for key in keys {
            let told = json!({
                "key": key.name.key, "scope": key.name.scope, "state": key.state, "fence": key.fence,
                "run": key.run, "claimed": Moment::from(key.claimed).to_string(), "digest": key.digest,
                "arguments": serde_json::from_str(&key.arguments).unwrap_or(json!(key.arguments)),
            });
            writeln!(out, "{}", json_line(&told))?;
        }
        return Ok(Exit::Done);
    }
    if keys.is_empty() {
        let _told = writeln!(crate::print::errors(), "there is no such key");
        return Ok(Exit::Done);
    }
    let rows: Vec<[String; 6]> = keys
        .iter()
        .map(|key| {
            [
                one_line(&key.name.key),
                key.state.as_str().to_owned(),
                cell(&key.name.scope),
                cell(&key.run),
                Moment::from(key.claimed).to_string(),
                cell(&key.arguments),
            ]
        })
        .collect();
    write!(out, "{}", table(["KEY", "STATE", "SCOPE", "RUN", "CLAIMED", "ARGUMENTS"], &rows))?;
    Ok(Exit::Done)
}

async fn settle(args: &SettleArgs, store: &dyn Database, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let settlement = match &args.found.done {
        Some(output) => {
            let output = parse_json(output, JsonLimits::DOCUMENT).map_err(|error| CommandError::Input {
                message: format!("the output is not JSON: {error}"),
                hint: Some("a text is JSON in double quotes, such as --done '\"sent\"'"),
            })?;
            Settlement::Committed { output: output.to_string(), keep: args.keep.0.max(SHORTEST) }
        }
        None => Settlement::Failed,
    };
    let found = in_doubt(args, store).await?;
    let finding = KeyFinding {
        name: found.name.clone(),
        fence: found.fence,
        settlement,
        by: args.by.clone(),
        reason: args.reason.clone(),
    };
    match store.find_out(&finding).await? {
        Settled::Kept => {
            let became = if args.found.done.is_some() { "done" } else { "not done" };
            writeln!(
                out,
                "settled: `{}` in `{}` was {became}",
                one_line(&found.name.key),
                one_line(&found.name.scope)
            )?;
            Ok(Exit::Done)
        }
        Settled::Stale => Err(CommandError::Input {
            message: format!("the key `{}` is no longer in doubt", one_line(&args.key)),
            hint: Some("somebody settled it meanwhile; look again with `ringfence idempotency list`"),
        }),
    }
}

/// What a person settled is kept for a day at least, as for financial tools.
const SHORTEST: Duration = Duration::from_hours(24);

/// Returns the one entry of the key that is in doubt.
async fn in_doubt(args: &SettleArgs, store: &dyn Database) -> Result<KeyEntry, CommandError> {
    let key = one_line(&args.key);
    let input = |message: String, hint| CommandError::Input { message, hint: Some(hint) };
    let filter = KeyFilter { state: None, key: Some(args.key.clone()), most: 0 };
    let mut found = store.keys(&filter).await?;
    if let Some(scope) = &args.scope {
        found.retain(|entry| entry.name.scope == *scope);
    }
    if found.is_empty() {
        let scope = args.scope.as_deref().map(|scope| format!(" in the scope `{}`", one_line(scope)));
        return Err(input(
            format!("no call used the key `{key}`{}", scope.unwrap_or_default()),
            "`ringfence idempotency list` shows which were used",
        ));
    }
    let states: Vec<&str> = found.iter().map(|entry| entry.state.as_str()).collect();
    let states = states.join(", ");
    found.retain(|entry| entry.state == KeyState::Unknown);
    match <[KeyEntry; 1]>::try_from(found) {
        Ok([entry]) => Ok(entry),
        Err(none) if none.is_empty() => Err(input(
            format!("the key `{key}` is not in doubt: it is {states}"),
            "only what nobody knows is settled; what is executing settles itself",
        )),
        Err(several) => {
            let scopes: Vec<String> =
                several.iter().map(|entry| format!("`{}`", one_line(&entry.name.scope))).collect();
            Err(input(
                format!("the key `{key}` is in doubt in several scopes: {}", scopes.join(", ")),
                "say which with --scope",
            ))
        }
    }
}
