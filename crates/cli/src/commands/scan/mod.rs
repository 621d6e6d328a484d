//! `ringfence scan`

mod line;
mod tool;

use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use ringfence::policy::{JsonLimits, parse_json};
use ringfence_text::{Verdict, collisions, refused, scan};
use serde_json::json;

use crate::deciding::read_deciding;
use crate::error::{CommandError, Exit};
use crate::load::{Place, read_text};
use crate::shown::json_line;
use crate::table::table;
use tool::Tool;

/// Scan what tools say of themselves, before a model reads it
///
/// Looks for injected instructions, hidden text and steering of other tools in names, descriptions and schemas, and
/// for names that pass for one another. FILE is a tool list in MCP JSON (`{"tools": [...]}` or a bare list) or a toolbox;
/// `-` reads the list from standard input; without FILE the toolbox of --policy is scanned. Exits with 4 when there
/// are findings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence scan
  ringfence scan tools.json
  ringfence scan tools.json --json")]
pub(crate) struct ScanArgs {
    /// The tool list or toolbox
    file: Option<PathBuf>,

    /// Read JSON lines and answer each with a JSON line
    ///
    /// A line `{"id", "name", "description", "inputSchema"}` is answered with `{"id", "verdict", "score", "findings"}`,
    /// a line `{"id", "names"}` with `{"id", "collide", "pairs", "refused"}`, a malformed one with `{"id", "error"}`.
    /// Lines come from FILE, or from standard input without one.
    #[arg(long, conflicts_with = "json")]
    jsonl: bool,

    /// Print one JSON object {"verdict", "tools": [{"name", "verdict", "score", "findings"}], "names": [sentence]}
    #[arg(long)]
    json: bool,
}

/// What is scanned.
const GIVE: &str = "give a list of tools in JSON, or a toolbox";

pub(crate) fn run(args: &ScanArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let file = args.file.as_deref().filter(|file| *file != Path::new("-"));
    match (args.jsonl, file) {
        (true, None) => {
            line::answer_all(&mut BufReader::with_capacity(1 << 16, std::io::stdin().lock()), out)
        }
        (true, Some(file)) => {
            let failed =
                |error| CommandError::File { verb: "read", path: file.to_path_buf(), error, hint: None };
            let opened = std::fs::File::open(file).map_err(failed)?;
            line::answer_all(&mut BufReader::with_capacity(1 << 16, opened), out)
        }
        (false, Some(file)) if file.extension().is_some_and(|extension| extension == "toml") => {
            let place =
                Place { policy: file.to_path_buf(), is_named: true, workspace: place.workspace.clone() };
            report(&toolbox(&place)?, args.json, out)
        }
        (false, Some(file)) => report(&listed(&read_text(file, Some(GIVE))?)?, args.json, out),
        (false, None) if args.file.is_some() => report(&listed(&standard_input()?)?, args.json, out),
        (false, None) if place.is_json() => {
            report(&listed(&read_deciding(&place.policy, Some(GIVE))?)?, args.json, out)
        }
        (false, None) => report(&toolbox(place)?, args.json, out),
    }
}

/// Reads a toolbox. Problems that have nothing to do with its texts do not matter here.
fn toolbox(place: &Place) -> Result<Vec<Tool>, CommandError> {
    let loaded = place.load()?;
    let loaded = if loaded.declarations.is_empty() { loaded.sound()? } else { loaded };
    Ok(loaded.declarations.into_iter().map(Tool::from).collect())
}

fn listed(text: &str) -> Result<Vec<Tool>, CommandError> {
    let input = |message| CommandError::Input { message, hint: Some(GIVE) };
    let value = parse_json(text, JsonLimits::DOCUMENT).map_err(|error| input(error.to_string()))?;
    Tool::list(value).map_err(|message| input(message.to_owned()))
}

fn standard_input() -> Result<String, CommandError> {
    let limit = u64::try_from(JsonLimits::DOCUMENT.bytes).unwrap_or(u64::MAX);
    let mut text = String::new();
    std::io::stdin().lock().take(limit + 1).read_to_string(&mut text).map_err(|error| {
        CommandError::Input { message: format!("cannot read standard input: {error}"), hint: None }
    })?;
    Ok(text)
}

/// Writes a table of all tools and what was found in each.
fn report(tools: &[Tool], json: bool, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let mut rows = Vec::new();
    let mut details = Vec::new();
    let mut found = Vec::new();
    let mut worst = Verdict::Accept;
    for tool in tools {
        let scan = scan(&tool.definition());
        let name = shown(&tool.name);
        worst = worst.max(scan.verdict);
        rows.push([name.clone(), scan.verdict.to_string(), scan.score.to_string()]);
        found.push(json!({ "name": tool.name, "verdict": scan.verdict, "score": scan.score, "findings": scan.findings }));
        if scan.verdict > Verdict::Accept {
            details.extend(scan.findings.iter().map(|one| {
                let (start, end) = (one.span.start, one.span.end);
                format!("{name}: {} {start}..{end}: {} [{}]", shown(&one.field), one.message, one.rule)
            }));
        }
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut named = Vec::new();
    for pair in collisions(&names) {
        let of = |at: usize| names.get(at).map(|name| shown(name)).unwrap_or_default();
        named.push(format!("{}: passes for `{}`", of(pair.second), of(pair.first)));
    }
    named.extend(
        names.iter().filter_map(|name| Some(format!("{}: the name {}", shown(name), refused(name)?))),
    );
    let exit = if worst > Verdict::Accept || !named.is_empty() { Exit::Findings } else { Exit::Done };
    if json {
        let told = json!({ "verdict": worst, "tools": found, "names": named });
        writeln!(out, "{}", json_line(&told))?;
        return Ok(exit);
    }
    write!(out, "{}", table(["TOOL", "VERDICT", "SCORE"], &rows))?;
    if !details.is_empty() || !named.is_empty() {
        writeln!(out)?;
    }
    for detail in details.iter().chain(&named) {
        writeln!(out, "{detail}")?;
    }
    Ok(exit)
}

/// Shows foreign text so that it cannot act on the terminal or hide.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(80) {
        if c.is_control() || ringfence_text::may_hide(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}
