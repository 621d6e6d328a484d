//! `ringfence import`

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::book::replace;
use crate::error::{CommandError, Exit};
use crate::import::{Imported, Surroundings, import};
use crate::load::{Place, listed, read_text};
use crate::shown::one_line;

/// Put the MCP servers of a client's configuration behind the fence
///
/// Reads `mcpServers` (Claude Desktop, Cursor) or `servers` (VS Code), writes a policy file (`--policy`) with one entry for each
/// server that the client starts itself, and rewrites the configuration so that each runs in `ringfence wrap`. The original
/// configuration is kept beside it as `FILE.bak-ringfence`. Servers that are reached over the network stay as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The configuration of the client
    file: PathBuf,
    /// Overwrite the policy file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &ImportArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint };
    let file =
        |verb, path: &Path, error| CommandError::File { verb, path: path.to_path_buf(), error, hint: None };
    let text = read_text(&args.file, None)?;
    // A link is followed: what it leads to is rewritten, and the link stays.
    let target = args.file.canonicalize().map_err(|error| file("read", &args.file, error))?;
    let policy = std::path::absolute(&place.policy).map_err(CommandError::Start)?;
    let program = std::env::current_exe().map_err(CommandError::Start)?;
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let exists = |path: &Path| path.exists();
    let around = Surroundings {
        ringfence: &program.to_string_lossy(),
        policy: &policy,
        home: home.as_deref(),
        exists: &exists,
    };
    let shown = args.file.display();
    let imported = import(&text, &around).map_err(|error| input(format!("`{shown}`: {error}"), None))?;
    if imported.wrapped == 0 {
        return told(&imported, out).map(|()| Exit::Done);
    }
    if policy.exists() {
        if imported.before.contains(&policy) {
            let message = format!("`{}` is the policy of servers that are wrapped already", policy.display());
            return Err(input(message, Some("name another file with --policy FILE")));
        }
        if !args.force {
            let message = format!("`{}` is there already", policy.display());
            return Err(input(
                message,
                Some("name another file with --policy FILE, or overwrite it with --force"),
            ));
        }
    }
    let problems = place.read(&imported.policy).problems;
    if !problems.is_empty() {
        let details = listed(&place.policy, &problems);
        return Err(CommandError::Toolbox { path: policy, count: problems.len(), details });
    }
    let backup = back_up(&target, &text)?;
    replace(&policy, &imported.policy)?;
    replace(&target, &imported.configuration)?;
    told(&imported, out)?;
    writeln!(out, "policy: {} (look at what is marked REVIEW)", policy.display())?;
    writeln!(out, "backup: {}", backup.display())?;
    Ok(Exit::Done)
}

fn told(imported: &Imported, out: &mut dyn Write) -> Result<(), CommandError> {
    for note in &imported.notes {
        writeln!(out, "{}", one_line(note))?;
    }
    Ok(())
}

/// Keeps the original beside the file, under a name that is not taken, for the same eyes only.
fn back_up(target: &Path, text: &str) -> Result<PathBuf, CommandError> {
    let failed = |path: &Path, error| CommandError::File {
        verb: "write",
        path: path.to_path_buf(),
        error,
        hint: None,
    };
    let mode = target.metadata().map_err(|error| failed(target, error))?.permissions().mode() & 0o777;
    for number in 1..1000 {
        let mut name = target.as_os_str().to_owned();
        name.push(".bak-ringfence");
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let path = PathBuf::from(name);
        let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        match opened.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all())) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, error)),
        }
    }
    Err(failed(target, std::io::Error::other("there are too many backups")))
}
