//! The steps of a page: what is done, and what must come of it.

use std::process::Command;

use crate::elsewhere;
use crate::order::Order;
use crate::page::{Block, Part};
use crate::piece;

/// One step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// A command of the page.
    Command(Line),
    /// Something that a page needs: a function of `fixture.sh`.
    Fixture(String),
    /// Lines that a command prints in this order.
    Lines { line: usize, text: String, command: String },
    /// What the commands of the block before have printed.
    Shown { line: usize, text: String, whole: bool, captures: Vec<String> },
    /// A file that the page shows.
    Write { line: usize, path: String, text: String, appended: bool },
    /// A toolbox that the page shows.
    Check { line: usize, text: String },
}

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

/// Turns a page into steps.
pub(crate) fn steps(parts: &[Part]) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for part in parts {
        match part {
            Part::Fixture(name) => steps.push(Step::Fixture(name.clone())),
            Part::Block(block) => {
                let place = |what: String| format!("line {}: {what}", block.line);
                steps.extend(of_block(block).map_err(place)?);
            }
        }
    }
    Ok(steps)
}

fn of_block(block: &Block) -> Result<Vec<Step>, String> {
    let has = |order: &Order| block.orders.contains(order);
    let (line, text) = (block.line, block.text.clone());
    let captures: Vec<String> = block
        .orders
        .iter()
        .filter_map(|order| if let Order::Capture(word) = order { Some(word.clone()) } else { None })
        .collect();
    let written = block.orders.iter().find_map(|order| match order {
        Order::File(path) => Some((path.clone(), false)),
        Order::Append(path) => Some((path.clone(), true)),
        _ => None,
    });
    if let Some((path, appended)) = written {
        return Ok(vec![Step::Write { line, path, text, appended }]);
    }
    let whole = block.orders.iter().find_map(|order| if let Order::Excerpt(file) = order { Some(file) } else { None });
    if let Some(file) = whole {
        return piece::is_in(file, &text).map(|()| Vec::new());
    }
    if let Some(command) = lines_of(block) {
        return Ok(vec![Step::Lines { line, text, command }]);
    }
    match block.language.as_str() {
        "sh" | "console" | "yaml" => commands(block, &captures),
        "text" if has(&Order::Picture) => Ok(Vec::new()),
        "text" if has(&Order::Output) => Ok(vec![Step::Shown { line, text, whole: true, captures }]),
        "text" if has(&Order::Within) => Ok(vec![Step::Shown { line, text, whole: false, captures }]),
        "toml" if has(&Order::Check) => Ok(vec![Step::Check { line, text }]),
        other => Err(format!("nothing says what this block (`{other}`) is for: a file, an output, a toolbox, …")),
    }
}

fn lines_of(block: &Block) -> Option<String> {
    block.orders.iter().find_map(|order| if let Order::Lines(command) = order { Some(command.clone()) } else { None })
}

fn commands(block: &Block, captures: &[String]) -> Result<Vec<Step>, String> {
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
        let target = which.checked_sub(1).and_then(|at| lines.get_mut(at)).ok_or(format!("`{line}` names no command"))?;
        match order {
            Order::Exit { code, .. } => target.exit = *code,
            Order::Background { until, .. } => target.background = Some(until.clone()),
            _ => {}
        }
    }
    for line in &mut lines {
        line.captures = captures.to_vec();
    }
    lines.retain(|line| !elsewhere::runs(&line.text));
    if let Some(first) = lines.first_mut() {
        first.first = true;
    }
    Ok(lines.into_iter().map(Step::Command).collect())
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

#[test]
fn blocks_become_commands() {
    let lines = |language: &str, text: &str, orders: Vec<Order>| {
        let block = Block { line: 10, language: language.to_owned(), text: text.to_owned(), orders };
        let line = |step| match step {
            Step::Command(line) => line,
            other => panic!("{other:?}"),
        };
        of_block(&block).unwrap().into_iter().map(line).collect::<Vec<_>>()
    };
    let exit = Order::Exit { which: None, code: 4 };
    let found = lines("sh", "# said\na \\\n  b\n(umask 077 &&\n c) # d\ncat <<X\nx\nX\n", vec![exit]);
    let texts: Vec<_> = found.iter().map(|line| (line.line, line.text.as_str(), line.exit)).collect();
    assert_eq!(texts, [(11, "a \\\n  b", 0), (13, "(umask 077 &&\n c) # d", 0), (15, "cat <<X\nx\nX", 4)]);
    let found = lines("console", "$ a \\\n  b\nsaid\n\nmore\n$ c\n", Vec::new());
    assert_eq!(found.first().unwrap().shown.as_deref(), Some("said\n\nmore\n"));
    assert_eq!(found.get(1).map(|line| (line.text.as_str(), line.shown.clone())), Some(("c", None)));
    assert_eq!(lines("yaml", "- run: a\n- run: b | c\n", Vec::new()).len(), 2);
    assert_eq!(lines("sh", "script/test --fast\nls\n", Vec::new()).len(), 1, "CI runs the first");
}

#[test]
fn a_block_that_says_nothing_is_wrong() {
    for (language, text) in [("toml", "a = 1\n"), ("json", "{}\n"), ("text", "said\n"), ("", "ls\n"), ("rust", "fn a() {}\n"), ("sh", "echo 'a\n")] {
        let block = Block { language: language.to_owned(), text: text.to_owned(), ..Block::default() };
        assert!(of_block(&block).is_err(), "{language}");
    }
}
