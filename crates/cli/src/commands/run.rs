//! `ringfence run`

pub(super) mod limit;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{IsTerminal, PipeReader, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use ringfence::Code;
use ringfence::egress::Tally;
use ringfence::policy::explain::{explain_command, explain_line};
use ringfence::policy::{Image, Limits, NetworkGrant, resolve_capabilities};
use ringfence::sandbox::{
    Access, Ending, Plan, RawTerminal, Report, Sandbox, SandboxError, SearchPath, Spec, Stream, Streams,
};
use serde_json::json;

use crate::error::{CommandError, Exit};
use crate::interrupt::Interrupt;
use crate::load::Place;
use crate::network::{CommandNetwork, Connections, NetworkArgs, Told};
use crate::runtimes;
use crate::sandbox::{BackendChoice, choose};
use crate::secrets;

/// Run a command confined by the kernel to what is named here
///
/// Nothing is granted that is not named: no files, no network, no environment, no other programs. The command itself may
/// always be started. Its exit code is passed through, 128 and the signal's number when a signal ended it, 124 when its
/// time was up; 3 when it was refused before it started.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence run --read src --write out -- python3 build.py
  ringfence run --host api.github.com -- curl https://api.github.com/zen
  ringfence run --limit memory=256M --limit wall=10s --json -- make test
  ringfence run --read src --print-plan -- ls src")]
pub(crate) struct RunArgs {
    /// Grant what this tool of the toolbox is granted
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Let it read this path and everything below it
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// Let it read and write this path and everything below it
    #[arg(long, value_name = "PATH")]
    write: Vec<PathBuf>,
    /// Let it start this program too; or every program in a folder; or `*`, whatever it can reach
    #[arg(long, value_name = "BIN|DIR")]
    exec: Vec<String>,
    /// Give it this variable, with its value here or the one given
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Give it this secret in this variable
    #[arg(long, value_name = "REF=NAME")]
    secret: Vec<String>,
    #[command(flatten)]
    network: NetworkArgs,
    /// Start it in this folder, which must be granted, or hold something that is; where it is left out, in the current folder if
    /// that is so there, and otherwise in `/tmp`, which is empty inside
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Limit what it may spend: wall, cpu, memory, processes, file-size, open-files, output, scratch; with hosts:
    /// connections, sent, received, idle, connection-time, requests-per-minute, names-per-minute
    #[arg(long, value_name = "NAME=VALUE")]
    limit: Vec<String>,
    /// What confines it
    #[arg(long, value_enum, default_value = "auto")]
    backend: BackendChoice,
    /// Run a program of this image, `name@sha256:…`, in a container engine: what the engine enforces is its claim
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["backend", "exec"])]
    image: Option<Image>,
    /// Where the container engine is asked, such as `unix:///run/podman/podman.sock`
    #[arg(long, value_name = "ADDRESS", requires = "image")]
    engine: Option<String>,
    /// Print one JSON object with the output and how it ended, instead of passing the output on
    #[arg(long)]
    json: bool,
    /// Print what would be done, and run nothing
    #[arg(long)]
    print_plan: bool,
    /// Say in the JSON which system calls were refused; each refusal takes longer
    #[arg(long, requires = "json")]
    observe: bool,
    /// Let it open Unix sockets, which reach only what a granted path holds
    #[arg(long)]
    unix_sockets: bool,
    /// Give it a terminal of its own, for commands that talk to a person
    #[arg(long, conflicts_with = "json")]
    tty: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// How `run` ends: with the code of the child.
pub(crate) enum Ran {
    Child(u8),
    Own(Exit),
}

pub(crate) fn run(args: &RunArgs, place: &Place, out: &mut dyn Write) -> Result<Ran, CommandError> {
    let (spec, grant) = specify(args, place)?;
    // Drives what is said to a container engine.
    let runtime = match &args.image {
        Some(_) => Some(engine_runtime().map_err(CommandError::Start)?),
        None => None,
    };
    let chosen = match &runtime {
        Some(runtime) => Ok(runtimes::sandbox(args.engine.as_deref(), runtime.handle().clone())?),
        None => choose(args.backend, ""),
    };
    let sandbox = match chosen {
        Ok(sandbox) => sandbox,
        Err(error) => return refuse(args, &error, out),
    };
    let plan = match sandbox.plan(&spec) {
        Ok(plan) => plan,
        Err(error) => return refuse(args, &error, out),
    };
    if args.print_plan {
        print(&plan, &sandbox, out)?;
        return Ok(Ran::Own(Exit::Done));
    }
    if let Some(runtime) = &runtime {
        runtimes::sweep(args.engine.as_deref(), runtime.handle());
    }
    // Without a folder to write to and a container to remove there is nothing to look after, and a signal may end us at once.
    let (interrupt, leash) = if plan.guarded.is_empty() && plan.image.is_none() {
        (None, None)
    } else {
        let (interrupt, leash) = Interrupt::new().map_err(CommandError::Start)?;
        (Some(interrupt), Some(leash))
    };
    let network = if grant.is_empty() {
        None
    } else {
        let told = if args.json { Told::Nobody } else { Told::ErrorStream };
        Some(CommandNetwork::new(&args.network, grant, plan.limits, told).map_err(CommandError::Start)?)
    };
    let started = start(args, &sandbox, &plan, leash, network.as_ref(), out);
    let network = network.map(CommandNetwork::close);
    match started {
        Err(error) => refuse(args, &error, out),
        Ok(report) => {
            for one in report.quarantined.iter().filter(|_| !args.json) {
                let _told = writeln!(
                    std::io::stderr().lock(),
                    "ringfence: the command made `{}`, which is protected; it was moved to `{}`",
                    shown_path(&one.found),
                    shown_path(&one.moved)
                );
            }
            for (path, why) in report.left.iter().filter(|_| !args.json) {
                let _told = writeln!(
                    std::io::stderr().lock(),
                    "ringfence: `{}` is protected and could not be moved aside, look at it: {why}",
                    shown_path(path)
                );
            }
            if args.json {
                serde_json::to_writer(&mut *out, &shown(&report, network.as_ref()))
                    .map_err(std::io::Error::from)?;
                writeln!(out)?;
            } else {
                for sentence in limit::sentences(&report, &plan.limits) {
                    let _told = writeln!(std::io::stderr().lock(), "ringfence: {sentence}");
                }
            }
            let code = interrupt
                .and_then(|interrupt| interrupt.received())
                .map_or(report.ending.code(), |signal| 128 + signal);
            Ok(Ran::Child(u8::try_from(code).unwrap_or(u8::MAX)))
        }
    }
}

fn start(
    args: &RunArgs,
    sandbox: &Sandbox,
    plan: &Plan,
    leash: Option<PipeReader>,
    network: Option<&CommandNetwork>,
    out: &mut dyn Write,
) -> Result<Report, SandboxError> {
    let stdin = std::io::stdin();
    let mut streams = Streams::default();
    if let Some(leash) = leash {
        streams = streams.leash(leash.into());
    }
    if let Some(network) = network {
        streams = streams.gate(|made| network.open(made));
    }
    // Our terminal would let the command type into it; a command that needs one gets its own.
    if (args.tty || !stdin.is_terminal())
        && let Ok(descriptor) = stdin.as_fd().try_clone_to_owned()
    {
        streams = streams.input_from(descriptor);
    }
    if args.json {
        return sandbox.run_plan(plan, streams);
    }
    let _flushed = out.flush();
    let _raw = if args.tty { RawTerminal::new(&stdin) } else { None };
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    sandbox.run_plan(
        plan,
        streams.observe(move |stream, bytes| {
            let written = match stream {
                Stream::Error => stderr.write_all(bytes),
                Stream::Output => stdout.write_all(bytes).and_then(|()| stdout.flush()),
            };
            // Whoever reads our output has had enough.
            if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }),
    )
}

fn specify(args: &RunArgs, place: &Place) -> Result<(Spec, NetworkGrant), CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint };
    let (program, arguments) =
        args.command.split_first().ok_or_else(|| input("no command is given".into(), None))?;
    let search = SearchPath::default().and(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let find =
        |name: &str| search.find(name).or_else(|| absolute(Path::new(name)).filter(|_| name.contains('/')));
    // A name that nothing is found for is refused with the plan, as a path that is not a program is.
    let here = program.to_str().filter(|_| args.image.is_none()).and_then(&find);
    let mut spec = Spec::new(here.unwrap_or_else(|| PathBuf::from(program)))
        .called(program)
        .arguments(arguments.iter().cloned())
        .limits(limits(&args.limit)?);
    if let Some(image) = &args.image {
        spec = spec.in_image(image.as_str());
    }
    let mut tool_hosts = None;
    if let Some(tool) = &args.tool {
        let loaded = place.load()?.sound()?;
        let names = [tool.clone()];
        let declarations = loaded.named(&names)?;
        for declaration in declarations {
            let declared = declaration.capabilities.clone().unwrap_or_default();
            let grant = resolve_capabilities(&declared, &loaded.personality)
                .map_err(|refusal| input(refusal.to_string(), None))?;
            let limits = limits(&args.limit)?.meet(&declaration.limits).meet(&loaded.personality.limits);
            spec = spec
                .limits(limits)
                .grant(&grant, find)
                .map_err(|error| input(error.to_string(), error.hint()))?;
            tool_hosts = grant.network;
        }
    }
    let network = args.network.grant(tool_hosts.as_ref())?;
    spec = spec.network(&network);
    for (paths, access) in [(&args.read, Access::READ), (&args.write, Access::WRITE)] {
        for path in paths {
            let path = absolute(path).ok_or_else(|| {
                input("the current directory is gone".into(), Some("go to a folder that is there"))
            })?;
            spec = spec.tree(path, access);
        }
    }
    for name in &args.exec {
        let path = find(name);
        spec = match path {
            _ if name == "*" => spec.any_binary(),
            Some(path) if path.is_dir() => spec.tree(path, Access::EXECUTE),
            Some(path) => spec.binary(path),
            None => {
                return Err(input(
                    format!("no program is named `{name}`"),
                    Some("`--exec` takes a program, a folder or `*`"),
                ));
            }
        };
    }
    for variable in &args.env {
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (variable.as_str(), std::env::var_os(variable)),
        };
        if name.is_empty() {
            return Err(input(
                format!("`{variable}` is not NAME or NAME=VALUE"),
                Some("write it as `--env LANG`, with the value it has here, or `--env LANG=C`"),
            ));
        }
        // A variable that is not set here is not set there.
        if let Some(value) = value {
            spec = spec.variable(name, value);
        }
    }
    for (name, secret) in secrets::given(&args.secret)? {
        spec = spec.variable(name, secret.expose());
    }
    match &args.cwd {
        Some(directory) => {
            let directory = absolute(directory).ok_or_else(|| {
                input("the current directory is gone".into(), Some("go to a folder that is there"))
            })?;
            spec = spec.directory(directory);
        }
        // Where we are, if that or something below it is granted; the scratch folder otherwise.
        None => {
            if let Ok(here) = std::env::current_dir() {
                spec = spec.directory_if_possible(here);
            }
        }
    }
    if args.observe {
        spec = spec.observe();
    }
    if args.unix_sockets {
        spec = spec.unix_sockets();
    }
    if args.tty {
        spec = spec.terminal();
    }
    Ok((spec, network))
}

fn engine_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

fn absolute(path: &Path) -> Option<PathBuf> {
    let joined = std::env::current_dir().ok()?.join(path);
    ringfence::policy::normalise(&joined).ok()
}

/// The limits by name, and whether each is a plain number.
const LIMITS: &[(&str, bool)] = &[
    ("wall", false),
    ("cpu", false),
    ("memory", false),
    ("processes", true),
    ("file-size", false),
    ("open-files", true),
    ("output", false),
    ("scratch", false),
    ("connections", true),
    ("sent", false),
    ("received", false),
    ("idle", false),
    ("connection-time", false),
    ("requests-per-minute", true),
    ("names-per-minute", true),
];

/// Reads `wall=8s` and the like with the same words as a policy file.
pub(super) fn limits(written: &[String]) -> Result<Limits, CommandError> {
    let input = |message, hint| CommandError::Input { message, hint: Some(hint) };
    let mut table = serde_json::Map::new();
    for one in written {
        let form = "write it as `wall=8s` or `memory=256M`";
        let (name, value) =
            one.split_once('=').ok_or_else(|| input(format!("`{one}` is not NAME=VALUE"), form))?;
        let known = LIMITS.iter().find(|(known, _)| *known == name);
        let (_, is_number) = known.ok_or_else(|| {
            input(format!("there is no limit `{name}`"), "`ringfence run --help` lists the limits")
        })?;
        let value = match value.parse::<u64>() {
            Ok(number) if *is_number => json!(number),
            _ => json!(value),
        };
        table.insert(name.to_owned(), value);
    }
    serde_json::from_value(serde_json::Value::Object(table)).map_err(|error| {
        input(
            format!("a limit is wrong: {error}"),
            "durations are `500ms`, `8s`, `2m`; sizes `512K`, `64M`, `1G`",
        )
    })
}

/// A path whose name a command chose: without what a terminal would obey.
fn shown_path(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

/// What to do about a refusal that does not say so itself.
const fn advice(code: Code) -> Option<&'static str> {
    match code {
        Code::BinaryNotAllowed => Some(
            "install it or write its whole path; what the command itself starts is named with `--exec BIN`",
        ),
        Code::PathNotReachable => Some(
            "only what is there can be granted, and only what is granted can be used: `--read PATH`, `--write PATH`",
        ),
        Code::NotAvailable => Some("`ringfence doctor` shows what can be enforced here"),
        _ => None,
    }
}

fn refuse(args: &RunArgs, error: &SandboxError, out: &mut dyn Write) -> Result<Ran, CommandError> {
    let hint = error.hint().or_else(|| advice(error.code()));
    if args.json {
        let told = json!({ "refused": true, "code": error.code(), "error": error.to_string(), "hint": hint, "explain": explain_command(error.code().as_str()) });
        writeln!(out, "{told}")?;
    } else {
        let mut stderr = std::io::stderr().lock();
        let _told = writeln!(stderr, "refused: {}: {error}", error.code());
        if let Some(hint) = hint {
            let _told = writeln!(stderr, "  hint: {hint}");
        }
        let _told = writeln!(stderr, "  {}", explain_line(error.code().as_str()));
    }
    Ok(Ran::Own(Exit::Refused))
}

fn print(plan: &Plan, sandbox: &Sandbox, out: &mut dyn Write) -> Result<(), CommandError> {
    let mut value = serde_json::to_value(plan).map_err(std::io::Error::from)?;
    if let Some(object) = value.as_object_mut() {
        object.insert("backend".into(), json!(sandbox.backend().name()));
        object.insert("tier".into(), json!(sandbox.backend().tier()));
    }
    serde_json::to_writer_pretty(&mut *out, &value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn shown(report: &Report, network: Option<&(Connections, Tally)>) -> serde_json::Value {
    let (exit_code, signal) = match report.ending {
        Ending::Exited(code) => (code, None),
        Ending::Signalled(signal) => (128 + signal, Some(signal)),
        Ending::TimedOut => (124, Some(9)),
    };
    let limits: BTreeMap<String, _> = report.limits.iter().map(|(name, by)| (name.to_string(), by)).collect();
    let mut shown = json!({
        "exitCode": exit_code,
        "signal": signal,
        "timedOut": report.ending == Ending::TimedOut,
        "stdout": String::from_utf8_lossy(&report.stdout.bytes),
        "stderr": String::from_utf8_lossy(&report.stderr.bytes),
        "droppedStdout": report.stdout.dropped,
        "droppedStderr": report.stderr.dropped,
        "usage": report.usage,
        "backend": report.backend,
        "tier": report.tier,
        "assurance": report.assurance,
        "limits": limits,
        "exceeded": report.exceeded,
        "denied": report.denied,
        "quarantined": report.quarantined,
        "left": report.left,
    });
    if let (Some((connections, tally)), Some(shown)) = (network, shown.as_object_mut()) {
        shown.insert("connections".into(), json!(connections.listed));
        if connections.left_out > 0 {
            shown.insert("connectionsLeftOut".into(), json!(connections.left_out));
        }
        shown.insert("network".into(), json!(tally));
    }
    shown
}
