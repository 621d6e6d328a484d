//! `ringfence audit`

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ringfence::audit::{Note, ProofFile, SignerKey, TrustedLog, VerifierKey};
use ringfence_store::{Filter, SqliteStore, Stored};
use serde_json::{Value, json};

use crate::error::{CommandError, Exit};
use crate::load::read_text;

/// Read, prove and verify the audit log of a store
///
/// Every outcome, refusal, approval step, connection and policy change is one record. The records are the leaves of a
/// Merkle tree; a signed checkpoint says how many there were and what they hashed to.
#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// The store
    #[arg(long, value_name = "FILE", default_value = "ringfence.db", global = true)]
    store: PathBuf,
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    /// Check a proof, without the log
    CheckProof {
        /// The proof
        file: PathBuf,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// Sign how many records there are and what they hash to; keep it, and print it to be kept elsewhere too
    Checkpoint {
        /// The file with the signing key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
    },
    /// Print all records as JSON lines, with the outputs that are kept
    Export,
    /// Make a signing key in a new file, and print the key that verifies what it signs
    Keygen {
        /// The name of the log, such as `acme.io/agents`
        name: String,
        /// Where the signing key goes
        file: PathBuf,
    },
    /// Write the proof that a record is in the log
    Prove {
        /// The number of the record
        index: u64,
        #[command(flatten)]
        trust: TrustArgs,
    },
    /// Print records that match
    Search {
        #[command(flatten)]
        filter: FilterArgs,
        /// How many at most, newest last
        #[arg(long, short = 'n', default_value_t = 100)]
        most: usize,
    },
    /// Print one record with its outputs
    Show {
        /// The number of the record
        index: u64,
    },
    /// Print the newest records
    Tail {
        /// How many
        #[arg(long, short = 'n', default_value_t = 20)]
        most: usize,
    },
    /// Look for edits, deletions, reordering, truncation, forks and swapped outputs
    ///
    /// Exits with 4 when something is found.
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
    /// The key that `keygen` printed
    #[arg(long, value_name = "KEY")]
    trust: String,
}

#[derive(Debug, clap::Args)]
struct FilterArgs {
    /// `approval`, `call`, `connection` or `policy`
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
}

pub(crate) fn run(args: &AuditArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let store = || SqliteStore::open_read_only(&args.store).map_err(CommandError::Store);
    match &args.command {
        AuditCommand::CheckProof { file, trust } => {
            let proof: ProofFile = read_text(file, None)?
                .parse()
                .map_err(|error| input(format!("`{}`: {error}", file.display())))?;
            let log = trust.log()?;
            match proof.verify(&log) {
                Ok(proven) => {
                    writeln!(out, "{}", String::from_utf8_lossy(proven.record))?;
                    Ok(Exit::Done)
                }
                Err(error) => {
                    writeln!(out, "the proof does not hold: {error}")?;
                    Ok(Exit::Findings)
                }
            }
        }
        AuditCommand::Checkpoint { key } => {
            let key = signer(key)?;
            let origin = key.verifier().name().to_owned();
            let store = SqliteStore::open(&args.store).map_err(CommandError::Store)?;
            let note = store.sign(&key, &origin).map_err(CommandError::Store)?;
            write!(out, "{note}")?;
            Ok(Exit::Done)
        }
        AuditCommand::Export => {
            let store = store()?;
            store.export(&mut |stored| writeln!(out, "{}", whole(stored))).map_err(CommandError::Store)?;
            Ok(Exit::Done)
        }
        AuditCommand::Keygen { name, file } => keygen(name, file, out),
        AuditCommand::Prove { index, trust } => {
            let (store, log) = (store()?, trust.log()?);
            let notes = store.checkpoints().map_err(CommandError::Store)?;
            let covering =
                notes.into_iter().find(|(size, _)| size > index).ok_or_else(|| CommandError::Input {
                    message: format!("no checkpoint covers record {index}"),
                    hint: Some("sign one with `ringfence audit checkpoint`"),
                })?;
            let note: Note = covering.1.parse().map_err(|error| input(format!("the checkpoint: {error}")))?;
            writeln!(out, "{}", store.prove(*index, &note, &log).map_err(CommandError::Store)?)?;
            Ok(Exit::Done)
        }
        AuditCommand::Search { filter, most } => list(&store()?, &filter.filter(), *most, out),
        AuditCommand::Show { index } => {
            let stored = store()?.entry(*index).map_err(CommandError::Store)?;
            let stored = stored.ok_or_else(|| input(format!("there is no record {index}")))?;
            serde_json::to_writer_pretty(&mut *out, &whole(&stored)).map_err(std::io::Error::from)?;
            writeln!(out)?;
            Ok(Exit::Done)
        }
        AuditCommand::Tail { most } => list(&store()?, &Filter::default(), *most, out),
        AuditCommand::Verify { trust, checkpoint, unsigned, json } => {
            let log = trust.log()?;
            let trusted = checkpoint.as_deref().map(|path| {
                let note: Note = read_text(path, None)?
                    .parse()
                    .map_err(|error| input(format!("`{}`: {error}", path.display())))?;
                log.open(&note).map_err(|error| input(format!("`{}`: {error}", path.display())))
            });
            let verified = store()?
                .verify(&log, *unsigned, trusted.transpose()?.as_ref())
                .map_err(CommandError::Store)?;
            if *json {
                let told = json!({
                    "intact": verified.is_intact(), "records": verified.records, "proven": verified.proven,
                    "root": verified.root, "findings": verified.findings,
                });
                writeln!(out, "{told}")?;
            } else if verified.is_intact() {
                writeln!(
                    out,
                    "intact: {} records, {} under a signed checkpoint",
                    verified.records, verified.proven
                )?;
            } else {
                for finding in &verified.findings {
                    writeln!(out, "{}: {finding}", finding.word())?;
                }
            }
            Ok(if verified.is_intact() { Exit::Done } else { Exit::Findings })
        }
    }
}

impl TrustArgs {
    fn log(&self) -> Result<TrustedLog, CommandError> {
        let key: VerifierKey = self
            .trust
            .parse()
            .map_err(|error| input(format!("`--trust` is not a verifying key: {error}")))?;
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
            ..Filter::default()
        }
    }
}

fn list(
    store: &SqliteStore,
    filter: &Filter,
    most: usize,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    for stored in store.entries(filter, 0, most).map_err(CommandError::Store)? {
        writeln!(out, "{}", numbered(&stored))?;
    }
    Ok(Exit::Done)
}

/// The record with its number.
fn numbered(stored: &Stored) -> Value {
    let mut record: Value = serde_json::from_str(&stored.record).unwrap_or(Value::Null);
    if let Value::Object(fields) = &mut record {
        fields.insert("index".into(), json!(stored.index));
    }
    record
}

/// The same, with the outputs that are kept beside it.
fn whole(stored: &Stored) -> Value {
    let mut record = numbered(stored);
    let read = |text: &Option<String>| {
        text.as_deref().map(|text| serde_json::from_str::<Value>(text).unwrap_or(json!(text)))
    };
    if let Value::Object(fields) = &mut record {
        fields.extend(read(&stored.clean).map(|clean| ("result".to_owned(), clean)));
        fields.extend(read(&stored.raw).map(|raw| ("raw".to_owned(), raw)));
    }
    record
}

fn keygen(name: &str, file: &Path, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let failed = |error| CommandError::File { verb: "write", path: file.to_path_buf(), error, hint: None };
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    rustix::rand::getrandom(&mut *seed, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| failed(errno.into()))?;
    let key = SignerKey::from_seed(name, &seed).map_err(|error| input(error.to_string()))?;
    let mut written = File::options().create_new(true).write(true).mode(0o600).open(file).map_err(failed)?;
    writeln!(written, "{}", key.to_text().as_str()).and_then(|()| written.sync_all()).map_err(failed)?;
    writeln!(out, "{}", key.verifier())?;
    Ok(Exit::Done)
}

fn signer(path: &Path) -> Result<SignerKey, CommandError> {
    let text = zeroize::Zeroizing::new(read_text(path, Some("make one with `ringfence audit keygen`"))?);
    text.trim().parse().map_err(|error| input(format!("`{}` is not a signing key: {error}", path.display())))
}

fn input(message: String) -> CommandError {
    CommandError::Input { message, hint: None }
}
