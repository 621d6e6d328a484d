//! `ringfence manifest`

mod build;
mod compare;
mod git;
mod lock;
mod proposal;
mod seal;

use std::io::Write;
use std::path::PathBuf;

use ringfence::audit::VerifierKey;
use ringfence::policy::manifest::{Manifest, show};
use ringfence::policy::report::Format;

use crate::error::{CommandError, Exit};
use crate::load::{Loaded, Place};
pub(crate) use lock::Lockfile;
pub(crate) use proposal::Proposal;

/// Review what tools may touch, and catch every widening
///
/// The manifest (`ringfence.lock.json` beside the toolbox) says of every tool and server what it reaches under the personality,
/// who must agree, and what runs. It is the same on every machine. Commit it: a reviewer approves a page of permissions, and from
/// then on nothing widens unseen. Without a command, writes it, unless it is wider than the one that is there.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  ringfence manifest
  ringfence manifest verify --against origin/main
  ringfence manifest accept")]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    command: Option<ManifestCommand>,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(Debug, clap::Subcommand)]
enum ManifestCommand {
    /// Show what has changed since the manifest was written, and write it anew when somebody agrees
    #[command(after_help = "Examples:
  ringfence manifest accept
  ringfence manifest accept --yes --sign log.key")]
    Accept {
        #[command(flatten)]
        made: MadeArgs,
        /// Agree without being asked
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        sign: SignArgs,
    },
    /// Compare two manifests
    ///
    /// By coverage: a narrower pattern under a granted one is no finding. Exits with 4 when the new one widens anything.
    #[command(after_help = "Examples:
  ringfence manifest diff old.lock.json ringfence.lock.json
  ringfence manifest diff old.lock.json ringfence.lock.json --format markdown")]
    Diff {
        /// The manifest that was agreed to
        old: PathBuf,
        /// The manifest proposed
        new: PathBuf,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Show the manifest of the toolbox as a page that a person reads in a minute
    #[command(after_help = "Examples:
  ringfence manifest show
  ringfence manifest show --format markdown > PERMISSIONS.md")]
    Show {
        /// Show this manifest instead
        file: Option<PathBuf>,
        /// How to show it
        #[arg(long, value_enum, default_value = "terminal")]
        format: PageFormat,
        /// The same as `--format json`
        #[arg(long, conflicts_with = "format")]
        json: bool,
        #[command(flatten)]
        made: MadeArgs,
    },
    /// Compare the toolbox with a manifest that was agreed to
    ///
    /// Exits with 4 when the toolbox widens anything.
    #[command(after_help = "Examples:
  ringfence manifest verify
  ringfence manifest verify --against origin/main --format github")]
    Verify(Box<VerifyArgs>),
    /// Write the manifest of the toolbox
    ///
    /// Where there is one and the toolbox widens anything, shows what, writes nothing, and exits with 4.
    #[command(after_help = "Examples:
  ringfence manifest write
  ringfence manifest write --check")]
    Write(WriteArgs),
}

#[derive(Debug, clap::Args)]
struct VerifyArgs {
    /// A revision of git that holds the manifest, or a file, whose name ends in `.json`
    #[arg(long, value_name = "REV|FILE", default_value = "HEAD")]
    against: String,
    /// Refuse a manifest that this key has not signed; it is what `ringfence audit keygen` printed
    #[arg(long, value_name = "VERIFIER")]
    key: Option<VerifierKey>,
    #[command(flatten)]
    made: MadeArgs,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Debug, clap::Args)]
struct WriteArgs {
    /// Write nothing; exit with 4 when the manifest is not that of the toolbox
    #[arg(long, conflicts_with = "sign")]
    check: bool,
    #[command(flatten)]
    made: MadeArgs,
    #[command(flatten)]
    sign: SignArgs,
}

/// What a manifest is made from beside the toolbox.
#[derive(Debug, clap::Args)]
struct MadeArgs {
    /// Record the digests of the programs on this machine; done by itself once a manifest has some
    #[arg(long)]
    binaries: bool,
    /// Record what code does, from what `ringfence lint --json` wrote
    #[arg(long, value_name = "FILE")]
    lint: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct SignArgs {
    /// Sign it with the key of this file, which `ringfence audit keygen` made
    #[arg(long, value_name = "KEYFILE")]
    sign: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct FormatArgs {
    /// How to tell: `human`, `json`, `sarif`, `github` (annotations, and a summary of the job) or `markdown`
    #[arg(long, default_value = "human")]
    format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatArgs {
    const fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// How a page is shown.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PageFormat {
    /// One HTML file, which loads nothing and runs nothing
    Html,
    /// The manifest itself, as it would be written
    Json,
    /// Markdown
    Markdown,
    /// For a terminal
    Terminal,
}

/// Makes the manifest of the toolbox as it is now, with the digests of the programs that the accepted one records.
pub(crate) fn current(
    place: &Place,
    loaded: &Loaded,
    accepted: Option<&Manifest>,
) -> Result<Manifest, CommandError> {
    build::manifest_of(place, loaded, &MadeArgs { binaries: false, lint: None }, accepted)
}

pub(crate) fn run(args: &ManifestArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    match &args.command {
        None => write(&args.write, place, out),
        Some(ManifestCommand::Write(args)) => write(args, place, out),
        Some(ManifestCommand::Accept { made, yes, sign }) => {
            let agreement = if *yes { compare::Agreement::Given } else { compare::Agreement::Asked };
            compare::accept(made, agreement, sign.sign.as_deref(), place, out)
        }
        Some(ManifestCommand::Diff { old, new, format }) => compare::diff(old, new, format.format(), out),
        Some(ManifestCommand::Show { file, format, json, made }) => {
            let manifest = match file {
                Some(file) => Lockfile::at(file).read()?,
                None => build::manifest(place, made, Lockfile::beside(place).read_if_sound().as_ref())?,
            };
            let format = if *json { PageFormat::Json } else { *format };
            let page = match format {
                PageFormat::Html => show::html(&manifest),
                PageFormat::Json => lock::text_of(&manifest)?,
                PageFormat::Markdown => show::markdown(&manifest),
                PageFormat::Terminal => show::terminal(&manifest),
            };
            write!(out, "{page}")?;
            Ok(Exit::Done)
        }
        Some(ManifestCommand::Verify(args)) => compare::verify(args, place, out),
    }
}

fn write(args: &WriteArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let lock = Lockfile::beside(place);
    let manifest = build::manifest(place, &args.made, lock.read_if_sound().as_ref())?;
    if args.check {
        return lock.check(&manifest, out);
    }
    // What is wider is for somebody to agree to, not to be written over.
    if lock.is_there()? && compare::is_wider(&lock, &manifest, place, out)? {
        return Ok(Exit::Findings);
    }
    lock.write(&manifest, args.sign.sign.as_deref(), out)
}

fn input(message: impl Into<String>) -> CommandError {
    CommandError::Input { message: message.into(), hint: None }
}
