//! `ringfence lint`: what the code of tools uses, beside what they declare.

mod args;
mod error;
mod kind;
mod output;
mod policy;
mod rust;
mod script;

use std::io::Write;
use std::process::ExitCode;

pub(crate) use args::Args;
pub(crate) use error::CommandError;

use ringfence_lint::draft::{Home, draft};
use ringfence_lint::judge::{self, Subject};
use ringfence_lint::waiver::FILE;
use ringfence_lint::{Analysis, Waivers};
use ringfence_policy::Day;
use ringfence_policy::report::{Finding, Level};

use self::kind::Language;

/// What an engine found, and who declares what of it.
struct Looked {
    /// The engine, as the report names it.
    engine: &'static str,
    analysis: Analysis,
    subjects: Vec<Subject>,
    /// What was found while looking for subjects.
    findings: Vec<Finding>,
    /// The folder that holds the waivers.
    folder: std::path::PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode, CommandError> {
    if args.clippy {
        std::io::stdout().write_all(ringfence_lint::clippy::configuration().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let found = kind::find(&args.path, args.language)?;
    if args.fetch_plan {
        return rust::fetch_plan(args, &found);
    }
    let looked = match found.language {
        Language::Python | Language::Script => script::look(args, &found)?,
        Language::Rust => rust::look(args, &found)?,
    };
    let path = args.waivers.clone().unwrap_or_else(|| looked.folder.join(FILE));
    let waivers = Waivers::read(&path)?;
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut waivers = Waivers::judged(waivers, &looked.analysis.packages, Day::of_epoch(since.as_secs()));
    if args.draft {
        let home = if found.language.is_script() { Home::Policy } else { Home::Manifest };
        let text = draft(&looked.subjects, &looked.analysis, &mut waivers, home);
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (mut findings, outcomes) = judge::judge(&looked.subjects, &looked.analysis, &mut waivers);
    findings.extend(looked.findings);
    if looked.subjects.is_empty() && !args.inventory {
        findings.push(nothing(found.language));
    }
    if args.inventory {
        findings.retain(|finding| {
            finding.level != Level::Error || looked.subjects.iter().any(|one| finding.subject == one.label())
        });
    }
    output::write(args, looked.engine, &looked.analysis, &looked.subjects, findings, &outcomes)
}

/// A gate that finds nothing to guard must say so.
fn nothing(language: Language) -> Finding {
    let help = match language {
        Language::Rust => {
            "build tools with `ringfence::tool`, list them under `[[package.metadata.ringfence.tool]]`, name functions with `--entry`, or ask for `--inventory`"
        }
        Language::Python | Language::Script => {
            "name the entry of the policy that declares it with `--policy FILE --server NAME`, or ask for `--inventory`"
        }
    };
    Finding {
        code: "lint.nothing".into(),
        level: Level::Error,
        subject: "project".to_owned(),
        message: "nothing here declares what it does, so that nothing was compared".to_owned(),
        place: None,
        help: Some(help.to_owned()),
        steps: Vec::new(),
    }
}
