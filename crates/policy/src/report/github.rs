//! A report for GitHub: the worst ten as annotations of a step, which shows no more, and all of them in the job's summary.

use super::escape::{command_data, command_property};
use super::{Finding, Level, Rendered, Report, markdown};

/// How many annotations of a step are shown.
const SHOWN: usize = 10;

pub(super) fn render(report: &Report<'_>) -> Rendered {
    let mut worst: Vec<&Finding> = report.findings.iter().collect();
    // Stable: among equals the order of the report stays.
    worst.sort_by_key(|one| one.level);
    let mut text = String::new();
    for one in worst.iter().take(SHOWN) {
        text.push_str(&command(one));
    }
    text.push_str(&match report.findings.len().saturating_sub(SHOWN) {
        0 => format!("{}: {}\n", command_data(report.title), report.counted()),
        more => format!(
            "{}: {}; {more} more in the summary of the job\n",
            command_data(report.title),
            report.counted()
        ),
    });
    Rendered { text, summary: Some(markdown::render(report)) }
}

fn command(one: &Finding) -> String {
    let name = match one.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let place = one.place.as_ref().map_or_else(String::new, |place| {
        format!("file={},line={},col={},", command_property(&place.file), place.line, place.column)
    });
    let title = command_property(&format!("{} {}", one.code, one.subject));
    let mut message = command_data(&one.message);
    let steps = one.steps.iter().enumerate();
    message.extend(steps.map(|(number, step)| format!("%0A{}. {}", number + 1, command_data(&step.text))));
    if let Some(help) = &one.help {
        message.push_str(&format!("%0Ahelp: {}", command_data(help)));
    }
    format!("::{name} {place}title={title}::{message}\n")
}
