//! The blocks of a page, and what is ordered between them.

use crate::docs::order::{self, Order};

/// What stands on a page for these tests, in its order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Part {
    Fixture(String),
    Block(Block),
}

/// A fenced block.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Block {
    /// The line of its first line.
    pub(crate) line: usize,
    pub(crate) language: String,
    pub(crate) text: String,
    pub(crate) orders: Vec<Order>,
}

impl Block {
    /// The words whose places in what is printed are remembered.
    pub(crate) fn captures(&self) -> impl Iterator<Item = &str> {
        self.orders
            .iter()
            .filter_map(|order| if let Order::Capture(word) = order { Some(word.as_str()) } else { None })
    }
}

/// Reads a page. What is wrong with it comes with the line.
pub(crate) fn read(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut orders: Vec<Order> = Vec::new();
    // The block that is open: its indentation and its fence.
    let mut open: Option<(usize, String, Block)> = None;
    let mut before = "";
    let mut in_list = false;
    for (index, line) in text.lines().enumerate() {
        let place = |what: String| format!("line {}: {what}", index + 1);
        if let Some((indent, fence, mut block)) = open.take() {
            if line.trim() == fence {
                parts.push(Part::Block(block));
            } else {
                let cut =
                    line.char_indices().take_while(|(at, letter)| *at < indent && *letter == ' ').count();
                block.text.push_str(line.get(cut..).unwrap_or_default());
                block.text.push('\n');
                open = Some((indent, fence, block));
            }
            before = line;
            continue;
        }
        let shifted = line.trim_start();
        let indent = line.len() - shifted.len();
        if let Some(read) = order::read(line) {
            for one in read.map_err(place)? {
                match one {
                    Order::Fixture(name) => parts.push(Part::Fixture(name)),
                    other => orders.push(other),
                }
            }
        } else if shifted.starts_with("```") {
            let fence: String = shifted.chars().take_while(|letter| *letter == '`').collect();
            let language = shifted.trim_start_matches('`').trim().to_owned();
            let block =
                Block { line: index + 2, language, text: String::new(), orders: std::mem::take(&mut orders) };
            open = Some((indent, fence, block));
        } else {
            if !shifted.is_empty() && !orders.is_empty() {
                return Err(place(format!("{orders:?} is not followed by a block")));
            }
            if indent >= 4 && before.trim().is_empty() && !in_list {
                return Err(place("a block without a fence: nothing says what it is".to_owned()));
            }
            if indent == 0 && !shifted.is_empty() {
                let numbered =
                    shifted.trim_start_matches(|letter: char| letter.is_ascii_digit()).starts_with(". ");
                in_list = shifted.starts_with("- ") || shifted.starts_with("* ") || numbered;
            }
        }
        before = line;
    }
    match open {
        Some((_, _, block)) => Err(format!("line {}: the block has no end", block.line)),
        None if !orders.is_empty() => Err(format!("{orders:?} is not followed by a block")),
        None => Ok(parts),
    }
}

#[test]
fn blocks_and_orders_are_found() {
    let page = "# A\n\n<!-- docs-test: fixture=x -->\n\n<!-- docs-test: exit=3 -->\n```sh\na\n\n  b\n```\n\n1. one\n\n    more\n\n   ```text\n   c\n   ```\n";
    let block = |line, language: &str, text: &str, orders| {
        Part::Block(Block { line, language: language.to_owned(), text: text.to_owned(), orders })
    };
    let expected = [
        Part::Fixture("x".to_owned()),
        block(7, "sh", "a\n\n  b\n", vec![Order::Exit { which: None, code: 3 }]),
        block(17, "text", "c\n", Vec::new()),
    ];
    assert_eq!(read(page).unwrap(), expected);
    for wrong in
        ["```sh\na\n", "<!-- docs-test: exit=3 -->\ntext\n", "text\n\n    ls\n", "<!-- docs-test: what -->\n"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
