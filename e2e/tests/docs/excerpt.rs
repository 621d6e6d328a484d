//! Rust on a page is a piece of a file that is compiled.

use crate::root;

/// Tells whether the lines stand in the file one after the other; how far they are indented plays no part.
pub(crate) fn is_in(file: &str, text: &str) -> Result<(), String> {
    let whole = std::fs::read_to_string(root().join(file)).map_err(|error| format!("`{file}`: {error}"))?;
    let (whole, piece) = (lines(&whole), lines(text));
    if whole.windows(piece.len().max(1)).any(|window| window == piece) {
        return Ok(());
    }
    let first = piece.iter().find(|line| !whole.contains(line));
    Err(match first {
        Some(line) => format!("`{file}` does not hold the line `{line}`"),
        None => format!("`{file}` holds these lines, and not in this order"),
    })
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}
