//! `ringfence check`

use std::io::Write;

use ringfence::policy::{Declaration, Idempotency, Runtime, SafetyClass};

use crate::error::{CommandError, Exit};
use crate::load::{Place, listed};
use crate::program::find_program;

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

/// Says whether a tool is grave and nothing recognises a call of it that comes again.
fn repeats_matter(tool: &Declaration) -> bool {
    tool.class() >= SafetyClass::Financial && tool.idempotency == Idempotency::default()
}

/// Returns the program of a tool where this machine does not have it.
fn missing_program(tool: &Declaration) -> Option<&str> {
    let Runtime::Command(command) = &tool.runtime else { return None };
    let program = command.first().map(String::as_str).filter(|program| !program.contains("{{"))?;
    let is_here = match program.contains('/') {
        true => std::path::Path::new(program).exists(),
        false => find_program(program).is_some(),
    };
    (!is_here).then_some(program)
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
        for (tool, program) in
            loaded.declarations.iter().filter_map(|tool| Some((tool, missing_program(tool)?)))
        {
            let _told = writeln!(
                crate::print::errors(),
                "warning: tool `{}` starts `{program}`, which is not on this machine: install it, or write its path",
                tool.name
            );
        }
        for tool in loaded.declarations.iter().filter(|tool| repeats_matter(tool)) {
            let (name, class) = (&tool.name, tool.class().as_str());
            let _told = writeln!(
                crate::print::errors(),
                "warning: tool `{name}` is `{class}` and declares no `idempotency`: a call made twice takes effect twice"
            );
        }
    }
    Ok(Exit::Done)
}
