//! The limits of `ringfence run`: as they are written, and what is said of those that a command ran into.

use ringfence::policy::Limits;
use ringfence::sandbox::{Ending, LimitName, Report};
use serde_json::json;

use crate::error::CommandError;

/// The limits by name, and whether each is a plain number.
const LIMITS: &[(&str, bool)] = &[
    ("wall", false),
    ("cpu", false),
    ("memory", false),
    ("processes", true),
    ("file-size", false),
    ("open-files", true),
    ("output", false),
    ("scratch", false),
    ("connections", true),
    ("sent", false),
    ("received", false),
    ("idle", false),
    ("connection-time", false),
    ("requests-per-minute", true),
    ("names-per-minute", true),
];

/// Reads `wall=8s` and the like with the same words as a policy file.
pub(in crate::commands) fn limits(written: &[String]) -> Result<Limits, CommandError> {
    let input = |message, hint| CommandError::Input { message, hint: Some(hint) };
    let mut table = serde_json::Map::new();
    for one in written {
        let form = "write it as `wall=8s` or `memory=256M`";
        let (name, value) =
            one.split_once('=').ok_or_else(|| input(format!("`{one}` is not NAME=VALUE"), form))?;
        let known = LIMITS.iter().find(|(known, _)| *known == name);
        let (_, is_number) = known.ok_or_else(|| {
            input(format!("there is no limit `{name}`"), "`ringfence run --help` lists the limits")
        })?;
        let value = match value.parse::<u64>() {
            Ok(number) if *is_number => json!(number),
            _ => json!(value),
        };
        table.insert(name.to_owned(), value);
    }
    serde_json::from_value(serde_json::Value::Object(table)).map_err(|error| {
        input(
            format!("a limit is wrong: {error}"),
            "durations are `500ms`, `8s`, `2m`, `1d`; sizes `512K`, `64M`, `1G`; each can be `unlimited`",
        )
    })
}

/// Returns a sentence for each limit that ended the command or cut what it wrote.
pub(in crate::commands) fn sentences(report: &Report, limits: &Limits) -> Vec<String> {
    let mut names = report.exceeded.clone();
    if report.ending == Ending::TimedOut && !names.contains(&LimitName::Wall) {
        names.push(LimitName::Wall);
    }
    names.into_iter().map(|name| sentence(name, report.ending, limits)).collect()
}

fn sentence(name: LimitName, ending: Ending, limits: &Limits) -> String {
    let value = value(name, limits);
    match (name, ending) {
        (LimitName::Wall, _) => format!("killed after {} (limit `wall`)", value.unwrap_or_default()),
        (_, Ending::Signalled(_)) => {
            let value = value.map(|value| format!(", {value}")).unwrap_or_default();
            format!("killed (limit `{name}`{value})")
        }
        // A part of it was killed, or it was told of it and went on.
        (_, Ending::Exited(_) | Ending::TimedOut) => {
            let value = value.map(|value| format!(", {value}")).unwrap_or_default();
            format!("the command ran into a limit (`{name}`{value})")
        }
    }
}

fn value(name: LimitName, limits: &Limits) -> Option<String> {
    match name {
        LimitName::Cpu => limits.cpu.map(|span| span.to_string()),
        LimitName::FileSize => limits.file_size.map(|size| size.to_string()),
        LimitName::Memory => limits.memory.map(|size| size.to_string()),
        LimitName::OpenFiles => limits.open_files.map(|number| number.to_string()),
        LimitName::Output => limits.output.map(|size| size.to_string()),
        LimitName::Processes => limits.processes.map(|number| number.to_string()),
        LimitName::Scratch => limits.scratch.map(|size| size.to_string()),
        LimitName::Wall => limits.wall.map(|span| span.to_string()),
    }
}
