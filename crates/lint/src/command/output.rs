//! Writing what was found.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use ringfence_lint::judge::{Outcome, RULES, Subject};
use ringfence_lint::{Analysis, Effect, EffectSet};
use ringfence_policy::report::{Colour, Finding, Format, Level, Report, plain};
use serde_json::json;

use super::{Args, CommandError};

/// What the exit code says when there are errors.
const FINDINGS: u8 = 4;

pub(super) fn write(
    args: &Args,
    engine: &'static str,
    analysis: &Analysis,
    subjects: &[Subject],
    findings: Vec<Finding>,
    outcomes: &[Outcome],
) -> Result<ExitCode, CommandError> {
    let has_errors = findings.iter().any(|finding| finding.level == Level::Error);
    let tools: Vec<serde_json::Value> = outcomes
        .iter()
        .map(|outcome| {
            json!({
                "name": outcome.name, "engine": engine, "effects": outcome.effects, "declared": outcome.declared,
                "dependencies": outcome.dependencies,
            })
        })
        .collect();
    let data = json!({
        "engine": engine, "tools": tools, "functions": analysis.functions, "packages": analysis.packages,
    });
    let report = Report { title: "ringfence lint", rules: RULES, findings, data }.sorted();
    let format = args.format();
    let mut out = std::io::stdout().lock();
    let colour =
        if out.is_terminal() { Colour::of_terminal(|name| std::env::var_os(name)) } else { Colour::Plain };
    let rendered = report.render(format, colour);
    if format == Format::Human {
        out.write_all(table(args, engine, analysis, subjects).as_bytes())?;
    }
    out.write_all(rendered.text.as_bytes())?;
    if format == Format::Human {
        for line in report.explain_lines() {
            writeln!(out, "{line}")?;
        }
    }
    if let (Some(summary), Some(file)) = (rendered.summary, std::env::var_os("GITHUB_STEP_SUMMARY")) {
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
        opened.and_then(|mut file| file.write_all(summary.as_bytes()))?;
    }
    out.flush()?;
    Ok(if has_errors { ExitCode::from(FINDINGS) } else { ExitCode::SUCCESS })
}

/// One line for each subject, and in an inventory for each function and package that does something.
fn table(args: &Args, engine: &str, analysis: &Analysis, subjects: &[Subject]) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for subject in subjects {
        let used: EffectSet = subject.uses.iter().map(|one| one.effect).collect();
        lines.push((subject.label(), names(used)));
    }
    if args.inventory {
        let functions = analysis.functions.iter().filter(|one| !one.uses.is_empty());
        lines.extend(functions.map(|one| (format!("function {}", one.function), names(one.effects()))));
        let packages = analysis.packages.iter().filter(|one| !one.holds.is_empty());
        lines.extend(packages.map(|one| (format!("package {}", one.id()), names(one.holds))));
    }
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(70);
    let mut text = String::new();
    for (name, effects) in lines {
        text.push_str(&format!("{:<width$}  {effects}\n", plain(&name)));
    }
    let count = analysis.packages.len();
    let packages = if count == 1 { "package" } else { "packages" };
    text.push_str(&format!("{count} {packages}, engine {engine}\n\n"));
    text
}

fn names(effects: EffectSet) -> String {
    if effects.is_empty() {
        return "nothing".to_owned();
    }
    effects.iter().map(Effect::name).collect::<Vec<_>>().join(" ")
}
