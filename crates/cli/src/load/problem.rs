//! What is wrong with a toolbox, and how it is told.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use ringfence::policy::explain::{ProblemCode, explain_line};
use ringfence::policy::{DocumentError, EntryGap, Gap, Places, Table};

/// One thing that is wrong with a toolbox.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Problem {
    /// What kind of problem it is, for `ringfence explain`.
    pub(crate) code: ProblemCode,
    /// Line and column, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
    /// The kind of entry, where it is not a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) table: Option<Table>,
    /// The tool or the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capability: Option<String>,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

impl Problem {
    pub(super) fn at(code: ProblemCode, place: Option<(usize, usize)>, message: String) -> Self {
        let (line, column) = place.unzip();
        Self { code, line, column, table: None, tool: None, capability: None, message, fix: None }
    }

    pub(super) fn of_shape(error: DocumentError) -> Self {
        let place = (error.line > 0).then_some((error.line, error.column));
        Self::at(ProblemCode::Syntax, place, error.message)
    }

    pub(super) fn of(gap: Gap, places: Option<&Places<'_>>) -> Self {
        let place = places.and_then(|places| places.tool(gap.tool.as_str(), &gap.capability));
        let code = ProblemCode::of_field(None, &gap.capability);
        Self {
            tool: Some(gap.tool.to_string()),
            capability: Some(gap.capability.into_owned()),
            fix: Some(gap.fix),
            ..Self::at(code, place, gap.message)
        }
    }

    pub(super) fn of_entry(gap: EntryGap, places: Option<&Places<'_>>) -> Self {
        let place = places.and_then(|places| match gap.table {
            Table::Agent => places.agent(&gap.name, &gap.field),
            Table::Console => places.console(&gap.field),
            Table::Gateway => places.gateway(&gap.field),
            Table::Server => places.server(&gap.name, &gap.field),
        });
        Self {
            table: Some(gap.table),
            code: ProblemCode::of_field(Some(gap.table), &gap.field),
            tool: Some(gap.name).filter(|name| !name.is_empty()),
            capability: Some(gap.field.into_owned()),
            fix: Some(gap.fix),
            ..Self::at(ProblemCode::Tool, place, gap.message)
        }
    }
}

/// Writes problems as `file:line:column: tool field: message` with the fix below, and at the end what explains them.
pub(crate) fn listed(path: &Path, problems: &[Problem]) -> String {
    let mut text = String::new();
    for problem in problems {
        let _written = write!(text, "{}", path.display());
        if let (Some(line), Some(column)) = (problem.line, problem.column) {
            let _written = write!(text, ":{line}:{column}");
        }
        let kind = problem.table.map_or_else(|| "tool".to_owned(), |table| table.to_string());
        let _written = match (&problem.tool, &problem.capability) {
            (Some(name), Some(field)) => write!(text, ": {kind} `{name}` {field}"),
            (None, Some(field)) => write!(text, ": {kind} {field}"),
            (_, None) => Ok(()),
        };
        let _written = writeln!(text, ": {}", problem.message);
        if let Some(fix) = &problem.fix {
            let _written = writeln!(text, "  fix: {fix}");
        }
    }
    let codes: BTreeSet<ProblemCode> = problems.iter().map(|problem| problem.code).collect();
    for code in codes {
        let _written = writeln!(text, "{}", explain_line(code.as_str()));
    }
    text
}
