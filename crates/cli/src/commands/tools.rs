//! `ringfence tools`

use std::io::Write;

use ringfence::policy::{Declaration, Direction, PathReach, resolve_capabilities};
use ringfence::{Capabilities, Grant, Personality};
use serde_json::json;

use crate::error::{CommandError, Exit};
use crate::load::Place;
use crate::table::table;

/// List the tools of a toolbox and what each may reach
///
/// Shows the tools of the personality's toolset with what is both declared and permitted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence tools
  ringfence tools --json")]
pub(crate) struct ToolsArgs {
    /// Print JSON lines, with schemas and digests
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ToolsArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let loaded = place.load()?.sound()?;
    let personality = loaded.personality.clone();
    let held = place.held(&loaded)?;
    let registry = loaded.registry(held, None, |builder| builder)?;
    let mut rows = Vec::new();
    for tool in registry.list() {
        let declaration = tool.declaration();
        if args.json {
            let line = json!({
                "name": declaration.name,
                "title": declaration.title,
                "description": tool.visible_description(),
                "verdict": tool.scan().verdict,
                "class": tool.class(),
                "risk": declaration.risk,
                "input": declaration.input,
                "output": declaration.output,
                "capabilities": declaration.capabilities,
                "digest": tool.digest(),
            });
            writeln!(out, "{line}")?;
        } else {
            rows.push([
                declaration.name.to_string(),
                tool.class().as_str().to_owned(),
                reach(declaration, &personality),
                first_line(&tool.visible_description()),
            ]);
        }
    }
    for tool in registry.quarantined() {
        let Some(quarantine) = tool.quarantine() else { continue };
        let (name, reason) = (&tool.declaration().name, &quarantine.refusal.message);
        if args.json {
            writeln!(out, "{}", json!({"name": name, "quarantined": reason, "changes": quarantine.changes}))?;
        } else {
            rows.push([name.to_string(), "-".to_owned(), "quarantined".to_owned(), reason.to_string()]);
        }
    }
    if !args.json {
        write!(out, "{}", table(["TOOL", "CLASS", "REACH", "DESCRIPTION"], &rows))?;
    }
    Ok(Exit::Done)
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|character| !character.is_control()).take(80).collect()
}

/// Sums up a grant on one line.
fn reach(declaration: &Declaration, personality: &Personality) -> String {
    let Some(capabilities) = &declaration.capabilities else { return "nothing".to_owned() };
    let Ok(grant) = resolve_capabilities(capabilities, personality) else { return "nothing".to_owned() };
    let parts = parts(&grant, capabilities, personality);
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}

fn parts(grant: &Grant, capabilities: &Capabilities, personality: &Personality) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = |what: &str, items: Vec<String>| {
        if !items.is_empty() {
            parts.push(format!("{what} {}", items.join(", ")));
        }
    };
    for direction in [Direction::Read, Direction::Write] {
        // A sound toolbox declares nothing that the personality does not cover.
        let paths = match capabilities.fs_reach.as_ref().and_then(|reach| reach.direction(direction)) {
            None => continue,
            Some(PathReach::FromPersonality) => personality.fs_reach.direction(direction),
            Some(PathReach::Listed(paths)) => paths,
        };
        part(direction.as_str(), paths.iter().map(ToString::to_string).collect());
    }
    if let Some(network) = &grant.network {
        part("hosts", network.hosts().iter().map(ToString::to_string).collect());
    }
    if let Some(secrets) = &grant.secrets {
        part("secrets", secrets.iter().map(ToString::to_string).collect());
    }
    if let Some(process) = &grant.process {
        part("starts", process.iter().map(ToString::to_string).collect());
    }
    if let Some(environment) = &grant.environment {
        part("env", environment.iter().map(ToString::to_string).collect());
    }
    if let Some(storage) = &grant.storage {
        part("storage", vec![storage.scope.to_string()]);
    }
    parts
}
