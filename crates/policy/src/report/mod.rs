//! Findings, and the formats they are shown in.
//!
//! Whoever compares manifests or looks at code makes [`Finding`]s; a [`Report`] shows them to a person, to a program or to a
//! forge. Much of a finding was written by somebody who may be hostile: names, messages, paths.
//!
//! INVARIANT: nothing that [`Report::render`] returns holds a control character other than a line break of ours, or one that
//! turns the direction of writing, and no text of a finding can become markup of the format.

mod escape;
mod finding;
mod format;
mod github;
mod human;
mod json;
mod markdown;
mod sarif;

use serde_json::Value;

use crate::explain;

pub use escape::{html, markdown, plain};
pub use finding::{FilePlace, Finding, Level, Step};
pub use format::{Colour, Format, FormatError, Rendered};

/// Findings, and what is needed to show them.
///
/// # Examples
///
/// ```
/// use ringfence_policy::report::{Colour, Finding, Format, Level, Report};
///
/// let finding = Finding {
///     code: "tool.network.widened".into(),
///     level: Level::Error,
///     subject: "tool fetch".into(),
///     message: "network: `*.x.test` → `*`".into(),
///     place: None,
///     help: None,
///     steps: Vec::new(),
/// };
/// let report = Report {
///     title: "ringfence manifest diff",
///     rules: &[("tool.network.widened", "a tool reaches more hosts")],
///     findings: vec![finding],
///     data: serde_json::Value::Null,
/// };
/// let text = report.render(Format::Human, Colour::Plain).text;
/// assert!(text.starts_with("error[tool.network.widened] tool fetch: network: `*.x.test` → `*`\n"));
/// ```
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The command that made it, such as `ringfence manifest diff`.
    pub title: &'a str,
    /// Every code that it may hold, with a short description.
    pub rules: &'a [(&'a str, &'a str)],
    /// What was found.
    pub findings: Vec<Finding>,
    /// An object whose fields stand beside the findings in JSON; anything else is left out.
    pub data: Value,
}

impl Report<'_> {
    /// Returns the report with the worst findings first, then by code, subject and message.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        let key = |one: &Finding| {
            (one.level, one.code.clone(), one.subject.clone(), one.place.clone(), one.message.clone())
        };
        self.findings.sort_by_cached_key(key);
        self
    }

    /// Shows the findings, in the order they are in.
    pub fn render(&self, format: Format, colour: Colour) -> Rendered {
        let text = match format {
            Format::Github => return github::render(self),
            Format::Human => human::render(self, colour),
            Format::Json => json::render(self),
            Format::Markdown => markdown::render(self),
            Format::Sarif => sarif::render(self),
        };
        Rendered { text, summary: None }
    }

    /// Returns what explains the errors: a line for every code that `ringfence explain` knows, each once, in the order they are in.
    /// For the end of what a person reads; a program has the codes.
    ///
    /// # Examples
    ///
    /// ```
    /// use ringfence_policy::report::{Finding, Level, Report};
    ///
    /// let finding = |code: &'static str, level| Finding {
    ///     code: code.into(),
    ///     level,
    ///     subject: "tool fetch".into(),
    ///     message: "wider".into(),
    ///     place: None,
    ///     help: None,
    ///     steps: Vec::new(),
    /// };
    /// let findings = vec![
    ///     finding("tool.network.widened", Level::Error),
    ///     finding("tool.network.widened", Level::Error),
    ///     finding("tool.description.changed", Level::Warning),
    ///     finding("somebody.elses", Level::Error),
    /// ];
    /// let report = Report { title: "", rules: &[], findings, data: serde_json::Value::Null };
    /// assert_eq!(report.explain_lines(), ["why: ringfence explain tool.network.widened"]);
    /// ```
    pub fn explain_lines(&self) -> Vec<String> {
        let errors = self.findings.iter().filter(|one| one.level == Level::Error);
        let mut lines: Vec<String> = Vec::new();
        for known in errors.filter_map(|one| explain::find(&one.code)) {
            let line = explain::explain_line(known.code);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|one| one.level == level).count()
    }

    /// Returns how many findings there are, in words: `2 errors, 1 note`.
    fn counted(&self) -> String {
        let words = Level::ALL.into_iter().filter_map(|level| match self.count(level) {
            0 => None,
            1 => Some(format!("1 {level}")),
            more => Some(format!("{more} {level}s")),
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() { "no findings".to_owned() } else { words.join(", ") }
    }
}

#[cfg(test)]
mod tests;
