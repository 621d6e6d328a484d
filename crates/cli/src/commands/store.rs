//! `ringfence store`

use std::io::Write;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use ringfence_store::{Database as _, KeepRaw, SqliteStore};
use serde_json::json;

use crate::error::{CommandError, Exit};
use crate::postgres;
use crate::progress::Busy;
use crate::shown::json_line;
use crate::store::{Opening, StoreArgs, StoreName, name_folders, runtime};

/// Look after a store: bring it up to date, check it, copy it, back it up
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence store check --store clerk.db
  ringfence store backup clerk-today.db --store clerk.db
  ringfence store accept --store clerk.db")]
pub(crate) struct StoreCommandArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Print one JSON object: {"store", "records"}, of `check` also {"findings"}, of `backup` {"store", "copy"}, of `copy` what was counted
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StoreCommand {
    /// Show what a refused store has lost, and go on without it
    ///
    /// Shows what is missing and exits with 4. With `--by` and `--reason` the store is used again, and the audit says who
    /// accepted it and why. Calls whose keys are missing can take effect twice: check them first.
    #[command(after_help = "Examples:
  ringfence store accept --store clerk.db
  ringfence store accept --store clerk.db --by ada --reason \"no payment is on the statement twice\"")]
    Accept {
        /// Who accepts it
        #[arg(long, value_parser = NonEmptyStringValueParser::new(), value_name = "NAME", requires = "reason")]
        by: Option<String>,
        /// Why the store can be used without what is missing
        #[arg(long, value_parser = NonEmptyStringValueParser::new(), requires = "by")]
        reason: Option<String>,
    },
    /// Copy a file of SQLite to a new file, while others go on writing
    #[command(after_help = "Examples:
  ringfence store backup clerk-today.db --store clerk.db")]
    Backup {
        /// The new file
        file: PathBuf,
    },
    /// Copy a file of SQLite into an empty PostgreSQL database, all of it or nothing
    ///
    /// Checkpoints and proofs hold in the new place. Calls that are executing are in doubt there: stop what writes to the
    /// file first.
    #[command(after_help = "Examples:
  ringfence store copy clerk.db postgres://fence@db.example/fence")]
    Copy {
        /// The file
        from: StoreName,
        /// `postgres://…`; without it what --store or the variable RINGFENCE_STORE names, so that a password is not on
        /// the command line
        to: Option<StoreName>,
    },
    /// Look for what does not fit together, except inside the log: that is for `ringfence audit verify`
    ///
    /// Exits with 4 when something is found.
    #[command(after_help = "Examples:
  ringfence store check
  ringfence store check --store clerk.db --json")]
    Check,
    /// Make the store where there is none, and bring its tables up to date
    #[command(after_help = "Examples:
  ringfence store migrate --store clerk.db")]
    Migrate,
}

pub(crate) fn run(args: &StoreCommandArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let (name, json) = (args.store.name(), args.json);
    runtime()?.block_on(async {
        match &args.command {
            StoreCommand::Accept { by, reason } => {
                accept(&name, by.as_deref().zip(reason.as_deref()), json, out)
            }
            StoreCommand::Backup { file } => {
                let store = name.open_file(Opening::Read)?;
                let busy = Busy::with("copying the store");
                store.backup(file).map_err(|error| CommandError::Store(error.into()))?;
                drop(busy);
                if json {
                    writeln!(out, "{}", json!({ "store": store.describe(), "copy": file }))?;
                    return Ok(Exit::Done);
                }
                writeln!(out, "copied: {} to {}", store.describe(), file.display())?;
                Ok(Exit::Done)
            }
            StoreCommand::Copy { from, to } => copy(from, to.as_ref().unwrap_or(&name), json, out).await,
            StoreCommand::Check => {
                let store = name.open(Opening::Read).await?;
                let busy = Busy::with("checking the store");
                let findings = store.check().await?;
                drop(busy);
                let exit = if findings.is_empty() { Exit::Done } else { Exit::Findings };
                if json {
                    let told = json!({ "store": store.describe(), "records": store.size().await?, "findings": findings });
                    writeln!(out, "{}", json_line(&told))?;
                    return Ok(exit);
                }
                for finding in &findings {
                    writeln!(out, "{finding}")?;
                }
                if findings.is_empty() {
                    writeln!(out, "nothing found: {}, {} records", store.describe(), store.size().await?)?;
                }
                Ok(exit)
            }
            StoreCommand::Migrate => {
                let busy = Busy::with("bringing the store up to date");
                let store = name.open(Opening::Make(KeepRaw::Always)).await?;
                drop(busy);
                if json {
                    let told = json!({ "store": store.describe(), "records": store.size().await? });
                    writeln!(out, "{}", json_line(&told))?;
                    return Ok(Exit::Done);
                }
                writeln!(out, "up to date: {}, {} records", store.describe(), store.size().await?)?;
                Ok(Exit::Done)
            }
        }
    })
}

fn accept(
    name: &StoreName,
    accepted: Option<(&str, &str)>,
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let path = name.file()?;
    let store = SqliteStore::builder(path).record_name_in(name_folders());
    let found = match accepted {
        None => store.find_gap(),
        Some((by, reason)) => store.accept_gap(by, reason),
    };
    let found = found.map_err(|error| CommandError::Store(error.into()))?;
    // Of a store that nobody has made, nobody can say what it has lost.
    if found.is_none() && !path.exists() {
        name.open_file(Opening::Read)?;
    }
    let exit = if found.is_some() && accepted.is_none() { Exit::Findings } else { Exit::Done };
    if json {
        let missing = found.as_ref().map(|gap| {
            json!({
                "why": gap.why.to_string(), "transactions": gap.counted(gap.transactions),
                "records": gap.counted(gap.records), "keys": gap.counted(gap.keys),
                "acknowledged_ms": gap.acknowledged.map(|at| at.as_millis()),
            })
        });
        let told =
            json!({ "store": path, "missing": missing, "accepted": accepted.is_some() && found.is_some() });
        writeln!(out, "{}", json_line(&told))?;
        return Ok(exit);
    }
    let Some(gap) = found else {
        writeln!(out, "nothing is missing: {}", path.display())?;
        return Ok(exit);
    };
    writeln!(out, "{}", gap.why)?;
    for (count, what) in [
        (gap.transactions, "acknowledged transactions missing"),
        (gap.records, "audit records missing"),
        (gap.keys, "idempotency keys missing, at most"),
    ] {
        let count = gap.counted(count).map_or_else(|| "unknown".to_owned(), |count| count.to_string());
        writeln!(out, "  {what}: {count}")?;
    }
    if accepted.is_some() {
        writeln!(out, "accepted: the audit says so")?;
    }
    Ok(exit)
}

async fn copy(
    from: &StoreName,
    to: &StoreName,
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let from = from.open_file(Opening::Read)?;
    let busy = Busy::with("copying the store");
    let (copied, to) = postgres::copy(&from, to.url()?).await?;
    drop(busy);
    if json {
        let told = json!({
            "from": from.describe(), "to": to, "records": copied.entries, "checkpoints": copied.checkpoints,
            "keys": copied.keys, "requests": copied.requests, "approvers": copied.approvers, "values": copied.values,
        });
        writeln!(out, "{}", json_line(&told))?;
        return Ok(Exit::Done);
    }
    writeln!(out, "copied: {} to {}", from.describe(), to)?;
    for (count, what) in [
        (copied.entries, "records"),
        (copied.checkpoints, "checkpoints"),
        (copied.keys, "idempotency keys"),
        (copied.requests, "requests for approval"),
        (copied.approvers, "approvers"),
        (copied.values, "stored values"),
    ] {
        writeln!(out, "  {what}: {count}")?;
    }
    Ok(Exit::Done)
}
