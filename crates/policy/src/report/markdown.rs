//! A report for a comment on a change or the summary of a job.

use super::escape::markdown;
use super::{FilePlace, Finding, Report};

pub(super) fn render(report: &Report<'_>) -> String {
    let mut text = format!("### {}\n\n{}\n", markdown(report.title), report.counted());
    if report.findings.is_empty() {
        return text;
    }
    text.push_str("\n| level | code | what | finding |\n|---|---|---|---|\n");
    for one in &report.findings {
        text.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            one.level,
            code(&one.code),
            markdown(&one.subject),
            finding(one)
        ));
    }
    text
}

fn finding(one: &Finding) -> String {
    let mut cell = markdown(&one.message);
    if let Some(place) = &one.place {
        cell.push_str(&format!(" at {}", at(place)));
    }
    for (number, step) in one.steps.iter().enumerate() {
        let place = step.place.as_ref().map(|place| format!(" ({})", at(place))).unwrap_or_default();
        cell.push_str(&format!("<br>{}. {}{place}", number + 1, markdown(&step.text)));
    }
    if let Some(help) = &one.help {
        cell.push_str(&format!("<br>help: {}", markdown(help)));
    }
    cell
}

fn at(place: &FilePlace) -> String {
    code(&format!("{}:{}:{}", place.file, place.line, place.column))
}

/// Returns a foreign text as code; what a backtick in it would end is escaped as prose.
fn code(text: &str) -> String {
    markdown(&format!("`{text}`"))
}
