//! `ringfence call`

mod advice;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use ringfence::policy::{JsonLimits, Personality, Span, parse_json};
use ringfence::{Asker, Call, Code, Outcome, Registry, RegistryBuilder, Run, StoreApprover};
use ringfence_store::{Database, KeepRaw};

pub(crate) use self::advice::{deciding_code, entry_explained};
use crate::audit_file::AuditFile;
use crate::error::{CommandError, Exit};
use crate::exposed::{refuse_exposed, refuse_writable_policy};
use crate::interrupt::first_signal;
use crate::load::Place;
use crate::notify::{notifier, telling};
use crate::sandbox::BackendChoice;
use crate::shown::one_line;
use crate::store::{Opening, StoreName, named, runtime};
use crate::time::Age;

/// Call one tool of a toolbox through the whole pipeline
///
/// Prints the result as JSON: `{"ok": true, "value": …}` or `{"ok": false, "code": …, "error": …}`. Exits with 1 when
/// the tool failed, 2 when the tool or its arguments are wrong, 3 when the call was refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence call read_file '{\"path\": \"notes.txt\"}'
  ringfence call --store clerk.db --run today --wait 10m pay '{\"invoice\": \"7\", \"amount\": 3}'
  ringfence call plugin.wasm '{\"title\": \"A day\"}'")]
pub(crate) struct CallArgs {
    /// The tool; or a component, as `plugin.wasm`, which is then the only tool, under the toolbox's personality if there is one
    tool: String,
    /// The arguments as JSON; `-` reads them from standard input
    #[arg(default_value = "{}")]
    arguments: String,
    /// Append every outcome to FILE as JSON lines
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Keep the audit, idempotency keys, approvals and the tools' storage here: a file, which is made when it is not
    /// there, or `postgres://…`; without it what the variable RINGFENCE_STORE names
    #[arg(long, value_name = "STORE", conflicts_with = "audit")]
    store: Option<StoreName>,
    /// Which sandbox starts the tool's program
    #[arg(long, value_enum, default_value = "auto")]
    backend: BackendChoice,
    /// How long what a tool returned is kept beside its cleaned form: `always`, `never`, or for a time such as `30d`
    #[arg(long, value_name = "TIME", default_value = "always")]
    keep_raw: KeepRawFlag,
    /// Who asks
    #[arg(long, value_enum, default_value = "model")]
    asked_by: AskedBy,
    /// The idempotency key of the call
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// End the call after this time, such as `5s`
    #[arg(long, value_name = "TIME")]
    deadline: Option<Span>,
    /// Wait this long for people to agree, or for a call in flight under the same idempotency key
    #[arg(long, value_name = "TIME")]
    wait: Option<Span>,
    /// The run, which an approval is bound to: name it to make the same call again. With a store, `maxInvocations` and
    /// `onlyAfter` count every call of that run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The session of the run
    #[arg(long, value_name = "ID", default_value = "cli")]
    session: String,
    /// Who proposes the call, and therefore cannot approve it
    #[arg(long, value_name = "NAME", default_value = "agent")]
    proposer: String,
}

/// [`KeepRaw`] as it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct KeepRawFlag(KeepRaw);

impl FromStr for KeepRawFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "always" => KeepRaw::Always,
            "never" => KeepRaw::Never,
            text => {
                KeepRaw::For(text.parse::<Age>().map_err(|_| "it is none of `always`, `never` and `30d`")?.0)
            }
        }))
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum AskedBy {
    /// Code of the host
    Code,
    /// A model
    Model,
}

pub(crate) fn run(args: &CallArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let text = if args.arguments == "-" { read_input()? } else { args.arguments.clone() };
    let arguments = parse_json(&text, JsonLimits::ARGUMENTS).map_err(|error| CommandError::Input {
        message: format!("the arguments are not JSON: {error}"),
        hint: Some("quote them for the shell, such as '{\"path\": \"notes.txt\"}'"),
    })?;
    let runtime = runtime()?;
    let name = named(args.store.as_ref());
    if args.audit.is_some() && name.is_some() {
        return Err(CommandError::Input {
            message: "`--audit` writes to a file what the store of RINGFENCE_STORE keeps".to_owned(),
            hint: Some("leave `--audit` out, or unset RINGFENCE_STORE"),
        });
    }
    let run_id = args.run.clone().unwrap_or_else(new_run);
    let (report, advice, why) = runtime.block_on(async {
        let mut loaded = match args.component() {
            Some(file) => place.load_component(file)?.sound()?,
            None => place.load()?.sound()?,
        };
        loaded.backend = args.backend;
        refuse_writable_policy(&loaded, &place.policy)?;
        let held = match args.component() {
            Some(file) => place.held_beside(file)?,
            None => place.held(&loaded)?,
        };
        let tool = match (args.component(), loaded.declarations.first()) {
            (Some(_), Some(own)) => own.name.to_string(),
            _ => args.tool.clone(),
        };
        let audit = args.audit.as_deref().map(AuditFile::open).transpose()?;
        let store = match &name {
            Some(name) => {
                refuse_exposed(&loaded, name)?;
                Some(name.open(Opening::Make(args.keep_raw.0)).await?)
            }
            None => None,
        };
        let wait = args.wait.map(Span::duration);
        let notifier = match &store {
            Some(store) => Some(notifier(&loaded, Arc::clone(store) as _).await?),
            None => None,
        };
        let registry = match &store {
            Some(store) => durable(loaded, held, store, wait.unwrap_or_default())?,
            None => loaded.registry(held, None, |builder| match audit {
                Some(audit) => builder.audit(Arc::new(audit)),
                None => builder,
            })?,
        };
        let mut run =
            Run::builder(run_id.as_str(), args.session.as_str()).proposed_by(args.proposer.as_str());
        if let Some(directory) = place.working_dir() {
            run = run.in_directory(directory);
        }
        let run = run.start();
        let called = registry.call(&run, args.call(&tool, arguments));
        // Whoever ends us gives the call up, and nobody is to go on with it; a process that dies without a word is another matter.
        let report = match &notifier {
            Some(notifier) => telling(notifier, unless_interrupted(called, &run)).await,
            None => called.await,
        };
        let advice = match (&report.outcome, &store) {
            (Outcome::Refused(refusal), Some(store)) if refusal.code == Code::ApprovalRequired => {
                advice::after_asking(args, place, &run_id, &**store).await
            }
            (Outcome::Refused(refusal), _) => {
                let hint = refusal.hint.as_ref().map(|hint| one_line(hint));
                hint.or_else(|| advice::usual(refusal.code).map(str::to_owned))
            }
            _ => None,
        };
        let why = advice::explained(args, place, &run_id, &report, store.as_deref()).await;
        Ok::<_, CommandError>((report, advice, why))
    })?;
    // A blocking tool that missed its deadline must not keep the command alive.
    runtime.shutdown_background();

    serde_json::to_writer(&mut *out, &report.outcome).map_err(std::io::Error::from)?;
    writeln!(out)?;
    if let Some(advice) = advice {
        let _told = writeln!(crate::print::errors(), "  hint: {advice}");
    }
    if let Some(why) = why {
        let _told = writeln!(crate::print::errors(), "  {why}");
    }
    Ok(match &report.outcome {
        Outcome::Done(_) => Exit::Done,
        // The tool ran, and a handle refused what it tried.
        Outcome::Failed(failure) if is_reach(failure.code) => Exit::Refused,
        Outcome::Failed(_) => Exit::Failed,
        Outcome::Refused(refusal) => match refusal.code {
            Code::InputInvalid | Code::ToolUnknown => Exit::Usage,
            _ => Exit::Refused,
        },
    })
}

/// Waits for a call; a signal cancels its run, and the call ends as cancelled.
pub(crate) async fn unless_interrupted<T>(called: impl Future<Output = T>, run: &Run) -> T {
    let mut called = std::pin::pin!(called);
    tokio::select! {
        // Signals first: they are heeded before anybody can see the call.
        biased;
        _ = first_signal() => {
            run.cancel();
            called.await
        }
        ended = &mut called => ended,
    }
}

/// Names a run that nobody has named. A process id comes again, and a run in a store is counted by its name.
fn new_run() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("cli-{}-{:x}", std::process::id(), now.as_micros())
}

/// Registers the tools of a toolbox over a store: audit, storage, idempotency keys, the counters of runs, and people who are
/// waited for.
pub(crate) fn durable(
    loaded: crate::load::Loaded,
    held: crate::held::Held,
    store: &Arc<dyn Database>,
    wait: Duration,
) -> Result<Registry, CommandError> {
    let approver = approver(&loaded.personality, store, wait);
    let configure = |builder: RegistryBuilder| {
        builder
            .audit(Arc::clone(store) as _)
            .idempotency(Arc::clone(store) as _)
            .approver(Arc::new(approver))
            .runs(Arc::clone(store) as _)
    };
    loaded.registry(held, Some(Arc::clone(store)), configure)
}

/// Asks people through the store; what they are asked expires when the personality says so.
fn approver(personality: &Personality, store: &Arc<dyn Database>, wait: Duration) -> StoreApprover {
    let approver = StoreApprover::new(Arc::clone(store) as _).wait(wait);
    match personality.approvals.expires {
        Some(expires) => approver.expires(expires.duration()),
        None => approver,
    }
}

impl CallArgs {
    /// Returns the component that is called, where it is one and not a tool of the toolbox.
    fn component(&self) -> Option<&Path> {
        let path = Path::new(&self.tool);
        path.extension().is_some_and(|extension| extension == "wasm").then_some(path)
    }

    fn call(&self, tool: &str, arguments: serde_json::Value) -> Call {
        let mut call = Call::new(tool, arguments).asked_by(match self.asked_by {
            AskedBy::Code => Asker::Code,
            AskedBy::Model => Asker::Model,
        });
        if let Some(key) = &self.idempotency_key {
            call = call.idempotency_key(key);
        }
        if let Some(deadline) = self.deadline {
            call = call.deadline(deadline.duration());
        }
        if let Some(wait) = self.wait {
            call = call.wait_in_flight(wait.duration());
        }
        call
    }
}

const fn is_reach(code: Code) -> bool {
    matches!(
        code,
        Code::BinaryNotAllowed
            | Code::EnvironmentNotDeclared
            | Code::HostNotAllowed
            | Code::NotAvailable
            | Code::PathNotReachable
            | Code::SecretNotDeclared
    )
}

fn read_input() -> Result<String, CommandError> {
    let input = |message: String| CommandError::Input { message, hint: None };
    let limit = JsonLimits::ARGUMENTS.bytes;
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock().take(limit as u64 + 1);
    stdin.read_to_end(&mut bytes).map_err(|error| input(format!("cannot read standard input: {error}")))?;
    if bytes.len() > limit {
        return Err(input(format!("the arguments are larger than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        input(format!("the arguments are not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })
}
