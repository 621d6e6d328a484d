//! `ringfence call`

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use ringfence::policy::{JsonLimits, Span, parse_json};
use ringfence::{Asker, Call, Code, Outcome, Run};
use ringfence_store::SqliteStore;

use crate::audit_file::AuditFile;
use crate::error::{CommandError, Exit};
use crate::load::Place;

/// Call one tool of a toolbox through the whole pipeline
///
/// Prints the result as JSON: `{"ok": true, "value": …}` or `{"ok": false, "code": …, "error": …}`. Exits with 1 when
/// the tool failed, 2 when the tool or its arguments are wrong, 3 when the call was refused.
#[derive(Debug, clap::Args)]
pub(crate) struct CallArgs {
    /// The tool
    tool: String,
    /// The arguments as JSON; `-` reads them from standard input
    #[arg(default_value = "{}")]
    arguments: String,
    /// Append every outcome to FILE as JSON lines
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Keep the audit and the tools' storage in FILE, which is made when it is not there
    #[arg(long, value_name = "FILE", conflicts_with = "audit")]
    store: Option<PathBuf>,
    /// Who asks
    #[arg(long, value_enum, default_value = "model")]
    asked_by: AskedBy,
    /// The idempotency key of the call
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// End the call after this time, such as `5s`
    #[arg(long, value_name = "TIME")]
    deadline: Option<Span>,
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
    let loaded = place.load()?.sound()?;
    let audit = args.audit.as_deref().map(AuditFile::open).transpose()?;
    let store = args.store.as_deref().map(SqliteStore::open).transpose().map_err(CommandError::Store)?;
    let registry = loaded.registry(place.pins()?, store.clone(), |builder| match (audit, store) {
        (Some(audit), _) => builder.audit(Arc::new(audit)),
        (None, Some(store)) => builder.audit(Arc::new(store)),
        (None, None) => builder,
    })?;

    let mut run = Run::builder(format!("cli-{}", std::process::id()), "cli");
    if let Some(directory) = place.working_dir() {
        run = run.in_directory(directory);
    }
    let mut call = Call::new(args.tool.as_str(), arguments).asked_by(match args.asked_by {
        AskedBy::Code => Asker::Code,
        AskedBy::Model => Asker::Model,
    });
    if let Some(key) = &args.idempotency_key {
        call = call.idempotency_key(key);
    }
    if let Some(deadline) = args.deadline {
        call = call.deadline(deadline.duration());
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CommandError::Start)?;
    let report = runtime.block_on(registry.call(&run.start(), call));
    // A blocking tool that missed its deadline must not keep the command alive.
    runtime.shutdown_background();

    serde_json::to_writer(&mut *out, &report.outcome).map_err(std::io::Error::from)?;
    writeln!(out)?;
    if let Outcome::Refused(refusal) = &report.outcome
        && let Some(hint) = &refusal.hint
    {
        let _told = writeln!(std::io::stderr().lock(), "  hint: {hint}");
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
