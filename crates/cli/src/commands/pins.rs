//! `ringfence pins`

use std::io::Write;

use ringfence::{PinStatus, Pins};

use crate::error::{CommandError, Exit};
use crate::load::{Loaded, Place};
use crate::table::table;

/// Keep track of the definitions that were accepted
///
/// A pin file (`ringfence.pins.json` beside the toolbox) holds the digest and the definition of every tool that
/// somebody has accepted. Once it is there, a tool that is new or has changed is quarantined until it is accepted.
#[derive(Debug, clap::Args)]
pub(crate) struct PinsArgs {
    #[command(subcommand)]
    command: PinsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PinsCommand {
    /// Accept tools as they are now
    Accept {
        /// The tools; none = every tool of the toolbox
        tools: Vec<String>,
    },
    /// Show what differs from the accepted definitions
    ///
    /// Exits with 4 when something does.
    Diff {
        /// The tools; none = every tool of the toolbox
        tools: Vec<String>,
    },
    /// List tools with their digests and where they stand
    List,
}

pub(crate) fn run(args: &PinsArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let loaded = place.load()?.sound()?;
    match &args.command {
        PinsCommand::Accept { tools } => accept(&loaded, place, tools, out),
        PinsCommand::Diff { tools } => diff(&loaded, place, tools, out),
        PinsCommand::List => list(&loaded, place, out),
    }
}

fn accept(
    loaded: &Loaded,
    place: &Place,
    tools: &[String],
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let mut pins = place.pins()?.unwrap_or_default();
    let accepted = loaded.named(tools)?;
    for declaration in &accepted {
        pins.accept(declaration)
            .map_err(|error| CommandError::Input { message: error.to_string(), hint: None })?;
    }
    place.write_pins(&pins)?;
    for declaration in accepted {
        writeln!(out, "accepted {}", declaration.name)?;
    }
    Ok(Exit::Done)
}

fn diff(loaded: &Loaded, place: &Place, tools: &[String], out: &mut dyn Write) -> Result<Exit, CommandError> {
    let pins = place.pins()?.unwrap_or_default();
    let mut exit = Exit::Done;
    for (declaration, digest) in loaded.digests(tools)? {
        match pins.status(declaration, &digest) {
            PinStatus::Accepted => continue,
            PinStatus::New => writeln!(out, "{}: not accepted yet", declaration.name)?,
            PinStatus::Rejected => writeln!(out, "{}: rejected", declaration.name)?,
            PinStatus::Changed(changes) => {
                writeln!(out, "{}:", declaration.name)?;
                for change in changes {
                    writeln!(out, "  {change}")?;
                }
            }
        }
        exit = Exit::Findings;
    }
    Ok(exit)
}

fn list(loaded: &Loaded, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let pins: Pins = place.pins()?.unwrap_or_default();
    let mut rows = Vec::new();
    for (declaration, digest) in loaded.digests(&[])? {
        let standing = match pins.status(declaration, &digest) {
            PinStatus::Accepted => "accepted",
            PinStatus::Changed(_) => "changed",
            PinStatus::New => "new",
            PinStatus::Rejected => "rejected",
        };
        rows.push([declaration.name.to_string(), standing.to_owned(), digest]);
    }
    let gone = pins.iter().filter(|(tool, _)| !loaded.declarations.iter().any(|own| own.name == **tool));
    rows.extend(gone.map(|(tool, digest)| [tool.to_string(), "gone".to_owned(), digest.to_owned()]));
    write!(out, "{}", table(["TOOL", "STANDING", "DIGEST"], &rows))?;
    Ok(Exit::Done)
}
