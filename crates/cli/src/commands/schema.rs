//! `ringfence schema`

use std::io::Write;

use crate::error::{CommandError, Exit};
use crate::init::write::schema_text;

/// Print the JSON Schema of the policy file, from which editors complete
///
/// With the first line `#:schema ./ringfence.schema.json` in the policy, editors that use taplo (Even Better TOML in VS Code, many
/// others) complete keys, show what they mean, and underline what cannot be. `ringfence check` finds more.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence schema > ringfence.schema.json")]
pub(crate) struct SchemaArgs {}

pub(crate) fn run(_args: &SchemaArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    write!(out, "{}", schema_text())?;
    Ok(Exit::Done)
}
