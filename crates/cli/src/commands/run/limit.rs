//! What `ringfence run` says of the limits that a command ran into.

use ringfence::policy::Limits;
use ringfence::sandbox::{Ending, LimitName, Report};

/// Returns a sentence for each limit that ended the command or cut what it wrote.
pub(in crate::commands) fn sentences(report: &Report, limits: &Limits) -> Vec<String> {
    let mut names = report.exceeded.clone();
    if report.ending == Ending::TimedOut && !names.contains(&LimitName::Wall) {
        names.push(LimitName::Wall);
    }
    names.into_iter().map(|name| sentence(name, report.ending, limits)).collect()
}

fn sentence(name: LimitName, ending: Ending, limits: &Limits) -> String {
    let value = value(name, limits);
    match (name, ending) {
        (LimitName::Wall, _) => format!("killed after {} (limit `wall`)", value.unwrap_or_default()),
        (_, Ending::Signalled(_)) => {
            let value = value.map(|value| format!(", {value}")).unwrap_or_default();
            format!("killed (limit `{name}`{value})")
        }
        // A part of it was killed, or it was told of it and went on.
        (_, Ending::Exited(_) | Ending::TimedOut) => {
            let value = value.map(|value| format!(", {value}")).unwrap_or_default();
            format!("the command ran into a limit (`{name}`{value})")
        }
    }
}

fn value(name: LimitName, limits: &Limits) -> Option<String> {
    match name {
        LimitName::Cpu => limits.cpu.map(|span| span.to_string()),
        LimitName::FileSize => limits.file_size.map(|size| size.to_string()),
        LimitName::Memory => limits.memory.map(|size| size.to_string()),
        LimitName::OpenFiles => limits.open_files.map(|number| number.to_string()),
        LimitName::Output => limits.output.map(|size| size.to_string()),
        LimitName::Processes => limits.processes.map(|number| number.to_string()),
        LimitName::Scratch => limits.scratch.map(|size| size.to_string()),
        LimitName::Wall => limits.wall.map(|span| span.to_string()),
    }
}
