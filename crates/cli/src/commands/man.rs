//! `ringfence man`

use std::io::Write;
use std::path::PathBuf;

use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::book::replace;
use crate::error::{CommandError, Exit};

/// Print the manual page of a command, or write the pages of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence man run | man --local-file -
  ringfence man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page for each command into this folder, which is made where it is not there
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
    /// The command, such as `audit verify`; ringfence itself where none is named
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &ManArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let mut root = crate::command();
    // Gives every command its whole name, and the flags that hold everywhere.
    root.build();
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(|error| CommandError::File {
            verb: "make",
            path: folder.clone(),
            error,
            hint: Some("name a folder that you may write to"),
        })?;
        let mut written = 0;
        for command in all(&root) {
            let path = folder.join(Man::new(command.clone()).get_filename());
            replace(&path, page(command)?)?;
            written += 1;
        }
        writeln!(out, "wrote {written} pages to {}", folder.display())?;
        return Ok(Exit::Done);
    }
    let mut command = &root;
    for word in &args.command {
        command = command.find_subcommand(word).ok_or_else(|| CommandError::Input {
            message: format!("there is no command `{}`", args.command.join(" ")),
            hint: Some("`ringfence --help` lists the commands"),
        })?;
    }
    out.write_all(&page(command)?)?;
    Ok(Exit::Done)
}

/// Returns a command and all those below it.
pub(crate) fn all(command: &clap::Command) -> Vec<&clap::Command> {
    let below = command.get_subcommands().filter(|one| !one.is_hide_set()).flat_map(all);
    std::iter::once(command).chain(below).collect()
}

/// Renders one page. The examples have a section of their own, line by line as they are written.
fn page(command: &clap::Command) -> Result<Vec<u8>, CommandError> {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let man = Man::new(command.clone().after_help(None).after_long_help(None))
        .source(format!("ringfence {version}"))
        .manual("ringfence");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in examples.lines().skip(1) {
        roff.text([roman(line.trim_start())]);
    }
    roff.control("fi", []);
    roff.to_writer(&mut page)?;
    Ok(page)
}
