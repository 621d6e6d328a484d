//! `ringfence explain`

mod also;
mod case;
mod cause;
mod code;
mod diff;
mod draft;
mod find;
mod judged;
mod record;
mod told;
mod words;

use std::fmt;
use std::io::Write;
use std::path::PathBuf;

use ringfence::policy::explain::{find as known, nearest};
use serde::Serialize;

use self::find::{Log, Name};
use self::judged::Explanation;
use crate::error::{CommandError, Exit};
use crate::load::Place;
use crate::store::{StoreName, named, runtime};

/// How calls and codes are named.
const HINT: &str = "a call is named by its number in the audit, by `RUN/NUMBER`, by its run or a part of that, or by `last`; codes are in docs/reference/codes.md";

/// Explain a refusal: what happened, which rule decided, and what would allow it
///
/// Takes a code, and tells what it means, which rule decides and what can be done. Takes a call of the audit, and tells what was
/// asked, which line of which file decided, the smallest change of the policy that would let the same call through (tried
/// before it is told), and what else that change would allow. Where no change should be made, says what a person does instead.
/// Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence explain HOST_NOT_ALLOWED                # what a code means
  ringfence explain last --store audit.db           # the last call that was not done
  ringfence explain 17                              # record 17 of the store, as `ringfence audit tail` numbers it
  ringfence explain cli-4711 --audit calls.jsonl    # the last call of a run, in a file of JSON lines
  ringfence explain 17 -p team.toml                 # with the rules of another policy file")]
pub(crate) struct ExplainArgs {
    /// A code; or a call: its number in the audit, `RUN/NUMBER`, a run or the beginning of one, or `last`
    subject: String,
    /// The store with the record: a file, or `postgres://…`; without it what the variable RINGFENCE_STORE names, then `ringfence.db`
    #[arg(long, value_name = "STORE", conflicts_with = "audit")]
    store: Option<StoreName>,
    /// The file of JSON lines with the record, as `ringfence call --audit` writes it
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ExplainArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    if let Some(code) = known(&args.subject) {
        code::tell(&code, args.json, out)?;
        return Ok(Exit::Done);
    }
    let name = Name::read(&args.subject);
    let Some(log) = log(args, &name) else { return Err(unknown(&args.subject)) };
    let found = runtime()?.block_on(log.find(&name))?;
    let Some(found) = found else {
        return Err(if name == Name::Last { none() } else { unknown(&args.subject) });
    };
    let explanation = Explanation::of(&found, place);
    if args.json {
        told::as_json(&explanation, out)?;
    } else {
        told::as_text(&explanation, out)?;
    }
    Ok(Exit::Done)
}

/// A line of the policy that decided about a call.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Decided {
    /// The line, where one can be named.
    line: Option<usize>,
    field: String,
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line} ")?;
        }
        f.write_str(&self.field)
    }
}

/// Returns the first line of the policy that decided about a recorded call, where one did.
pub(crate) fn decided_by(record: &str, place: &Place) -> Option<Decided> {
    let record = serde_json::from_str(record).unwrap_or_default();
    let rule = Explanation::of(&record, place).rules.into_iter().next()?;
    Some(Decided { line: rule.line, field: rule.field })
}

/// Returns where calls are looked for. A word that may be a mistyped code is looked for only where there is a log.
fn log(args: &ExplainArgs, name: &Name) -> Option<Log> {
    if let Some(file) = &args.audit {
        return Some(Log::File(file.clone()));
    }
    if let Some(store) = named(args.store.as_ref()) {
        return Some(Log::Store(store));
    }
    let default = PathBuf::from("ringfence.db");
    let wants_log = !matches!(name, Name::Run(_));
    (wants_log || default.exists()).then_some(Log::Store(StoreName::File(default)))
}

/// There is a log, and everything in it was done.
fn none() -> CommandError {
    CommandError::Input {
        message: "no call is recorded there that was refused or failed".to_owned(),
        hint: Some("`ringfence audit tail` lists what is recorded in a store"),
    }
}

fn unknown(subject: &str) -> CommandError {
    let near = nearest(subject);
    let shown = crate::shown::cell(subject);
    let message = if near.is_empty() {
        format!("`{shown}` is neither a code nor a call that is recorded")
    } else {
        let codes: Vec<String> = near.iter().map(|one| format!("`{}`", one.code)).collect();
        format!(
            "`{shown}` is neither a code nor a call that is recorded; the nearest codes are {}",
            codes.join(", ")
        )
    };
    CommandError::Input { message, hint: Some(HINT) }
}
