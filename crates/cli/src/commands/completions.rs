//! `ringfence completions`

use std::io::Write;

use clap_complete::Shell;

use crate::error::{CommandError, Exit};

/// Print a script that lets a shell complete commands and flags
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence completions bash > ~/.local/share/bash-completion/completions/ringfence
  ringfence completions zsh > ~/.zfunc/_ringfence
  ringfence completions fish > ~/.config/fish/completions/ringfence.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    // Into memory: the generator panics where a pipe breaks.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "ringfence", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Done)
}
