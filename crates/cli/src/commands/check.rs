//! `ringfence check`

use std::io::Write;

use crate::error::{CommandError, Exit};
use crate::load::{Place, listed};

/// Find everything that is wrong with a toolbox, at once
///
/// Reads the toolbox, its schemas and the examples of its personality, compares what the tools declare with what the
/// personality permits, and scans what they say of themselves. Runs nothing. Exits with 4 when there are problems.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence check
  ringfence check --policy examples/demo/ringfence.toml
  ringfence check --json")]
pub(crate) struct CheckArgs {
    /// Print the problems as JSON lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CheckArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let loaded = place.load()?.scanned(place.pins()?.as_ref());
    if args.json {
        for problem in &loaded.problems {
            serde_json::to_writer(&mut *out, problem).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    } else {
        write!(out, "{}", listed(&place.policy, &loaded.problems))?;
    }
    if !loaded.problems.is_empty() {
        return Ok(Exit::Findings);
    }
    if !args.json {
        let count = loaded.declarations.len();
        let fit = if count == 1 { "tool fits" } else { "tools fit" };
        let servers = match loaded.servers.len() {
            0 => String::new(),
            1 => ", 1 server".to_owned(),
            more => format!(", {more} servers"),
        };
        writeln!(out, "{}: {count} {fit}{servers}", place.policy.display())?;
    }
    Ok(Exit::Done)
}
