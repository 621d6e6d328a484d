//! `ringfence learn`

mod base;
mod beyond;
mod ceiling;
mod earlier;
mod fold;
mod learnt;
mod name;
mod private;
mod reached;
mod shown;
mod sorted;
mod trial;
mod written;

use std::ffi::OsString;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ringfence::Code;
use ringfence::policy::{HostName, HostPattern, ToolName};
use ringfence::sandbox::{Aliases, How, Kind as FileKind, SandboxError};
use serde_json::json;

use self::base::Programs;
use self::ceiling::Ground;
use self::earlier::Earlier;
use self::sorted::{Observation, Scene};
use self::trial::{Trial, Tried};
use self::written::{Kind, Page};
use super::refusal;
use crate::backup::back_up;
use crate::book::replace;
use crate::error::{CommandError, Exit};
use crate::load::{Place, is_json, listed, read_text};
use crate::network::pinned;
use crate::sandbox::{BackendChoice, choose};

/// Run a command and write the smallest toolbox that lets it run
///
/// The command runs in the sandbox and is watched by the kernel: what it reads, writes, lists, starts and asks the network for is
/// written down, and the toolbox grants that and no more. While it is learnt it may read the system, its workspace and your home but
/// for the always-deny floor and other people's homes; it writes to its workspace and a private `/tmp` only; it reaches no host that is
/// not named. What is sensitive is never granted: it stands in the file as a comment for you to look at.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LearnArgs {
    /// Write the toolbox to this new file instead of standard output; with --from, also over that file, which is kept as a backup and
    /// may hold only what `learn` writes
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Start from the toolbox of an earlier round: what it grants is kept, and what this run needs is added
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// What the tool is called; after its program by default
    #[arg(long, value_name = "NAME")]
    name: Option<ToolName>,
    /// Write an MCP server, for `wrap` and `gateway`, instead of a tool
    #[arg(long)]
    server: bool,
    /// Let it write here, instead of in the workspace
    #[arg(long, value_name = "DIR")]
    write: Vec<PathBuf>,
    /// Let it read this too while it is learnt
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// Let it connect to this host while it is learnt; what it reaches is granted
    #[arg(long, value_name = "PATTERN")]
    host: Vec<HostPattern>,
    /// Let granted hosts lie on this private name, address or range
    #[arg(long, value_name = "NAME|ADDRESS|RANGE")]
    private: Vec<String>,
    /// Take this address for the name instead of looking it up
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = pinned)]
    resolve: Vec<(HostName, IpAddr)>,
    /// Give it this variable, with its value here or the one given; the toolbox grants the name
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Limit what it may spend, as `ringfence run` does
    #[arg(long, value_name = "NAME=VALUE")]
    limit: Vec<String>,
    /// Print one JSON object with everything that was observed and the toolbox
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  ringfence learn --out git.toml -- git log                    # then `ringfence --policy git.toml call git`
  ringfence learn --from git.toml --out git.toml -- git gc     # widen it by another run
  ringfence learn --host api.github.com -- curl -s https://api.github.com/zen
  ringfence learn --server --out time.toml -- python3 server.py < requests.jsonl";

pub(crate) fn run(args: &LearnArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint };
    let command: Vec<String> = args
        .command
        .iter()
        .map(|word| word.to_str().map(str::to_owned))
        .collect::<Option<_>>()
        .ok_or_else(|| input("an argument is not UTF-8, and a toolbox cannot write it".into(), None))?;
    let program = args.command.first().ok_or_else(|| input("no command is given".into(), None))?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => name::tool_name(program).ok_or_else(|| {
            input("the program has no name for a tool".into(), Some("give one with --name"))
        })?,
    };
    let entry = if args.server { Kind::Server } else { Kind::Tool };
    let target = Target::of(args)?;
    let mut earlier = match &args.from {
        Some(file) => Earlier::read(file, place, name.as_str(), entry)?,
        None => Earlier::default(),
    };
    if !args.limit.is_empty() {
        // They are given anew.
        earlier.beyond.retain(|key| key != "`tool.limits`");
    }
    target.keeps(&earlier)?;
    let ground = ground(args, place)?;
    let limits = super::run::limits(&args.limit)?;
    // Only this one tells what is named.
    let sandbox = match choose(BackendChoice::Native, "") {
        Ok(sandbox) => sandbox,
        Err(error) => return refused(&error, out, args.json),
    };
    // Before it runs: a link that it makes is moved aside.
    let around = ground.home.iter().chain([&ground.workspace]).chain(&ground.written).chain(&ground.read);
    let aliases = match Aliases::within(around.map(PathBuf::as_path)) {
        Ok(aliases) => aliases,
        Err(error) => return refused(&error, out, args.json),
    };
    let trial = Trial { args, ground: &ground, earlier: &earlier, limits, sandbox: &sandbox };
    let tried = match trial.run(out) {
        Ok(tried) => tried,
        Err(trial::Failure::Refused(error)) => return refused(&error, out, args.json),
        Err(trial::Failure::Own(error)) => return Err(error),
    };

    let programs = match fewest(&sandbox, &tried, &ground) {
        Ok(programs) => programs,
        Err(error) => return refused(&error, out, args.json),
    };
    let scene = Scene {
        ground: &ground,
        base: &programs.base,
        named: &earlier.named,
        hidden: tried.hidden(),
        aliases: &aliases,
    };
    let observations = scene.sort(tried.record.paths.clone());
    let sought = reached::sought(&tried.evidence, &tried.record.addresses);
    let mut learnt = earlier.learnt;
    learnt.private.extend(args.private.iter().filter(|_| !args.host.is_empty()).cloned());
    learnt.private.sort();
    learnt.private.dedup();
    learnt.environment.extend(args.env.iter().map(|one| one.split('=').next().unwrap_or(one).to_owned()));
    learnt.environment.sort();
    learnt.environment.dedup();
    let arguments = command.get(1..).filter(|_| !args.server).unwrap_or_default();
    learnt.add(&observations, &programs, &ground, arguments, &earlier.named, &aliases);
    learnt.add_hosts(&sought);
    let notes = tried.notes();
    let mut page = Page {
        name: &name,
        command: &command,
        program: &tried.program,
        learnt: &learnt,
        ground: &ground,
        limits: &limits,
        entry,
        notes,
    };
    let differs = changed(args.from.as_deref(), &earlier.command, &earlier.beyond, &page);
    page.notes.extend(differs);
    finish(args, &page, &observations, &sought, &tried, out)
}

/// Says where the command works.
fn ground(args: &LearnArgs, place: &Place) -> Result<Ground, CommandError> {
    let gone = || CommandError::Input { message: "the current directory is gone".into(), hint: None };
    let real = |path: &Path| {
        let failed = |error| CommandError::File { verb: "use", path: path.to_path_buf(), error, hint: None };
        std::fs::canonicalize(path).map_err(failed)
    };
    let variables = place.variables();
    let workspace = real(&variables.workspace.ok_or_else(gone)?)?;
    let home = variables.home.and_then(|home| std::fs::canonicalize(home).ok());
    let all = |paths: &[PathBuf]| paths.iter().map(|path| real(path)).collect::<Result<Vec<_>, _>>();
    let written = if args.write.is_empty() { vec![workspace.clone()] } else { all(&args.write)? };
    let holds_home = |folder: &PathBuf| home.as_ref().is_some_and(|home| home.starts_with(folder));
    if let Some(folder) = written.iter().find(|folder| holds_home(folder)) {
        return Err(CommandError::Input {
            message: format!("`{}` holds your home, and the command could write there", folder.display()),
            hint: Some("go to a folder of its own, or name one with --write DIR or --workspace DIR"),
        });
    }
    Ok(Ground { workspace, home, written, read: all(&args.read)?, agreed: all(&args.write)? })
}

/// Finds the fewest programs that let everything start that was started.
fn fewest(
    sandbox: &ringfence::sandbox::Sandbox,
    tried: &Tried,
    ground: &Ground,
) -> Result<Programs, SandboxError> {
    let is_file = |there: Option<FileKind>| there == Some(FileKind::File);
    let started = tried.record.paths.iter().filter(|one| one.how == How::Execute && is_file(one.there));
    // What lies in the scratch folder is gone by the next run.
    let lasts = |path: &Path| {
        !path.starts_with("/tmp") || ground.may_write(path) || path.starts_with(&ground.workspace)
    };
    let started = started.filter(|one| lasts(&one.path) && !one.path.starts_with("/proc"));
    let pairs = started.map(|one| (one.path.clone(), one.real.clone().unwrap_or_else(|| one.path.clone())));
    Programs::fewest(sandbox, &tried.program, pairs)
}

/// Where the toolbox goes.
enum Target<'a> {
    /// To standard output, or to a file that is not there.
    New,
    /// Over the file of the round before.
    Over(&'a Path),
}

impl<'a> Target<'a> {
    fn of(args: &'a LearnArgs) -> Result<Self, CommandError> {
        let Some(file) = args.out.as_ref().filter(|file| file.symlink_metadata().is_ok()) else {
            return Ok(Self::New);
        };
        let same = args.from.as_ref().is_some_and(|from| {
            let real = |path: &Path| std::fs::canonicalize(path).ok();
            real(from).is_some() && real(from) == real(file)
        });
        if same && is_json(file) {
            return Err(CommandError::Input {
                message: format!("`{}` is JSON, and `learn` writes TOML", file.display()),
                hint: Some("name another file with --out FILE"),
            });
        }
        if same {
            return Ok(Self::Over(file));
        }
        Err(CommandError::Input {
            message: format!("`{}` is there already", file.display()),
            hint: Some("name another file, or widen this one with --from FILE --out FILE"),
        })
    }

    /// Refuses to lose what somebody wrote: a toolbox without its approvals or its other tools would permit more, or other things.
    fn keeps(&self, earlier: &Earlier) -> Result<(), CommandError> {
        match self {
            Self::Over(file) if !earlier.beyond.is_empty() => Err(CommandError::Input {
                message: format!(
                    "`{}` holds what `learn` does not write and would lose: {}",
                    file.display(),
                    earlier.beyond.join(", ")
                ),
                hint: Some("write to another file with --out FILE, and merge the two by hand"),
            }),
            Self::New | Self::Over(_) => Ok(()),
        }
    }
}

/// Returns what this round says otherwise than the file that it started from.
fn changed(from: Option<&Path>, command: &[String], beyond: &[String], page: &Page<'_>) -> Vec<String> {
    let Some(from) = from else { return Vec::new() };
    let mut notes = Vec::new();
    if !beyond.is_empty() {
        notes.push(format!("Not taken over from `{}`: {}.", from.display(), beyond.join(", ")));
    }
    let (now, _) = page.words();
    if !command.is_empty() && command != now {
        let line = |words: &[String]| {
            words.iter().map(|word| crate::shown::shell_word(word)).collect::<Vec<_>>().join(" ")
        };
        notes.push(format!(
            "The command was `{}` in `{}`; it is now that of this run, `{}`.",
            line(command),
            from.display(),
            line(&now)
        ));
    }
    notes
}

fn finish(
    args: &LearnArgs,
    page: &Page<'_>,
    observations: &[Observation],
    sought: &[reached::Sought],
    tried: &Tried,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let text = page.toolbox();
    let backup = match &args.out {
        Some(file) => write(file, &text)?,
        None => None,
    };
    let line = page.run_line();
    if args.json {
        let told = json!({
            "command": page.command,
            "workspace": page.ground.workspace,
            "exitCode": tried.code,
            "observed": shown::json(observations, sought),
            "review": page.learnt.review.iter().map(|one| json!({ "verb": one.verb, "what": one.what, "why": one.why })).collect::<Vec<_>>(),
            "notes": page.notes,
            "calls": tried.record.calls,
            "toolbox": text,
            "backup": backup,
            "run": line,
        });
        writeln!(out, "{told}")?;
    } else {
        if args.out.is_none() {
            write!(out, "{text}")?;
        }
        let mut stderr = crate::print::errors();
        let _told = write!(stderr, "{}", shown::lines(observations, sought, page.ground.home.as_deref()));
        for note in &page.notes {
            let _told = writeln!(stderr, "ringfence: {}", crate::shown::one_line(note));
        }
        if let (Some(file), Some(backup)) = (&args.out, &backup) {
            let (file, backup) = (file.display().to_string(), backup.display().to_string());
            let (file, backup) = (crate::shown::one_line(&file), crate::shown::one_line(&backup));
            let _told = writeln!(stderr, "wrote {file}; what it said before is in {backup}");
        }
        let _told = writeln!(stderr, "the same as flags: {}", crate::shown::one_line(&line));
    }
    // Whoever reads it next is as strict: what it would say is said now.
    let policy = args.out.clone().unwrap_or_else(|| PathBuf::from("learnt.toml"));
    let again = Place { policy, is_named: true, workspace: Some(page.ground.workspace.clone()) };
    let problems = again.read(&text).problems;
    if !problems.is_empty() {
        let _told = write!(crate::print::errors(), "{}", listed(&again.policy, &problems));
        return Ok(Exit::Findings);
    }
    Ok(if tried.code == 0 { Exit::Done } else { Exit::Failed })
}

/// Writes the toolbox. What the file said before is kept, and where is returned.
fn write(file: &Path, text: &str) -> Result<Option<PathBuf>, CommandError> {
    let backup = match file.symlink_metadata() {
        Ok(_) => Some(back_up(file, &read_text(file, Some("name another file with --out FILE"))?)?),
        Err(_) => None,
    };
    replace(file, text)?;
    Ok(backup)
}

fn refused(error: &SandboxError, out: &mut dyn Write, json: bool) -> Result<Exit, CommandError> {
    let advice = match error.code() {
        // While it is learnt it may start whatever it can read.
        Code::BinaryNotAllowed | Code::BinaryNotFound => Some("install it, or write its whole path"),
        code => refusal::advice(code),
    };
    let hint = error.hint().or(advice);
    if json {
        writeln!(out, "{}", refusal::json(error, hint))?;
    } else {
        let _told = write!(crate::print::errors(), "{}", refusal::lines(error, hint));
    }
    Ok(Exit::Refused)
}
