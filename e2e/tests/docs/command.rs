//! The commands of a block, each with what must come of it.

use std::process::Command;

use crate::docs::order::Order;
use crate::docs::page::Block;

/// A command with what must come of it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Line {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) exit: i32,
    /// What it prints when it has begun, where it goes on to the end of the page.
    pub(crate) background: Option<String>,
    /// What the page shows below it.
    pub(crate) shown: Option<String>,
    /// Whether it is the first of its block.
    pub(crate) first: bool,
    pub(crate) captures: Vec<String>,
}

/// Takes a block of `sh`, `console` or `yaml` apart.
pub(crate) fn lines(block: &Block) -> Result<Vec<Line>, String> {
    let mut lines = match block.language.as_str() {
        "console" => console(block)?,
        "yaml" => yaml(block)?,
        _ => plain(block)?,
    };
    let count = lines.len();
    for order in &block.orders {
        let (which, line) = match order {
            Order::Exit { which, .. } => (which.unwrap_or(count), "exit"),
            Order::Background { which, .. } => (which.unwrap_or(count), "background"),
            Order::Capture(_) => continue,
            other => return Err(format!("{other:?} does not go with commands")),
        };
        let target = which
            .checked_sub(1)
            .and_then(|at| lines.get_mut(at))
            .ok_or(format!("`{line}` names no command"))?;
        match order {
            Order::Exit { code, .. } => target.exit = *code,
            Order::Background { until, .. } => target.background = Some(until.clone()),
            _ => {}
        }
    }
    for line in &mut lines {
        line.captures = block.captures().map(str::to_owned).collect();
    }
    Ok(lines)
}

/// One command after the other; a line that begins with `#` is a comment.
fn plain(block: &Block) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Line> = Vec::new();
    let mut open: Option<Line> = None;
    for (index, text) in block.text.lines().enumerate() {
        let line = match open.take() {
            Some(mut line) => {
                line.text.push('\n');
                line.text.push_str(text);
                line
            }
            None if text.trim().is_empty() || text.starts_with('#') => continue,
            None => Line { line: block.line + index, text: text.to_owned(), ..Line::default() },
        };
        if is_whole(&line.text) { lines.push(line) } else { open = Some(line) }
    }
    match open {
        Some(line) => Err(format!("the command of line {} has no end", line.line)),
        None => Ok(lines),
    }
}

/// Commands behind `$ `, each with what it prints below.
fn console(block: &Block) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Line> = Vec::new();
    let mut is_open = false;
    for (index, text) in block.text.lines().enumerate() {
        match (text.strip_prefix("$ "), lines.last_mut()) {
            (Some(command), _) if !is_open => {
                lines.push(Line { line: block.line + index, text: command.to_owned(), ..Line::default() });
                is_open = !is_whole(command);
            }
            (_, Some(line)) if is_open => {
                line.text.push('\n');
                line.text.push_str(text);
                is_open = !is_whole(&line.text);
            }
            (_, Some(line)) => {
                let shown = line.shown.get_or_insert_default();
                shown.push_str(text);
                shown.push('\n');
            }
            (_, None) => return Err("a console begins with `$ ` and a command".to_owned()),
        }
    }
    if is_open { Err("the last command has no end".to_owned()) } else { Ok(lines) }
}

/// The steps of a job.
fn yaml(block: &Block) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (index, text) in block.text.lines().enumerate() {
        let command = text.trim().strip_prefix("- run: ").ok_or("every line of a job is `- run: COMMAND`")?;
        lines.push(Line { line: block.line + index, text: command.to_owned(), ..Line::default() });
    }
    Ok(lines)
}

/// Whether the shell would not wait for more.
fn is_whole(command: &str) -> bool {
    let said = Command::new("bash").args(["-n", "-c", command]).output().unwrap();
    !command.ends_with('\\') && said.status.success() && said.stderr.is_empty()
}
