//! `ringfence init`

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;

use crate::error::{CommandError, Exit};
use crate::init::{Draft, Questions, Reach, SCHEMA, Wanted, command, configuration, package, split, write};
use crate::load::Place;

/// Write a first policy file, with every key explained
///
/// Asks on a terminal what to fence: a command, the MCP servers of a client, or a Rust crate of tools. The flags say it in advance; then
/// nothing is asked. What is written passes `ringfence check`. A file that is there already stays as it is. Beside the policy goes
/// `ringfence.schema.json`, from which editors complete.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence init
  ringfence init --command -- rg --line-number -- '{pattern}' '${workspace}'
  ringfence init --command-line \"curl -s 'https://api.github.com/zen'\" --host api.github.com
  ringfence init --mcp .cursor/mcp.json --policy fence.toml
  ringfence init --crate tools --print")]
pub(crate) struct InitArgs {
    /// Fence the command behind `--`, with `{name}` where an argument goes that each call brings
    #[arg(long, requires = "words", conflicts_with_all = ["mcp", "crate_dir", "command_line"])]
    command: bool,
    /// The same, with the command as one text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["mcp", "crate_dir", "words"])]
    command_line: Option<String>,
    /// Fence the MCP servers that this configuration of a client lists; it stays as it is
    #[arg(long, value_name = "FILE", conflicts_with_all = ["crate_dir", "words"])]
    mcp: Option<PathBuf>,
    /// Fence the tools of this Rust crate: what may they reach, and where the lint looks
    #[arg(long = "crate", value_name = "DIR", conflicts_with = "words")]
    crate_dir: Option<PathBuf>,
    /// Let the command read this path and everything below it; `${workspace}` where nothing is said
    #[arg(long, value_parser = NonEmptyStringValueParser::new(), value_name = "PATH", conflicts_with_all = ["mcp", "crate_dir"])]
    read: Vec<String>,
    /// Let the command write this path and everything below it
    #[arg(long, value_parser = NonEmptyStringValueParser::new(), value_name = "PATH", conflicts_with_all = ["mcp", "crate_dir"])]
    write: Vec<String>,
    /// Let the command reach this host: `api.github.com`, `*.github.com`
    #[arg(long, value_parser = NonEmptyStringValueParser::new(), value_name = "HOST", conflicts_with_all = ["mcp", "crate_dir"])]
    host: Vec<String>,
    /// Write over a policy file that is there, and keep what it said beside it
    #[arg(long)]
    force: bool,
    /// Write the policy to standard output, and no file
    #[arg(long, conflicts_with = "force")]
    print: bool,
    /// The command
    #[arg(last = true, value_name = "CMD")]
    words: Vec<String>,
}

pub(crate) fn run(args: &InitArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let wanted = match args.wanted()? {
        Some(wanted) => wanted,
        None => asked()?,
    };
    let place = place_of(&wanted, place);
    if place.is_json() {
        return Err(CommandError::Input {
            message: format!(
                "`{}` would be read as JSON, and what is written here is TOML",
                place.policy.display()
            ),
            hint: Some("give --policy a name that ends in `.toml`"),
        });
    }
    // Before anything is made: whoever has a file already is told at once.
    if !args.print && !args.force && place.policy.symlink_metadata().is_ok() {
        return Err(CommandError::Input {
            message: format!("`{}` is there already", place.policy.display()),
            hint: Some(
                "name another file with --policy FILE, look at a new one with --print, or write over it with --force, which keeps a backup",
            ),
        });
    }
    let draft = match &wanted {
        Wanted::Command { words, reach } => command::draft(words, reach, &place)?,
        Wanted::Configuration(file) => configuration::draft(file, &place)?,
        Wanted::Package(folder) => package::draft(folder, &place)?,
    };
    if let Some(problem) = place.read(&draft.text).problems.first() {
        return Err(CommandError::Input {
            message: format!("nothing was written, since `ringfence check` would say: {}", problem.message),
            hint: Some("correct the path, the host or the command; `ringfence init --help` has examples"),
        });
    }
    if args.print {
        write!(out, "{}", draft.text)?;
        let _told = writeln!(
            crate::print::errors(),
            "ringfence: the first line names a schema for editors, which `ringfence schema > {SCHEMA}` writes"
        );
        return Ok(Exit::Done);
    }
    for line in write::files(&place.policy, &draft)? {
        writeln!(out, "{line}")?;
    }
    told(&draft, out)
}

fn told(draft: &Draft, out: &mut dyn Write) -> Result<Exit, CommandError> {
    for note in &draft.notes {
        writeln!(out, "note: {}", crate::shown::one_line(note))?;
    }
    writeln!(out, "\nnext:")?;
    let width = draft.next.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    for (line, why) in &draft.next {
        writeln!(out, "  {line:<width$}  # {why}")?;
    }
    Ok(Exit::Done)
}

/// A crate has its policy beside its manifest, unless the command line names another place.
fn place_of(wanted: &Wanted, place: &Place) -> Place {
    let mut place = place.clone();
    if let Wanted::Package(folder) = wanted
        && !place.is_named
        && folder != std::path::Path::new(".")
    {
        place.policy = package::folder_of(folder).join(&place.policy);
    }
    place
}

/// Asks whoever sits at the terminal.
fn asked() -> Result<Wanted, CommandError> {
    let (stdin, mut screen) = (std::io::stdin(), crate::print::errors());
    if !stdin.is_terminal() || !crate::print::errors_are_terminal() {
        return Err(CommandError::Input {
            message: "nobody is at a terminal to be asked what to fence".to_owned(),
            hint: Some("say it with `--command -- CMD`, `--mcp FILE` or `--crate DIR`"),
        });
    }
    Questions::new(&mut stdin.lock(), &mut screen).wanted()
}

impl InitArgs {
    /// Returns what the flags say, where they say anything.
    fn wanted(&self) -> Result<Option<Wanted>, CommandError> {
        let reach = Reach::of(&self.read, &self.write, &self.host);
        Ok(match (&self.command_line, &self.mcp, &self.crate_dir) {
            (Some(line), _, _) => Some(Wanted::Command { words: split(line)?, reach }),
            (_, Some(file), _) => Some(Wanted::Configuration(file.clone())),
            (_, _, Some(folder)) => Some(Wanted::Package(folder.clone())),
            _ if self.words.is_empty() => None,
            _ => Some(Wanted::Command { words: self.words.clone(), reach }),
        })
    }
}
