//! `ringfence doctor`

use std::io::Write;

use ringfence::sandbox::doctor::{Finding, State, examine};

use crate::error::{CommandError, Exit};
use crate::sandbox::selector;

/// Show what this machine can enforce, by trying it
///
/// Each backend is asked to run a command that reads, writes and starts what it was not granted; it works when all of
/// that fails. Exits with 4 when no backend works.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DoctorArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let findings = examine(&selector());
    let works = |finding: &Finding| finding.subject.ends_with("sandbox") && finding.state == State::Works;
    let some = findings.iter().any(works);
    if args.json {
        let told = serde_json::json!({ "sandbox": some, "findings": findings });
        writeln!(out, "{told}")?;
    } else {
        for finding in &findings {
            writeln!(out, "{:<18} {:<8} {}", finding.subject, finding.state.word(), finding.detail)?;
            if let Some(fix) = &finding.fix {
                writeln!(out, "{:<27} fix: {fix}", "")?;
            }
        }
        if !some {
            writeln!(out, "\nno sandbox works here: tools that start processes are refused")?;
        }
    }
    Ok(if some { Exit::Done } else { Exit::Findings })
}
