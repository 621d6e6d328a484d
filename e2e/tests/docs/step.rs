//! The steps of a page: what is done, and what must come of it.

use crate::docs::command::{self, Line};
use crate::docs::elsewhere;
use crate::docs::order::Order;
use crate::docs::page::{Block, Part};
use crate::docs::piece;

/// One step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// A command of the page.
    Command(Line),
    /// Something that a page needs: a function of `fixture.sh`.
    Fixture(String),
    /// Lines that a command prints in this order.
    Lines { line: usize, text: String, command: String },
    /// What a command, or else those of the block before, have printed.
    Shown { line: usize, text: String, from: Option<String>, whole: bool, captures: Vec<String> },
    /// A file that the page shows.
    Write { line: usize, path: String, text: String, appended: bool },
    /// A toolbox that the page shows.
    Check { line: usize, text: String },
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
    let (line, text) = (block.line, block.text.clone());
    let captures = || block.captures().map(str::to_owned).collect::<Vec<_>>();
    for order in &block.orders {
        let step = match (order, block.language.as_str()) {
            (Order::Append(path), _) => Step::Write { line, path: path.clone(), text, appended: true },
            (Order::Check, "toml") => Step::Check { line, text },
            (Order::Excerpt(file), _) => return piece::is_in(file, &text).map(|()| Vec::new()),
            (Order::File(path), _) => Step::Write { line, path: path.clone(), text, appended: false },
            (Order::Lines(command), "text") => Step::Lines { line, text, command: command.clone() },
            (Order::Output, "text") => {
                Step::Shown { line, text, from: None, whole: true, captures: captures() }
            }
            (Order::Picture, "text") => return Ok(Vec::new()),
            (Order::Within(from), "text") => {
                Step::Shown { line, text, from: from.clone(), whole: false, captures: captures() }
            }
            (Order::Background { .. } | Order::Capture(_) | Order::Exit { .. } | Order::Fixture(_), _) => {
                continue;
            }
            (order, language) => return Err(format!("{order:?} does not go with a block of `{language}`")),
        };
        return Ok(vec![step]);
    }
    match block.language.as_str() {
        "sh" | "console" | "yaml" => {
            let lines = command::lines(block)?.into_iter().filter(|line| !elsewhere::runs(&line.text));
            let first = |(index, line)| Step::Command(Line { first: index == 0, ..line });
            Ok(lines.enumerate().map(first).collect())
        }
        other => {
            Err(format!("nothing says what this block (`{other}`) is for: a file, an output, a toolbox, …"))
        }
    }
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
    for (language, text) in [
        ("toml", "a = 1\n"),
        ("json", "{}\n"),
        ("text", "said\n"),
        ("", "ls\n"),
        ("rust", "fn a() {}\n"),
        ("sh", "echo 'a\n"),
    ] {
        let block = Block { language: language.to_owned(), text: text.to_owned(), ..Block::default() };
        assert!(of_block(&block).is_err(), "{language}");
    }
}
