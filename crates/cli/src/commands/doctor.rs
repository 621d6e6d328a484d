//! `ringfence doctor`

mod around;

use std::io::Write;

use ringfence::sandbox::doctor::{Finding, State, examine};
use ringfence::sandbox::recover;

use crate::error::{CommandError, Exit};
use crate::load::Place;
use crate::progress::Busy;
use crate::sandbox::{mark_folders, selector};

/// Show what this machine can enforce, by trying it
///
/// Each backend is asked to run a command that reads, writes and starts what it was not granted; it works when all of
/// that fails. The container engine that the toolbox names is asked what it is, and the programs that belong beside this one are asked for
/// their versions. Exits with 4 when no backend works.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence doctor
  ringfence doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print one JSON object {"sandbox": whether one works, "findings": [{"subject", "state", "detail", "fix"}]}
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DoctorArgs, place: &Place, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let busy = Busy::with("trying what this machine can enforce");
    let mut findings = examine(&selector());
    let works = |finding: &Finding| finding.subject.ends_with("sandbox") && finding.state == State::Works;
    let some = findings.iter().any(works);
    findings.extend(around::examine(place));
    findings.extend(killed_runs());
    drop(busy);
    if args.json {
        let told = serde_json::json!({ "sandbox": some, "findings": findings });
        writeln!(out, "{told}")?;
    } else {
        let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
        for finding in &findings {
            writeln!(out, "{:<width$} {:<8} {}", finding.subject, finding.state.word(), finding.detail)?;
            if let Some(fix) = &finding.fix {
                writeln!(out, "{:<width$}          fix: {fix}", "")?;
            }
        }
        if !some {
            writeln!(out, "\nno sandbox works here: tools that start processes are refused")?;
        }
    }
    Ok(if some { Exit::Done } else { Exit::Findings })
}

/// Looks again at what killed runs left. Nothing to tell where there were none.
fn killed_runs() -> Vec<Finding> {
    let shown = |path: &std::path::Path| path.to_string_lossy().escape_debug().to_string();
    let mut findings = Vec::new();
    for folder in mark_folders() {
        let recovered = recover(&folder, |_| true);
        let left = &recovered.left;
        let unmounted = &recovered.unmounted;
        if recovered.runs == 0 && left.is_empty() && unmounted.is_empty() {
            continue;
        }
        let moved = recovered
            .moved
            .iter()
            .map(|one| format!("`{}` was moved to `{}`", shown(&one.found), shown(&one.moved)));
        let told_left = left.iter().map(|(path, why)| format!("`{}` is left: {why}", shown(path)));
        let told: Vec<String> =
            moved.chain(told_left).chain(unmounted.iter().map(ToString::to_string)).collect();
        let what = if told.is_empty() { "nothing was left".to_owned() } else { told.join("; ") };
        findings.push(Finding {
            subject: "killed runs",
            state: if left.is_empty() && unmounted.is_empty() { State::Works } else { State::Missing },
            detail: format!("{} looked at again: {what}", recovered.runs),
            fix: (!left.is_empty())
                .then(|| "look at what is left, remove it if it is not yours, and run this again".to_owned()),
        });
    }
    findings
}
