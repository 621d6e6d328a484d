//! Telling an explanation: as text for a terminal, or as data.

use std::io::Write;

use super::case::Rule;
use super::judged::Explanation;
use crate::error::CommandError;
use crate::shown::{json_line, one_line};

/// How wide lines are.
const WIDTH: usize = 100;

/// Writes one JSON object.
pub(super) fn as_json(told: &Explanation, out: &mut dyn Write) -> Result<(), CommandError> {
    let value = serde_json::to_value(told).map_err(std::io::Error::from)?;
    writeln!(out, "{}", json_line(&value))?;
    Ok(())
}

/// Writes text, in the order in which somebody asks.
pub(super) fn as_text(told: &Explanation, out: &mut dyn Write) -> Result<(), CommandError> {
    let call = &told.call;
    let name = call.index.map_or_else(|| format!("{}/{}", call.run, call.number), |index| index.to_string());
    let ended = match &told.code {
        Some(code) => format!("was {}: {}", told.outcome, one_line(code)),
        None => "was done".to_owned(),
    };
    writeln!(out, "call {name}: `{}` {ended}", call.tool)?;
    let by = if call.asker.is_empty() { String::new() } else { format!(", asked by {}", call.asker) };
    writeln!(out, "  when       {}", call.at)?;
    writeln!(out, "  run        {} (session {}), proposed by {}{by}", call.run, call.session, call.proposer)?;
    if let Some(personality) = &call.personality {
        writeln!(out, "  under      {personality}")?;
    }
    writeln!(out, "  arguments  {}", call.arguments)?;
    if !told.said.is_empty() {
        writeln!(out, "  told       {}", told.said)?;
    }
    if let Some(meaning) = told.meaning {
        writeln!(out, "\nwhat happened\n{}", wrapped(meaning))?;
    }
    for note in &told.notes {
        writeln!(out, "{}", wrapped(note))?;
    }
    if !told.rules.is_empty() {
        writeln!(out, "\nwhich rule decided")?;
        for rule in &told.rules {
            self::rule(rule, told.policy.as_deref().unwrap_or_default(), out)?;
        }
        if let Some(side) = told.lacking {
            writeln!(out, "  to change: {}", sides(side))?;
        }
    }
    if !told.instead.is_empty() {
        let title =
            if told.change.is_some() { "what a person can do without a change" } else { "what to do" };
        listed(title, &told.instead, out)?;
    }
    if let Some(change) = &told.change {
        writeln!(out, "\nthe smallest change that would allow it (tried; nothing was written)")?;
        for line in change.diff.lines() {
            writeln!(out, "  {}", with_tabs(line))?;
        }
        listed("what that would also allow", &change.also, out)?;
        listed("and then", &change.then, out)?;
    }
    Ok(())
}

fn rule(rule: &Rule, file: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let place = match (rule.line, rule.column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        _ => file.to_owned(),
    };
    writeln!(out, "  {place}: {} {}: {}", rule.owner, rule.field, one_line(&rule.says))?;
    if let (Some(line), Some(text)) = (rule.line, &rule.text) {
        writeln!(out, "    {line} | {}", with_tabs(text))?;
    }
    Ok(())
}

fn sides(side: &str) -> &'static str {
    match side {
        "both" => "both the tool's declaration and the personality",
        "declaration" => "the tool's declaration",
        _ => "the personality",
    }
}

fn listed(title: &str, all: &[String], out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "\n{title}")?;
    for one in all {
        let text = wrapped(&one_line(one));
        writeln!(out, "  - {}", text.trim_start().replace('\n', "\n  "))?;
    }
    Ok(())
}

/// Returns a line of a file, whose tabs stay what they are.
fn with_tabs(line: &str) -> String {
    line.split('\t').map(one_line).collect::<Vec<_>>().join("\t")
}

/// Breaks a text into lines that are set in by two blanks.
pub(super) fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
    lines.join("\n")
}
