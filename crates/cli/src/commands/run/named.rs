//! Entries `[run.NAME]` of the policy file, as `ringfence run @NAME` uses them.

use std::ffi::OsString;
use std::path::PathBuf;

use super::RunArgs;
use crate::error::CommandError;
use crate::exposed::{hide_policy, keep_named_files};
use crate::load::Place;

/// Returns the command line with what the entry that it names adds; nothing where it names none.
pub(super) fn with_entry(args: &RunArgs, place: &Place) -> Result<Option<RunArgs>, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint: Some(hint) };
    let Some(name) = args.command.first().and_then(|word| word.to_str()?.strip_prefix('@')) else {
        return Ok(None);
    };
    if is_separated(&args.command, std::env::args_os()) {
        return Ok(None);
    }
    let loaded = place.load()?.sound()?;
    let policy = place.policy.display();
    let entry = loaded.runs.get(name).ok_or_else(|| {
        let known: Vec<String> = loaded.runs.keys().map(|name| format!("`@{name}`")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("`{policy}` has no entry `[run.{name}]`; it has {known}");
        input(message, "add the entry, or name one that is there")
    })?;
    let entry = entry.expand(&place.variables()).map_err(|(key, fault)| {
        input(format!("`[run.{name}]`, `{key}`: {fault}"), "use ${workspace}, ${home} or ${self}")
    })?;
    // The command could widen its own entry for the next run.
    hide_policy(&place.policy);
    keep_named_files(&loaded);
    let mut args = args.clone();
    // The word that separates the command from flags stays where it is written after a name.
    let skipped = 1 + usize::from(args.command.get(1).is_some_and(|word| word == "--"));
    args.command.drain(..skipped);
    if args.command.is_empty() {
        return Err(input(format!("no command follows `@{name}`"), "write `ringfence run @NAME -- COMMAND`"));
    }
    args.read.extend(entry.read.into_iter().map(PathBuf::from));
    args.write.extend(entry.write.into_iter().map(PathBuf::from));
    args.exec.extend(entry.exec);
    // What the command line sets comes last, and wins.
    args.env.splice(0..0, entry.env);
    args.secret.extend(entry.secret);
    args.network.add(entry.host, entry.private);
    args.cwd = args.cwd.or(entry.cwd.map(PathBuf::from));
    args.home = args.home.or(entry.home.map(PathBuf::from));
    args.unix_sockets |= entry.unix_sockets;
    args.tty |= entry.tty;
    args.entry_limits = entry.limits;
    Ok(Some(args))
}

/// Says whether `--` stands before the command: what follows it is a command, whoever has put it together, and names no entry.
fn is_separated(command: &[OsString], line: impl Iterator<Item = OsString>) -> bool {
    let line: Vec<OsString> = line.collect();
    let before = line.strip_suffix(command).and_then(<[OsString]>::last);
    before.is_some_and(|word| word == "--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_after_two_hyphens_names_no_entry() {
        let words = |text: &str| text.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        for (line, command, expected) in [
            ("ringfence run @test -- true", "@test -- true", false),
            ("ringfence run --read . @test -- true", "@test -- true", false),
            ("ringfence run -- @test -- true", "@test -- true", true),
            ("ringfence run --read . -- @test true", "@test true", true),
            ("ringfence run @test true", "@test true", false),
        ] {
            assert_eq!(is_separated(&words(command), words(line).into_iter()), expected, "{line}");
        }
    }
}
