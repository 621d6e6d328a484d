//! Telling what a code means.

use std::io::Write;

use ringfence::policy::explain::{Explained, Family};

use super::told::wrapped;
use crate::error::CommandError;

/// Tells what a code means, as text or as one JSON object.
pub(super) fn tell(code: &Explained, json: bool, out: &mut dyn Write) -> Result<(), CommandError> {
    if json {
        serde_json::to_writer(&mut *out, code).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    writeln!(out, "{}: {}", code.code, code.meaning)?;
    let parts = [
        ("which rule decides", code.decided),
        ("what to do", code.change),
        ("what that would also allow", code.also),
    ];
    for (title, text) in parts {
        writeln!(out, "\n{title}\n{}", wrapped(text))?;
    }
    if code.family == Family::Call {
        writeln!(
            out,
            "\nWith a record of the call, the same command names the line: `ringfence explain last --store STORE`."
        )?;
    }
    Ok(())
}
