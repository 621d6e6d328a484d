//! `ringfence run`

pub(super) mod limit;
mod named;
mod obstacle;
mod pass;
mod show;
mod spec;
mod variables;

use std::ffi::OsString;
use std::io::{IsTerminal, PipeReader, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use ringfence::policy::{Image, Limits};
use ringfence::sandbox::{Ending, LimitName, Plan, RawTerminal, Report, Sandbox, SandboxError, Streams};

pub(super) use self::limit::limits;

use self::pass::{OutputPasser, Passed};
use self::show::{print, refuse, shared_files, shown, shown_path};
use self::spec::{Request, specify};
use crate::error::{CommandError, Exit};
use crate::interrupt::Interrupt;
use crate::load::Place;
use crate::network::{CommandNetwork, NetworkArgs, Told};
use crate::runtimes;
use crate::sandbox::{BackendChoice, choose};

/// Run a command confined by the kernel to what is named here
///
/// Nothing is granted that is not named: no files, no network, no environment, no other programs. The command itself may
/// always be started. Its exit code is passed through, 128 and the signal's number when a signal ended it, 124 when its
/// time was up; 3 when it was refused before it started; 4 when it ended with 0 and the `output` limit cut what it wrote.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence run --read src --write out -- python3 build.py
  ringfence run --host api.github.com -- curl https://api.github.com/zen
  ringfence run --limit memory=256M --limit wall=10s --json -- make test
  ringfence run --read src --print-plan -- ls src
  ringfence run @build -- make")]
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
    /// Say which program was found, what confines it, and all that was in its way
    #[arg(long, short)]
    verbose: bool,
    /// Give it this folder as its home, which stays; it is made where it is not there
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// The command and its arguments, after `@NAME` where the entry `[run.NAME]` of the policy file is to be used
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// The limits of the entry of the policy file that is used.
    #[arg(skip)]
    entry_limits: Limits,
}

/// How `run` ends: with the code of the child.
pub(crate) enum Ran {
    Child(u8),
    Own(Exit),
}

pub(crate) fn run(args: &RunArgs, place: &Place, out: &mut dyn Write) -> Result<Ran, CommandError> {
    let entry = named::with_entry(args, place)?;
    let args = entry.as_ref().unwrap_or(args);
    let Request { spec, network: grant, program } = specify(args, place)?;
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
    let mut plan = match sandbox.plan(&spec) {
        Ok(plan) => plan,
        Err(error) => return refuse(args, &error, out),
    };
    // What another program has removed beside a store cannot be hidden, and is made again.
    let mut has_made = false;
    for store in plan.stores().filter(|_| !plan.guarded.is_empty()) {
        has_made |= ringfence_store::make_companions(store)
            .map_err(|error| CommandError::Store(ringfence_store::DatabaseError::Sqlite(error)))?;
    }
    if has_made {
        let first = plan;
        plan = match sandbox.plan(&spec) {
            Ok(plan) => carry_over(&first, plan),
            Err(error) => {
                tell_recovered(&first);
                return refuse(args, &error, out);
            }
        };
    }
    if args.print_plan {
        tell_recovered(&plan);
        print(&plan, &sandbox, out)?;
        return Ok(Ran::Own(Exit::Done));
    }
    if let Some(sentence) = shared_files(&plan).filter(|_| !args.json) {
        let _told = writeln!(crate::print::errors(), "ringfence: {sentence}");
    }
    if let Some(runtime) = &runtime {
        runtimes::sweep(args.engine.as_deref(), runtime.handle());
    }
    // A container is ended by the engine, which passes no signal on to what does not wait for one.
    let (interrupt, leash, signals) = if plan.image.is_some() {
        let (interrupt, leash) = Interrupt::new().map_err(CommandError::Start)?;
        (interrupt, leash, None)
    } else {
        let (interrupt, leash, signals) = Interrupt::pass_on().map_err(CommandError::Start)?;
        (interrupt, leash, Some(signals))
    };
    if args.verbose && !args.json {
        let found = program.as_deref().unwrap_or(&plan.program);
        let (name, tier) = (sandbox.backend().name(), sandbox.backend().tier());
        let _told = writeln!(
            crate::print::errors(),
            "ringfence: runs `{}`, confined by {name} ({tier}), in `{}`",
            shown_path(found),
            shown_path(&plan.directory)
        );
    }
    let has_hosts = !grant.is_empty();
    let network = if grant.is_empty() {
        None
    } else {
        let told = if args.json { Told::Nobody } else { Told::ErrorStream };
        Some(CommandNetwork::new(&args.network, grant, plan.limits, told).map_err(CommandError::Start)?)
    };
    let started = start(args, &sandbox, &plan, (leash, signals), network.as_ref(), out);
    let network = network.map(CommandNetwork::close);
    match started {
        Err(error) => {
            tell_recovered(&plan);
            refuse(args, &error, out)
        }
        Ok((report, passed)) => {
            let mut lines: Vec<String> = plan.unmounted.iter().map(ToString::to_string).collect();
            for (number, one) in report.quarantined.iter().enumerate() {
                let (found, moved) = (shown_path(&one.found), shown_path(&one.moved));
                let who = if number < plan.recovered.len() { "a run that was killed" } else { "the command" };
                lines.push(match report.is_replaced(&one.found) {
                    true => format!("the new `{found}` was moved to `{moved}`; move it back if it is yours"),
                    false => format!("{who} made `{found}`, which is protected; it was moved to `{moved}`"),
                });
            }
            for (path, why) in &report.left {
                let shown = shown_path(path);
                lines.push(match report.is_replaced(path) {
                    true => format!("`{shown}` is protected: {why}"),
                    false => {
                        format!("`{shown}` is protected and could not be moved aside, look at it: {why}")
                    }
                });
            }
            lines.extend(limit::sentences(&report, &plan.limits));
            let has_failed = report.ending != Ending::Exited(0) && interrupt.received().is_none();
            if has_failed && !args.json && !passed.is_stuck && args.image.is_none() {
                lines.extend(in_the_way(args, &plan, program.as_deref(), &passed.errors, has_hosts));
            }
            if args.json {
                serde_json::to_writer(&mut *out, &shown(&report, network.as_ref()))
                    .map_err(std::io::Error::from)?;
                writeln!(out)?;
            } else if passed.is_stuck {
                lines.push("nobody reads the output; the rest of it is lost".into());
                pass::tell_in_time(lines);
            } else {
                pass::tell(&lines);
            }
            if let Some(error) = passed.error {
                return Err(error.into());
            }
            // A command that was asked to end, and had to be killed, ended for what it was asked with.
            let code = match (interrupt.received(), report.ending) {
                (Some(signal), Ending::Signalled(KILLED)) => 128 + signal,
                _ => report.ending.code(),
            };
            Ok(Ran::Child(u8::try_from(own_code(code, &report)).unwrap_or(u8::MAX)))
        }
    }
}

/// Adds to a plan what an earlier one of the same run has moved aside, or could not look at.
fn carry_over(first: &Plan, mut plan: Plan) -> Plan {
    plan.recovered.splice(0..0, first.recovered.iter().cloned());
    let unmounted = first.unmounted.iter().filter(|one| !plan.unmounted.contains(one)).cloned();
    let unmounted: Vec<_> = unmounted.collect();
    plan.unmounted.splice(0..0, unmounted);
    plan
}

/// Says what was moved aside of what killed runs left, where no report of a run does.
fn tell_recovered(plan: &Plan) {
    for one in &plan.recovered {
        let _told = writeln!(
            crate::print::errors(),
            "ringfence: a run that was killed left `{}`; it was moved to `{}`",
            shown_path(&one.found),
            shown_path(&one.moved)
        );
    }
    for one in &plan.unmounted {
        let _told = writeln!(crate::print::errors(), "ringfence: {one}");
    }
}

/// Returns what the sandbox kept from a command that failed.
fn in_the_way(
    args: &RunArgs,
    plan: &Plan,
    program: Option<&Path>,
    errors: &[u8],
    has_hosts: bool,
) -> Vec<String> {
    let Ok(here) = std::env::current_dir() else { return Vec::new() };
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let arguments = args.command.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    let failure = obstacle::Failure {
        plan,
        here: &here,
        home: home.as_deref(),
        program,
        arguments: arguments.collect(),
        errors: String::from_utf8_lossy(errors).into_owned(),
        has_hosts,
    };
    let mut lines = failure.sentences();
    if !lines.is_empty() {
        lines.insert(0, "what may have been in the way of the command, and what would grant it:".to_owned());
        lines.iter_mut().skip(1).for_each(|line| line.insert_str(0, "  "));
    }
    lines
}

/// Returns the code to end with: what was not done is not done, whatever the command says of itself.
fn own_code(code: i32, report: &Report) -> i32 {
    if code != 0 {
        code
    } else if !report.left.is_empty() {
        1
    } else if report.exceeded.contains(&LimitName::Output) {
        CUT_OUTPUT
    } else {
        0
    }
}

/// The signal that nothing can handle.
const KILLED: i32 = rustix::process::Signal::KILL.as_raw();

/// How a run ends whose command ended with 0, and of whose output a part is missing.
const CUT_OUTPUT: i32 = 4;

/// Runs it, and also returns what came of passing its output on.
fn start(
    args: &RunArgs,
    sandbox: &Sandbox,
    plan: &Plan,
    (leash, signals): (PipeReader, Option<PipeReader>),
    network: Option<&CommandNetwork>,
    out: &mut dyn Write,
) -> Result<(Report, Passed), SandboxError> {
    let stdin = std::io::stdin();
    let mut streams = Streams::default().leash(leash.into());
    if let Some(signals) = signals {
        streams = streams.signals(signals.into());
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
        return Ok((sandbox.run_plan(plan, streams)?, Passed::default()));
    }
    let _flushed = out.flush();
    let _raw = if args.tty { RawTerminal::new(&stdin) } else { None };
    let passer = OutputPasser::default();
    let report = sandbox.run_plan(plan, streams.observe(passer.observer()))?;
    Ok((report, passer.passed()))
}

fn engine_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}
