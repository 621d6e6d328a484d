//! What `ringfence run` shows: a plan, a refusal, or how a command ended.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use ringfence::egress::Tally;
use ringfence::sandbox::{Ending, Plan, Report, Sandbox, SandboxError};
use serde_json::json;

use super::super::refusal;
use super::{Ran, RunArgs};
use crate::error::{CommandError, Exit};
use crate::network::Connections;

pub(super) fn refuse(args: &RunArgs, error: &SandboxError, out: &mut dyn Write) -> Result<Ran, CommandError> {
    let hint = error.hint().or_else(|| refusal::advice(error.code()));
    if args.json {
        writeln!(out, "{}", refusal::json(error, hint))?;
    } else {
        let _told = write!(crate::print::errors(), "{}", refusal::lines(error, hint));
    }
    Ok(Ran::Own(Exit::Refused))
}

pub(super) fn print(plan: &Plan, sandbox: &Sandbox, out: &mut dyn Write) -> Result<(), CommandError> {
    let mut value = serde_json::to_value(plan).map_err(std::io::Error::from)?;
    if let Some(object) = value.as_object_mut() {
        object.insert("backend".into(), json!(sandbox.backend().name()));
        object.insert("tier".into(), json!(sandbox.backend().tier()));
        if let Some(why) = sandbox.fallback() {
            object.insert("fallback".into(), json!(why));
        }
    }
    serde_json::to_writer_pretty(&mut *out, &value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Says which files of writable folders cannot be written because others share them.
pub(super) fn shared_files(plan: &Plan) -> Option<String> {
    let shared = &plan.shared_files;
    if shared.is_empty() {
        return None;
    }
    let mut names: Vec<String> = shared.first.iter().map(|path| format!("`{}`", shown_path(path))).collect();
    if shared.count > names.len() {
        names.push("…".to_owned());
    }
    let files =
        if shared.count == 1 { "1 file is".to_owned() } else { format!("{} files are", shared.count) };
    Some(format!(
        "{files} read-only: hard links that files outside the writable folders share ({}); copy to change",
        names.join(", ")
    ))
}

pub(super) fn shown(report: &Report, network: Option<&(Connections, Tally)>) -> serde_json::Value {
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

/// A path whose name a command chose: without what a terminal would obey.
pub(super) fn shown_path(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}
