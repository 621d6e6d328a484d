//! `ringfence install`

use std::io::Write;
use std::path::PathBuf;

use ringfence::policy::ServerName;
use ringfence::policy::explain::explain_line;
use ringfence::sandbox::SearchPath;
use serde_json::json;

use crate::error::{CommandError, Exit};
use crate::install::{Install, InstallError, Refresh, installed, own_install};
use crate::load::Place;
use crate::progress::Busy;

/// Install the package of an MCP server inside the fence, and say what would run
///
/// A command such as `npx -y PACKAGE`, `uvx PACKAGE` or `pipx run PACKAGE` is split: this step may reach the registry and write
/// to a folder of its own, runs no script of any package, and the server is started from there without the registry. `ringfence
/// wrap` does the same when it finds no install; what was installed is used until it is refreshed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence install -- uvx mcp-server-git
  ringfence install --refresh --json -- npx -y @modelcontextprotocol/server-memory")]
pub(crate) struct InstallArgs {
    /// Let the install reach the hosts that this server of the policy names in `registry`
    #[arg(long, value_name = "NAME")]
    name: Option<ServerName>,
    /// Look for a newer version of what is installed already
    #[arg(long)]
    refresh: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// The command that starts the server
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(crate) fn run(args: &InstallArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint };
    let registry = match &args.name {
        Some(name) => {
            let loaded = place.load()?.sound()?;
            let server = loaded.servers.into_iter().find(|server| server.name == *name);
            server
                .ok_or_else(|| {
                    let hint = "`--name` is the `name` of a `[[server]]` in the policy; leave it out for the usual registry";
                    input(format!("no server is named `{name}`"), Some(hint))
                })?
                .registry
        }
        None => None,
    };
    let install =
        Install::read(&args.command).map_err(|error| input(error.to_string(), Some(error.hint())))?;
    let Some(install) = install else { return plain(args, out) };
    let refresh = if args.refresh { Refresh::Anew } else { Refresh::Keep };
    let busy = Busy::with(format!("installing `{}`", install.package));
    let told = |line: &str| {
        // Whoever sees that it goes on need not be told.
        if !(busy.is_shown() && line.starts_with("still installing")) {
            busy.say(&format!("ringfence: {line}"));
        }
    };
    let done = installed(&install, registry.as_ref(), refresh, &told);
    drop(busy);
    let done = match done {
        Ok(done) => done,
        Err(InstallError::File(error)) => return Err(error),
        Err(error) => {
            let mut stderr = crate::print::errors();
            let _told = writeln!(stderr, "error: {}", crate::print::line(&error.to_string()));
            if let Some(hint) = error.hint() {
                let _told = writeln!(stderr, "  hint: {hint}");
            }
            if let Some(code) = error.code() {
                let _told = writeln!(stderr, "  {}", explain_line(code.as_str()));
            }
            return Ok(if matches!(error, InstallError::Refused { .. }) {
                Exit::Refused
            } else {
                Exit::Failed
            });
        }
    };
    let record = &done.record;
    if args.json {
        let shown = json!({
            "package": record.package, "version": record.version, "integrity": record.integrity, "registry": record.registry,
            "program": done.program, "arguments": done.arguments, "root": done.root, "beside": done.beside,
        });
        writeln!(out, "{shown}")?;
    } else {
        writeln!(out, "{} {} from {}", record.package, record.version, record.registry)?;
        writeln!(out, "integrity: {}", record.integrity)?;
        writeln!(out, "folder: {}", done.root.display())?;
        writeln!(out, "runs: {} {}", done.program.display(), done.arguments.join(" "))?;
    }
    Ok(Exit::Done)
}

/// A command that installs nothing: tells what of the machine is its own.
fn plain(args: &InstallArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| CommandError::Input { message: "no command is given".into(), hint: None })?;
    let search = SearchPath::default().and(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let found =
        search.find(program).or_else(|| program.contains('/').then(|| std::path::absolute(program).ok())?);
    let found: PathBuf = found.filter(|path| path.is_file()).ok_or_else(|| CommandError::Input {
        message: format!("no program is named `{program}`"),
        hint: Some("give the command that starts the server, such as `npx -y PACKAGE`, `uvx PACKAGE`, or a program of this machine"),
    })?;
    let own = own_install(&found, arguments);
    if args.json {
        writeln!(out, "{}", json!({ "program": found, "arguments": arguments, "own": own }))?;
        return Ok(Exit::Done);
    }
    writeln!(out, "`{program}` installs nothing; it runs {}", found.display())?;
    for path in own {
        writeln!(out, "its own: {}", path.display())?;
    }
    Ok(Exit::Done)
}
