//! `ringfence audit`

mod checkpoint;
mod entries;
mod push;
mod replay;
mod verify;

use std::io::Write;
use std::path::PathBuf;

use ringfence::audit::{Progress, TrustedLog, VerifierKey};
use ringfence_store::Filter;

pub(super) use self::entries::numbered;
use self::push::PushTarget;
use crate::error::{CommandError, Exit};
use crate::load::Place;
use crate::progress::Busy;
use crate::store::{Opening, StoreArgs, runtime};
use crate::time::{Age, Moment};

/// Read, prove and verify the audit log of a store
///
/// Every outcome, refusal, approval step, connection and policy change is one record. The records are the leaves of a
/// Merkle tree; a signed checkpoint says how many there were and what they hashed to.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence audit tail
  ringfence audit search --code HOST_NOT_ALLOWED --since 2h
  ringfence audit verify --trust \"$(cat log.pub)\"")]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    /// Check a proof, without the log
    #[command(after_help = "Examples:
  ringfence audit check-proof record-7.proof --trust \"$(cat log.pub)\"")]
    CheckProof {
        /// The proof
        file: PathBuf,
        #[command(flatten)]
        trust: TrustArgs,
        /// Print one JSON object: {"holds": true, "record"}, or {"holds": false, "why"}
        #[arg(long)]
        json: bool,
    },
    /// Sign how many records there are and what they hash to; keep it, and print it to be kept elsewhere too
    ///
    /// Every target is tried. Exits with 1 when one of them failed; the checkpoint is kept all the same.
    #[command(after_help = "Examples:
  ringfence audit checkpoint --key log.key
  ringfence audit checkpoint --key log.key --checkpoint kept-elsewhere
  ringfence audit checkpoint --key log.key --push file:/mnt/other/checkpoints")]
    Checkpoint {
        /// The file with the signing key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// A checkpoint that was kept elsewhere: nothing is signed unless the log still contains it
        #[arg(long, value_name = "FILE")]
        checkpoint: Option<PathBuf>,
        /// Where else it goes: `file:PATH` appends it, `https://…` posts it, `command:PROGRAM` gives it to a program in
        /// the sandbox (can be repeated)
        #[arg(long, value_name = "TARGET")]
        push: Vec<PushTarget>,
        /// Let `https://…` be an address or name of a private network
        #[arg(long)]
        push_private: bool,
    },
    /// Print all records as JSON lines, with the outputs that are kept
    #[command(after_help = "Examples:
  ringfence audit export > records.jsonl")]
    Export,
    /// Drop the raw outputs of old records, which may hold credentials; the records stay and verify as before
    #[command(after_help = "Examples:
  ringfence audit forget-raw --older-than 30d")]
    ForgetRaw {
        /// Those from longer ago than this, such as `30d`
        #[arg(long, value_name = "TIME")]
        older_than: Age,
    },
    /// Make a signing key in a new file, and print the key that verifies what it signs
    #[command(after_help = "Examples:
  ringfence audit keygen acme.io/agents log.key > log.pub")]
    Keygen {
        /// The name of the log, such as `acme.io/agents`
        name: String,
        /// Where the signing key goes
        file: PathBuf,
    },
    /// Write the proof that a record is in the log
    #[command(after_help = "Examples:
  ringfence audit prove 7 --trust \"$(cat log.pub)\" > record-7.proof")]
    Prove {
        /// The number of the record
        index: u64,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// Decide a recorded run again under the toolbox of today, and show what would differ
    ///
    /// No tool is run and nobody is asked. Exits with 4 when something would differ.
    #[command(after_help = "Examples:
  ringfence audit replay today
  ringfence audit replay today --policy stricter.toml --json")]
    Replay {
        /// The run
        run: String,
        /// Print one JSON object for each call
        #[arg(long)]
        json: bool,
    },
    /// Print the newest records that match, as JSON lines
    #[command(after_help = "Examples:
  ringfence audit search --tool pay --since 2h
  ringfence audit search --code HOST_NOT_ALLOWED -n 5")]
    Search {
        #[command(flatten)]
        filter: FilterArgs,
        /// How many at most, newest last
        #[arg(long, short = 'n', alias = "most", value_name = "COUNT", default_value_t = 100)]
        limit: usize,
    },
    /// Print one record with its outputs, as JSON
    #[command(after_help = "Examples:
  ringfence audit show 7")]
    Show {
        /// The number of the record
        index: u64,
    },
    /// Print the newest records, as JSON lines
    #[command(after_help = "Examples:
  ringfence audit tail -n 5")]
    Tail {
        /// How many
        #[arg(long, short = 'n', alias = "most", value_name = "COUNT", default_value_t = 20)]
        limit: usize,
    },
    /// Look for edits, deletions, reordering, truncation, forks and swapped outputs
    ///
    /// Exits with 4 when something is found.
    #[command(after_help = "Examples:
  ringfence audit verify --trust \"$(cat log.pub)\"
  ringfence audit verify --trust \"$(cat log.pub)\" --checkpoint kept-elsewhere --json")]
    Verify {
        #[command(flatten)]
        trust: TrustArgs,
        /// A checkpoint that was kept elsewhere, which the log must still contain
        #[arg(long, value_name = "FILE")]
        checkpoint: Option<PathBuf>,
        /// How many of the newest records may lack a signed checkpoint
        #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
        unsigned: u64,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Whose signatures are believed.
#[derive(Debug, clap::Args)]
struct TrustArgs {
    /// The key whose signatures are believed: what `ringfence audit keygen` printed
    #[arg(long, value_name = "KEY")]
    trust: Option<String>,
}

#[derive(Debug, clap::Args)]
struct FilterArgs {
    /// `approval`, `approver`, `call`, `connection`, `console`, `policy`, `server` or `settlement`
    #[arg(long)]
    kind: Option<String>,
    /// Of this run
    #[arg(long)]
    run: Option<String>,
    /// About this tool
    #[arg(long)]
    tool: Option<String>,
    /// With this code, such as `HOST_NOT_ALLOWED`
    #[arg(long)]
    code: Option<String>,
    /// Calls of tools of this class: `read`, `write`, `network`, `financial` or `privileged`
    #[arg(long)]
    class: Option<String>,
    /// Connections to this host
    #[arg(long)]
    host: Option<String>,
    /// What this person did, or calls that were proposed under this name
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// From this moment on: `2026-11-15T12:00:00Z`, or `2h` for two hours ago
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Until before this moment
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
}

pub(crate) fn run(args: &AuditArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let name = args.store.name();
    let open = |opening| {
        let name = name.clone();
        async move { name.open(opening).await }
    };
    runtime()?.block_on(async {
        match &args.command {
            AuditCommand::CheckProof { file, trust, json } => {
                verify::check_proof(file, &trust.log()?, *json, out)
            }
            AuditCommand::Checkpoint { key, checkpoint: kept, push, push_private } => {
                let key = checkpoint::signer(key)?;
                let log = TrustedLog::new(key.verifier().name(), [key.verifier().clone()])
                    .map_err(|error| input(error.to_string()))?;
                let trusted = kept.as_deref().map(|path| verify::checkpoint(path, &log)).transpose()?;
                let store = open(Opening::Change).await?;
                let note = checkpoint::sign(&*store, &key, trusted.as_ref(), out).await?;
                checkpoint::push(&note, push, *push_private).await
            }
            AuditCommand::Export => entries::export(&*open(Opening::Read).await?, out).await,
            AuditCommand::ForgetRaw { older_than } => {
                let store = open(Opening::Change).await?;
                let forgotten = store.forget_raw(Moment::ago(*older_than).since_1970()).await?;
                writeln!(out, "raw outputs forgotten: {forgotten}")?;
                Ok(Exit::Done)
            }
            AuditCommand::Keygen { name, file } => checkpoint::keygen(name, file, out),
            AuditCommand::Prove { index, trust } => {
                verify::prove(&*open(Opening::Read).await?, *index, &trust.log()?, out).await
            }
            AuditCommand::Replay { run, json } => {
                let store = open(Opening::Read).await?;
                replay::replay(store, place, run, *json, out).await
            }
            AuditCommand::Search { filter, limit } => {
                entries::newest(&*open(Opening::Read).await?, &filter.filter(), *limit, out).await
            }
            AuditCommand::Show { index } => entries::show(&*open(Opening::Read).await?, *index, out).await,
            AuditCommand::Tail { limit } => {
                entries::newest(&*open(Opening::Read).await?, &Filter::default(), *limit, out).await
            }
            AuditCommand::Verify { trust, checkpoint, unsigned, json } => {
                let log = trust.log()?;
                let trusted = checkpoint.as_deref().map(|path| verify::checkpoint(path, &log)).transpose()?;
                let store = open(Opening::Read).await?;
                let progress = Progress::default();
                let busy = Busy::counted("verifying the log", progress.clone());
                let verified = store.verify(&log, *unsigned, trusted.as_ref(), &progress).await?;
                drop(busy);
                verify::tell(&verified, *json, out)
            }
        }
    })
}

impl TrustArgs {
    fn log(&self) -> Result<TrustedLog, CommandError> {
        let trust = self.trust.as_deref().ok_or_else(|| CommandError::Input {
            message: "no key is given whose signatures are believed".to_owned(),
            hint: Some(
                "add --trust KEY, with what `ringfence audit keygen NAME FILE` printed when the log got its key",
            ),
        })?;
        let key: VerifierKey = trust.parse().map_err(|error| CommandError::Input {
            message: format!("`--trust` is not a verifying key: {error}"),
            hint: Some("give what `ringfence audit keygen` printed, as in --trust \"$(cat log.pub)\""),
        })?;
        let origin = key.name().to_owned();
        TrustedLog::new(&origin, [key]).map_err(|error| input(error.to_string()))
    }
}

impl FilterArgs {
    fn filter(&self) -> Filter {
        Filter {
            kind: self.kind.clone(),
            run: self.run.clone(),
            tool: self.tool.clone(),
            code: self.code.clone(),
            class: self.class.clone(),
            host: self.host.clone(),
            principal: self.principal.clone(),
            since_ms: self.since.map(Moment::millis),
            until_ms: self.until.map(Moment::millis),
            ..Filter::default()
        }
    }
}

fn input(message: String) -> CommandError {
    CommandError::Input { message, hint: None }
}
