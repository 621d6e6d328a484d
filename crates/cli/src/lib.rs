//! The `ringfence` command: argv, environment, files and the terminal, wired to the library.
//!
//! A library only because two programs are made of it: `ringfence`, and `ringfence-components`, which brings an engine for WebAssembly
//! components and takes the place of the first one when that meets a component. There is nothing here for other crates.

mod audit_file;
mod backup;
mod beside;
mod book;
mod colour;
mod commands;
mod deciding;
mod desk;
mod error;
mod exposed;
mod groups;
mod held;
#[cfg(test)]
mod help;
mod import;
mod init;
mod install;
mod interrupt;
mod list_limit;
mod load;
mod network;
mod notify;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(not(feature = "postgres"))]
#[path = "postgres_absent.rs"]
mod postgres;
mod print;
mod program;
mod progress;
mod runtimes;
mod sandbox;
mod secrets;
mod serving;
mod shown;
mod store;
mod table;
mod time;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{FromArgMatches as _, Parser, Subcommand};

use crate::error::{CommandError, Exit};

/// Fence what AI tools may touch
///
/// A tool declares what it touches, a personality sets the ceiling, and a tool gets what both allow.
#[derive(Debug, Parser)]
#[command(name = "ringfence", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  ringfence demo
  ringfence init
  ringfence run --read src --write out -- python3 build.py
  ringfence doctor")]
struct Arguments {
    /// The toolbox file: a personality and tools, as TOML or JSON; `ringfence.toml` by default, and none for `wrap`
    #[arg(long, short, global = true, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// What `${workspace}` stands for; the current directory by default
    #[arg(long, global = true, value_name = "DIR")]
    workspace: Option<PathBuf>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Approvals(commands::approvals::ApprovalsArgs),
    Approver(commands::approver::ApproverArgs),
    Ask(commands::ask::AskArgs),
    Audit(commands::audit::AuditArgs),
    Call(commands::call::CallArgs),
    Check(commands::check::CheckArgs),
    Clean(commands::clean::CleanArgs),
    Completions(commands::completions::CompletionsArgs),
    Component(commands::component::ComponentArgs),
    Demo(commands::demo::DemoArgs),
    Doctor(commands::doctor::DoctorArgs),
    Explain(commands::explain::ExplainArgs),
    Gateway(commands::gateway::GatewayArgs),
    Help(commands::help::HelpArgs),
    Idempotency(commands::idempotency::IdempotencyArgs),
    Import(commands::import::ImportArgs),
    Init(commands::init::InitArgs),
    Install(commands::install::InstallArgs),
    Learn(Box<commands::learn::LearnArgs>),
    Lint(commands::lint::LintArgs),
    Man(commands::man::ManArgs),
    Manifest(commands::manifest::ManifestArgs),
    Pins(commands::pins::PinsArgs),
    Run(Box<commands::run::RunArgs>),
    Scan(commands::scan::ScanArgs),
    Schema(commands::schema::SchemaArgs),
    Serve(commands::serve::ServeArgs),
    Store(commands::store::StoreCommandArgs),
    Tools(commands::tools::ToolsArgs),
    Wrap(commands::wrap::WrapArgs),
}

/// Returns the whole command line, for what is made from it.
fn command() -> clap::Command {
    groups::grouped(<Arguments as clap::CommandFactory>::command())
}

pub use runtimes::{Component, ComponentEngine, ComponentImport, EngineError, Sealing};

/// Runs the command of this process, with an engine for components where the program brings one.
pub fn main(components: Option<&'static dyn ComponentEngine>) -> ExitCode {
    if let Some(engine) = components {
        runtimes::bring(engine);
    }
    if let Some(failed) = sandbox::inner_stage() {
        return failed;
    }
    sandbox::begin_early();
    let parsed = command().try_get_matches();
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return print::usage(&error),
    };
    let mut out = print::output();
    let is_named = arguments.policy.is_some();
    let policy = arguments.policy.unwrap_or_else(|| PathBuf::from("ringfence.toml"));
    let place = load::Place { policy, is_named, workspace: arguments.workspace };
    let result = match arguments.command {
        Command::Approvals(args) => commands::approvals::run(&args, &place, &mut out),
        Command::Approver(args) => commands::approver::run(&args, &mut out),
        Command::Ask(args) => commands::ask::run(&args, &place, &mut out),
        Command::Audit(args) => commands::audit::run(&args, &place, &mut out),
        Command::Call(args) => commands::call::run(&args, &place, &mut out),
        Command::Check(args) => commands::check::run(&args, &place, &mut out),
        Command::Clean(args) => commands::clean::run(&args, &mut out),
        Command::Completions(args) => commands::completions::run(&args, &mut out),
        Command::Component(args) => commands::component::run(&args, &mut out),
        Command::Demo(args) => commands::demo::run(&args, &place, &mut out),
        Command::Doctor(args) => commands::doctor::run(&args, &place, &mut out),
        Command::Explain(args) => commands::explain::run(&args, &place, &mut out),
        Command::Gateway(args) => commands::gateway::run(&args, &place, &mut out),
        Command::Help(args) => commands::help::run(&args, &mut out),
        Command::Idempotency(args) => commands::idempotency::run(&args, &mut out),
        Command::Import(args) => commands::import::run(&args, &place, &mut out),
        Command::Init(args) => commands::init::run(&args, &place, &mut out),
        Command::Install(args) => commands::install::run(&args, &place, &mut out),
        Command::Learn(args) => commands::learn::run(&args, &place, &mut out),
        Command::Lint(args) => match commands::lint::run(&args, &place) {
            Ok(code) => return ExitCode::from(code),
            Err(error) => Err(error),
        },
        Command::Man(args) => commands::man::run(&args, &mut out),
        Command::Manifest(args) => commands::manifest::run(&args, &place, &mut out),
        Command::Pins(args) => commands::pins::run(&args, &place, &mut out),
        Command::Run(args) => match commands::run::run(&args, &place, &mut out) {
            Ok(commands::run::Ran::Child(code)) => return ExitCode::from(code),
            Ok(commands::run::Ran::Own(exit)) => Ok(exit),
            Err(error) => Err(error),
        },
        Command::Scan(args) => commands::scan::run(&args, &place, &mut out),
        Command::Schema(args) => commands::schema::run(&args, &mut out),
        Command::Serve(args) => commands::serve::run(&args, &place, &mut out),
        Command::Store(args) => commands::store::run(&args, &mut out),
        Command::Wrap(args) => commands::wrap::run(&args, &place, &mut out),
        Command::Tools(args) => commands::tools::run(&args, &place, &mut out),
    };
    let result = result.and_then(|exit| out.flush().map(|()| exit).map_err(CommandError::from));
    match result {
        Ok(exit) => exit.into(),
        // Whoever reads our output has had enough, as in `ringfence tools | head -1`.
        Err(CommandError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Exit::Done.into()
        }
        Err(error) => {
            let _told = write!(print::errors(), "{}", error.report());
            error.exit().into()
        }
    }
}
