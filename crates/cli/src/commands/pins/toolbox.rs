//! Pins of the toolbox's own tools.

use std::io::Write;

use ringfence::PinStatus;
use serde_json::json;

use crate::book::Book;
use crate::error::{CommandError, Exit};
use crate::load::Loaded;
use crate::shown::json_line;
use crate::table::table;

pub(super) fn accept(
    loaded: &Loaded,
    book: &Book,
    tools: &[String],
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let accepted = loaded.named(tools)?;
    book.change_pins(|pins| {
        let failed =
            |error: ringfence::PinError| CommandError::Input { message: error.to_string(), hint: None };
        accepted.iter().try_for_each(|declaration| pins.accept(declaration).map_err(failed))
    })?;
    for declaration in accepted {
        writeln!(out, "accepted {}", declaration.name)?;
    }
    Ok(Exit::Done)
}

pub(super) fn diff(
    loaded: &Loaded,
    book: &Book,
    tools: &[String],
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let pins = book.read_pins()?;
    let mut exit = Exit::Done;
    for (declaration, digest) in loaded.digests(tools)? {
        match pins.status(declaration, &digest) {
            PinStatus::Accepted => continue,
            status if json => {
                let changes =
                    if let PinStatus::Changed(changes) = &status { changes.as_slice() } else { &[] };
                let told =
                    json!({ "tool": declaration.name, "standing": standing(&status), "changes": changes });
                writeln!(out, "{}", json_line(&told))?;
            }
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

/// The word for where a tool stands.
const fn standing(status: &PinStatus) -> &'static str {
    match status {
        PinStatus::Accepted => "accepted",
        PinStatus::Changed(_) => "changed",
        PinStatus::New => "new",
        PinStatus::Rejected => "rejected",
    }
}

pub(super) fn list(
    loaded: &Loaded,
    book: &Book,
    json: bool,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let pins = book.read_pins()?;
    let mut rows = Vec::new();
    for (declaration, digest) in loaded.digests(&[])? {
        let standing = standing(&pins.status(declaration, &digest));
        rows.push([declaration.name.to_string(), standing.to_owned(), digest]);
    }
    let gone = pins.iter().filter(|(tool, _)| !loaded.declarations.iter().any(|own| own.name == **tool));
    rows.extend(gone.map(|(tool, digest)| [tool.to_string(), "gone".to_owned(), digest.to_owned()]));
    if json {
        for [tool, standing, digest] in &rows {
            let told = json!({ "tool": tool, "standing": standing, "digest": digest });
            writeln!(out, "{}", json_line(&told))?;
        }
        return Ok(Exit::Done);
    }
    write!(out, "{}", table(["TOOL", "STANDING", "DIGEST"], &rows))?;
    Ok(Exit::Done)
}
