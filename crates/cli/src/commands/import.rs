//! `ringfence import`

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::backup::back_up;
use crate::book::replace;
use crate::error::{CommandError, Exit};
use crate::import::{Imported, Surroundings, import};
use crate::load::{Place, listed, read_text};
use crate::shown::{json_line, one_line};

/// Where configurations are.
const CONFIGURATIONS: &str = "give the file in which the client lists its MCP servers, such as claude_desktop_config.json, .cursor/mcp.json or .vscode/mcp.json";

/// Put the MCP servers of a client's configuration behind the fence
///
/// Reads `mcpServers` (Claude Desktop, Cursor) or `servers` (VS Code), writes a policy file (`--policy`) with one entry for each
/// server that the client starts itself, and rewrites the configuration so that each runs in `ringfence wrap`. The original
/// configuration is kept beside it as `FILE.bak-ringfence`. Servers that are reached over the network stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence import ~/.cursor/mcp.json --policy ~/fence.toml
  ringfence import .vscode/mcp.json --keep-policy")]
pub(crate) struct ImportArgs {
    /// The configuration of the client
    file: PathBuf,
    /// Overwrite the policy file
    #[arg(long)]
    force: bool,
    /// Leave the policy file as it is, as `ringfence init --mcp` wrote it and you have looked through it; it must have an entry for
    /// each server
    #[arg(long, conflicts_with = "force")]
    keep_policy: bool,
    /// Print one JSON object {"policy", "backup", "servers", "notes"}; what was not written is null
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ImportArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let text = read_text(&args.file, Some(CONFIGURATIONS))?;
    // A link is followed: what it leads to is rewritten, and the link stays.
    let target = args.file.canonicalize().map_err(|error| CommandError::File {
        verb: "read",
        path: args.file.clone(),
        error,
        hint: None,
    })?;
    let policy = std::path::absolute(&place.policy).map_err(CommandError::Start)?;
    let imported = imported(&args.file, &text, &policy)?;
    if imported.servers.is_empty() {
        return told(&imported, None, args, out);
    }
    if args.keep_policy {
        covers(place, &imported)?;
    } else {
        fresh(&policy, &imported, args, place)?;
    }
    let backup = back_up(&target, &text)?;
    if !args.keep_policy {
        replace(&policy, &imported.policy)?;
    }
    replace(&target, &imported.configuration)?;
    told(&imported, Some((&policy, &backup)), args, out)
}

/// Reads a configuration for a policy file of this name. Nothing is written.
pub(crate) fn imported(file: &Path, text: &str, policy: &Path) -> Result<Imported, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::Start)?;
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let exists = |path: &Path| path.exists();
    let around = Surroundings {
        ringfence: &program.to_string_lossy(),
        policy,
        home: home.as_deref(),
        exists: &exists,
    };
    import(text, &around).map_err(|error| CommandError::Input {
        message: format!("`{}`: {error}", file.display()),
        hint: Some(CONFIGURATIONS),
    })
}

/// Makes sure that a policy may be written, and is sound.
fn fresh(policy: &Path, imported: &Imported, args: &ImportArgs, place: &Place) -> Result<(), CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint: Some(hint) };
    if policy.exists() {
        if imported.before.contains(&policy.to_path_buf()) {
            let message = format!("`{}` is the policy of servers that are wrapped already", policy.display());
            return Err(input(message, "name another file with --policy FILE"));
        }
        if !args.force {
            let message = format!("`{}` is there already", policy.display());
            return Err(input(
                message,
                "name another file with --policy FILE, use this one with --keep-policy, or overwrite it with --force",
            ));
        }
    }
    let problems = place.read(&imported.policy).problems;
    if !problems.is_empty() {
        let details = listed(&place.policy, &problems);
        return Err(CommandError::Toolbox { path: policy.to_path_buf(), count: problems.len(), details });
    }
    Ok(())
}

/// Makes sure that the policy which is there knows every server.
fn covers(place: &Place, imported: &Imported) -> Result<(), CommandError> {
    let loaded = place.load()?.sound()?;
    let is_known =
        |name: &ringfence::policy::ServerName| loaded.servers.iter().any(|server| server.name == *name);
    match imported.servers.iter().find(|(name, _)| !is_known(name)) {
        Some((name, _)) => Err(CommandError::Input {
            message: format!("`{}` has no entry for the server `{name}`", place.policy.display()),
            hint: Some("add a `[[server]]` of that name, or let it be written without --keep-policy"),
        }),
        None => Ok(()),
    }
}

fn told(
    imported: &Imported,
    written: Option<(&Path, &Path)>,
    args: &ImportArgs,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    if args.json {
        let (policy, backup) = written.unzip();
        let servers: Vec<&str> = imported.servers.iter().map(|(name, _)| name.as_str()).collect();
        let told = json!({ "policy": policy, "backup": backup, "servers": servers, "notes": imported.notes });
        writeln!(out, "{}", json_line(&told))?;
        return Ok(Exit::Done);
    }
    for note in &imported.notes {
        writeln!(out, "{}", one_line(note))?;
    }
    if let Some((policy, backup)) = written {
        let look = if args.keep_policy { "as it was" } else { "look at what is marked REVIEW" };
        writeln!(out, "policy: {} ({look})", policy.display())?;
        writeln!(out, "backup: {}", backup.display())?;
    }
    Ok(Exit::Done)
}
