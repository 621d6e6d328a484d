//! `ringfence store`

use std::io::Write;
use std::path::PathBuf;

use ringfence_store::{Database as _, KeepRaw};

use crate::error::{CommandError, Exit};
use crate::store::{Opening, StoreArgs, StoreName, runtime};

/// Look after a store: bring it up to date, check it, copy it, back it up
#[derive(Debug, clap::Args)]
pub(crate) struct StoreCommandArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StoreCommand {
    /// Copy a file of SQLite to a new file, while others go on writing
    Backup {
        /// The new file
        file: PathBuf,
    },
    /// Copy a file of SQLite into an empty PostgreSQL database, all of it or nothing
    ///
    /// Checkpoints and proofs hold in the new place. Calls that are executing are in doubt there: stop what writes to the
    /// file first.
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
    Check,
    /// Make the store where there is none, and bring its tables up to date
    Migrate,
}

pub(crate) fn run(args: &StoreCommandArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let name = args.store.name();
    runtime()?.block_on(async {
        match &args.command {
            StoreCommand::Backup { file } => {
                let store = name.open_file(Opening::Read)?;
                store.backup(file).map_err(|error| CommandError::Store(error.into()))?;
                writeln!(out, "copied: {} to {}", store.describe(), file.display())?;
                Ok(Exit::Done)
            }
            StoreCommand::Copy { from, to } => copy(from, to.as_ref().unwrap_or(&name), out).await,
            StoreCommand::Check => {
                let store = name.open(Opening::Read).await?;
                let findings = store.check().await?;
                for finding in &findings {
                    writeln!(out, "{finding}")?;
                }
                if findings.is_empty() {
                    writeln!(out, "nothing found: {}, {} records", store.describe(), store.size().await?)?;
                    return Ok(Exit::Done);
                }
                Ok(Exit::Findings)
            }
            StoreCommand::Migrate => {
                let store = name.open(Opening::Make(KeepRaw::Always)).await?;
                writeln!(out, "up to date: {}, {} records", store.describe(), store.size().await?)?;
                Ok(Exit::Done)
            }
        }
    })
}

async fn copy(from: &StoreName, to: &StoreName, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let from = from.open_file(Opening::Read)?;
    let to = to.open_database().await?;
    let copied = ringfence_store::copy(&from, &to).await?;
    writeln!(out, "copied: {} to {}", from.describe(), to.describe())?;
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
