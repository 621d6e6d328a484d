//! `ringfence lint`

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ringfence::policy::{HostSet, NetworkCeiling, NetworkGrant, Private};
use serde::Deserialize;

use crate::beside;
use crate::error::CommandError;
use crate::install::Step;
use crate::load::Place;
use crate::progress::Busy;

/// The exit code by which the lint says that packages are missing.
const MISSING: i32 = 5;

/// How long fetching may take.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Check what the code of tools uses, dependencies included, against what they declare
///
/// Everything after `lint` goes to `ringfence-lint`, a program beside this one; `ringfence lint --help` tells what it takes. Packages
/// that are missing on this machine are fetched first, inside the fence: only the registry can be reached, and nothing of the
/// project runs.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "Examples:
  ringfence lint
  ringfence lint path/to/crate --engine source
  ringfence lint path/to/server --policy ringfence.toml --server git")]
pub(crate) struct LintArgs {
    /// What the lint is asked
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Runs the lint, and returns the code it ended with.
pub(crate) fn run(args: &LintArgs, place: &Place) -> Result<u8, CommandError> {
    let lint =
        beside::program(beside::LINT, "install it beside this program: `cargo install --path crates/lint`")?;
    let mut arguments = args.arguments.clone();
    // The policy is an option of ours too, and was taken before the lint could see it.
    if place.is_named {
        arguments.extend(["--policy".into(), place.policy.clone().into()]);
    }
    let quiet = arguments.iter().cloned().chain(["--quiet-missing".into()]).collect::<Vec<_>>();
    let status = started(&lint, &quiet)?;
    if status.code() != Some(MISSING) {
        return Ok(code(status));
    }
    fetch(&lint, &arguments)?;
    started(&lint, &arguments).map(code)
}

#[expect(clippy::disallowed_methods, reason = "it is our own program, which confines what it builds itself")]
fn command(lint: &Path, arguments: &[OsString]) -> Command {
    let mut command = Command::new(lint);
    command.args(arguments);
    command
}

fn started(lint: &Path, arguments: &[OsString]) -> Result<ExitStatus, CommandError> {
    command(lint, arguments).status().map_err(CommandError::Start)
}

fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// What fetching takes, as the lint says it.
#[derive(Deserialize)]
struct FetchPlan {
    command: Vec<PathBuf>,
    toolchain: PathBuf,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    cargo_home: PathBuf,
    directory: PathBuf,
    hosts: BTreeSet<String>,
    private: BTreeSet<String>,
}

fn fetch(lint: &Path, arguments: &[OsString]) -> Result<(), CommandError> {
    let input = |message: String| CommandError::Input { message, hint: None };
    let asked: Vec<OsString> = arguments.iter().cloned().chain(["--fetch-plan".into()]).collect();
    let said = command(lint, &asked).stderr(Stdio::inherit()).output().map_err(CommandError::Start)?;
    let plan: FetchPlan = serde_json::from_slice(&said.stdout)
        .map_err(|error| input(format!("what the lint says of fetching is not understood: {error}")))?;
    for folder in plan.writable.iter().chain([&plan.directory]) {
        std::fs::create_dir_all(folder).map_err(|error| CommandError::File {
            verb: "make",
            path: folder.clone(),
            error,
            hint: None,
        })?;
    }
    let hosts: HostSet = plan
        .hosts
        .iter()
        .map(|host| host.parse().map_err(|error| input(format!("`{host}`: {error}"))))
        .collect::<Result<_, _>>()?;
    let private =
        Private::parse(plan.private.iter().map(String::as_str)).map_err(|error| input(error.to_string()))?;
    let grant = NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), private));
    let (program, words) =
        plan.command.split_first().ok_or_else(|| input("the lint names no program".into()))?;
    let mut readable = plan.readable;
    readable.push(plan.toolchain.clone());
    let project = words.last().and_then(|manifest| manifest.parent()?.file_name()).and_then(OsStr::to_str);
    let step = Step {
        name: "fetching the packages",
        package: project.unwrap_or("the project"),
        program,
        arguments: words.iter().map(|word| word.clone().into_os_string()).collect(),
        folder: &plan.directory,
        readable,
        kept: plan.writable,
        starts_own: false,
        variables: vec![
            ("CARGO_HOME", plan.cargo_home.into()),
            ("CARGO_NET_GIT_FETCH_WITH_CLI", "false".into()),
            ("RUSTC", plan.toolchain.join("bin/rustc").into()),
        ],
        network: Some(&grant),
        until: Instant::now() + PATIENCE,
    };
    let _busy = Busy::with("fetching packages inside the fence");
    step.run().map_err(|error| CommandError::Input {
        message: error.to_string(),
        hint: Some("`cargo fetch --locked` does the same outside the fence"),
    })
}
