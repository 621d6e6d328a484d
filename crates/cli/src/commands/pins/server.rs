//! Pins of what MCP servers sent.
//!
//! INVARIANT: a definition is accepted only after it was shown, or when its digest is named.

use std::io::Write;

use ringfence::{Change, PinStatus, Pins};
use serde_json::{Value, json};

use crate::book::{Book, Seen, SeenFile};
use crate::error::{CommandError, Exit};
use crate::shown::{json_line, json_lines, one_line};
use crate::table::table;

/// How many digits of a digest must be named at least.
const PREFIX: usize = 12;

/// Returns every server that the policy, the pins or what was seen names.
pub(super) fn known<'a>(
    book: &Book,
    named: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>, CommandError> {
    let (pins, seen) = (book.read_pins()?, book.read_seen()?);
    let mut servers: Vec<String> = named.map(str::to_owned).collect();
    servers.extend(pins.servers().chain(seen.servers()).map(str::to_owned));
    servers.sort_unstable();
    servers.dedup();
    Ok(servers)
}

/// Lists what is accepted, rejected and withheld of the servers of each book.
pub(super) fn list(
    books: &[(Book, Vec<String>)],
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let mut rows = Vec::new();
    for (book, servers) in books {
        let (pins, seen) = (book.read_pins()?, book.read_seen()?);
        servers.iter().for_each(|server| rows.extend(standing(&pins, &seen, server)));
    }
    if json {
        for [server, key, standing, digest] in &rows {
            let told = json!({ "server": server, "definition": key, "standing": standing, "digest": digest });
            writeln!(out, "{}", json_line(&told))?;
        }
        return Ok(Exit::Done);
    }
    write!(out, "{}", table(["SERVER", "DEFINITION", "STANDING", "DIGEST"], &rows))?;
    Ok(Exit::Done)
}

/// One row for each definition of a server.
fn standing(pins: &Pins, seen: &SeenFile, server: &str) -> Vec<[String; 4]> {
    let row = |key: &str, standing: &str, digest: &str| {
        [one_line(server), one_line(key), standing.to_owned(), digest.to_owned()]
    };
    let accepted = pins.server_definitions(server).map(|(key, digest, _)| row(key, "accepted", digest));
    let rejected = pins.rejected_definitions(server).map(|(key, digest, _)| row(key, "rejected", digest));
    let waiting = seen.of(server).filter_map(|own| {
        let standing = match pins.server_status(server, &own.key, &own.definition) {
            PinStatus::Accepted | PinStatus::Rejected => return None,
            PinStatus::Changed(_) => "changed",
            PinStatus::New if own.renamed_from.is_some() => "renamed",
            PinStatus::New => "new",
        };
        Some(row(&own.key, standing, &own.digest))
    });
    let mut rows: Vec<[String; 4]> = accepted.chain(rejected).chain(waiting).collect();
    rows.sort_unstable();
    rows
}

/// Shows what waits for a person, whole, and remembers that it was shown.
pub(super) fn diff(
    book: &Book,
    server: &str,
    names: &[String],
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let (pins, file) = (book.read_pins()?, book.read_seen()?);
    let waiting: Vec<&Seen> = match names {
        [] => file.of(server).collect(),
        names => names.iter().map(|name| find(&file, server, name)).collect::<Result<_, _>>()?,
    };
    for seen in &waiting {
        if json {
            writeln!(out, "{}", json_line(&whole(&pins, server, seen)))?;
        } else {
            write!(out, "{}", described(&pins, server, seen))?;
        }
    }
    if waiting.is_empty() {
        return Ok(Exit::Done);
    }
    // Only what has really been written out counts as shown.
    out.flush()?;
    book.change(|_, file| {
        waiting.iter().for_each(|seen| file.show(server, seen));
        Ok::<_, CommandError>(())
    })?;
    Ok(Exit::Findings)
}

/// Accepts what was shown.
pub(super) fn accept(
    book: &Book,
    server: &str,
    names: &[String],
    digest: Option<&str>,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let done = book.change(|pins, file| {
        let chosen = chosen(file, server, names, digest)?;
        for seen in &chosen {
            if digest.is_none() && !file.was_shown(server, seen) {
                return Err(CommandError::Input {
                    message: format!("`{}` of server `{server}` is not what was shown last", seen.key),
                    hint: Some("look at it with `ringfence pins diff --server NAME`, or name its digest with --digest"),
                });
            }
            pins.accept_definition(server, &seen.key, &seen.definition).map_err(|error| refused(&error))?;
            file.forget(server, &seen.key);
        }
        Ok(chosen)
    })?;
    for seen in done {
        writeln!(out, "accepted {} of {server}: {}", one_line(&seen.key), seen.digest)?;
    }
    Ok(Exit::Done)
}

/// Withholds what was seen, or what was accepted before, for good.
pub(super) fn reject(
    book: &Book,
    server: &str,
    names: &[String],
    digest: Option<&str>,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let done = book.change(|pins, file| {
        let mut done = Vec::new();
        for name in names {
            let own = std::slice::from_ref(name);
            let (key, definition) = match chosen(file, server, own, digest).map(|mut found| found.pop()) {
                Ok(Some(seen)) => (seen.key, seen.definition),
                Ok(None) | Err(_) => {
                    let found = accepted(pins, server, name, digest);
                    found.ok_or_else(|| nothing(server, name))?
                }
            };
            pins.reject_definition(server, &key, &definition).map_err(|error| refused(&error))?;
            file.forget(server, &key);
            done.push((key, ringfence::json_digest(&definition).unwrap_or_default()));
        }
        Ok::<_, CommandError>(done)
    })?;
    for (key, digest) in done {
        writeln!(out, "rejected {} of {server}: {digest}", one_line(&key))?;
    }
    Ok(Exit::Done)
}

/// Returns the definitions that are meant; one alone where a digest is named.
fn chosen(
    file: &SeenFile,
    server: &str,
    names: &[String],
    digest: Option<&str>,
) -> Result<Vec<Seen>, CommandError> {
    let found: Vec<Seen> = match names {
        [] => file.of(server).cloned().collect(),
        names => names.iter().map(|name| find(file, server, name).cloned()).collect::<Result<_, _>>()?,
    };
    let Some(prefix) = digest else { return Ok(found) };
    let input = |message: String, hint| CommandError::Input { message, hint: Some(hint) };
    if prefix.len() < PREFIX || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let message = format!("`{prefix}` is not the beginning of a digest");
        return Err(input(
            message,
            "give 12 hexadecimal digits or more, as `ringfence pins list` shows them",
        ));
    }
    let prefix = prefix.to_ascii_lowercase();
    match <[Seen; 1]>::try_from(
        found.into_iter().filter(|seen| seen.digest.starts_with(&prefix)).collect::<Vec<_>>(),
    ) {
        Ok(one) => Ok(one.into()),
        Err(_) => Err(input(
            format!("no one definition of server `{server}` that waits has the digest `{prefix}`"),
            "it may have changed since: look again with `ringfence pins diff --server NAME`",
        )),
    }
}

fn find<'a>(file: &'a SeenFile, server: &str, name: &str) -> Result<&'a Seen, CommandError> {
    file.of(server).find(|seen| is_called(&seen.key, name)).ok_or_else(|| nothing(server, name))
}

fn accepted(pins: &Pins, server: &str, name: &str, digest: Option<&str>) -> Option<(String, Value)> {
    let fits = |own: &str| digest.is_none_or(|prefix| prefix.len() >= PREFIX && own.starts_with(prefix));
    let mut definitions = pins.server_definitions(server);
    let found = definitions.find(|(key, own, _)| is_called(key, name) && fits(own));
    found.map(|(key, _, definition)| (key.to_owned(), definition.clone()))
}

/// A bare name is a tool's.
fn is_called(key: &str, name: &str) -> bool {
    key == name || key.strip_prefix("tool:") == Some(name)
}

fn nothing(server: &str, name: &str) -> CommandError {
    CommandError::Input {
        message: format!("nothing named `{name}` of server `{server}` waits for a decision"),
        hint: Some("`ringfence pins list --server NAME` shows what is known of it"),
    }
}

fn refused(error: &ringfence::PinError) -> CommandError {
    CommandError::Input { message: error.to_string(), hint: None }
}

/// A definition with everything that is known of it.
fn whole(pins: &Pins, server: &str, seen: &Seen) -> Value {
    let (standing, changes) = match pins.server_status(server, &seen.key, &seen.definition) {
        PinStatus::Accepted => ("accepted", Vec::new()),
        PinStatus::Changed(changes) => ("changed", changes),
        PinStatus::New => ("new", Vec::new()),
        PinStatus::Rejected => ("rejected", Vec::new()),
    };
    json!({
        "server": server, "definition": seen.key, "standing": standing, "digest": seen.digest, "why": seen.why,
        "verdict": seen.verdict, "renamedFrom": seen.renamed_from, "changes": changes, "sent": seen.definition,
    })
}

/// Writes a definition for a person: all of it, or all that is different.
fn described(pins: &Pins, server: &str, seen: &Seen) -> String {
    let digest = if seen.digest.is_empty() { "no digest" } else { &seen.digest };
    let mut text = format!("{} of {server}: {}\n", one_line(&seen.key), one_line(&seen.why));
    text.push_str(&format!("  digest: {digest}\n  scan: {}\n", one_line(&seen.verdict)));
    if let Some(old) = &seen.renamed_from {
        text.push_str(&format!("  may be `{}` under another name\n", one_line(old)));
    }
    let before = seen.renamed_from.as_deref().unwrap_or(&seen.key);
    match (pins.server_status(server, &seen.key, &seen.definition), pins.accepted_definition(server, before))
    {
        (PinStatus::Changed(changes), _) => {
            changes.iter().for_each(|change| text.push_str(&compared(change)));
        }
        (PinStatus::New, Some(old)) => {
            let changes = ringfence::compare_definitions(old, &seen.definition);
            changes.iter().for_each(|change| text.push_str(&compared(change)));
        }
        (PinStatus::Accepted | PinStatus::New | PinStatus::Rejected, _) => {
            for line in json_lines(&seen.definition).lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    text
}

/// Old and new one below the other, whole: what is cut off could hide what matters.
fn compared(change: &Change) -> String {
    let place = if change.place.is_empty() { "/" } else { &change.place };
    let mut text = format!("  {}\n", one_line(place));
    if let Some(old) = &change.old {
        text.push_str(&format!("    - {}\n", json_line(old)));
    }
    if let Some(new) = &change.new {
        text.push_str(&format!("    + {}\n", json_line(new)));
    }
    text
}
