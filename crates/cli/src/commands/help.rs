//! `ringfence help`

use std::io::Write;

use crate::error::{CommandError, Exit};

/// Print the help of a command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence help
  ringfence help run
  ringfence help audit verify")]
pub(crate) struct HelpArgs {
    /// The command, such as `audit verify`; ringfence itself where none is named
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &HelpArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let mut root = crate::command();
    root.build();
    let mut command = &mut root;
    for word in &args.command {
        command = command.find_subcommand_mut(word).ok_or_else(|| CommandError::Input {
            message: format!("there is no command `{}`", args.command.join(" ")),
            hint: Some("`ringfence help` lists the commands"),
        })?;
    }
    writeln!(out, "{}", command.render_long_help().to_string().trim_end())?;
    Ok(Exit::Done)
}
