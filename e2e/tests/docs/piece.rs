//! Rust on a page is a piece of a file that is compiled, and a piece of a toolbox may be one of an example.

use crate::docs::root;

/// Tells whether the lines stand in the file in this order; how far they are indented plays no part, nor what stands between.
pub(crate) fn is_in(file: &str, text: &str) -> Result<(), String> {
    let whole = std::fs::read_to_string(root().join(file)).map_err(|error| format!("`{file}`: {error}"))?;
    let (whole, piece) = (lines(&whole), lines(text));
    let mut rest = whole.iter();
    if piece.iter().all(|line| rest.any(|one| one == line)) {
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
