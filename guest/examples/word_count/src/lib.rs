//! A tool that reads: the size of a text file, wherever the personality permits reading.

use std::fs::File;
use std::io::{BufRead, BufReader};

use ringfence_guest::{Failure, tool};

/// The arguments of a call.
#[derive(serde::Deserialize)]
struct Input {
    path: String,
}

/// What was counted.
#[derive(Debug, Default, Eq, PartialEq, serde::Serialize)]
struct Output {
    lines: u64,
    words: u64,
    bytes: u64,
}

/// Opens the file; whether it may is not this tool's business.
fn word_count(input: Input) -> Result<Output, Failure> {
    let file = File::open(&input.path).map_err(|error| Failure::new(format!("`{}`: {error}", input.path)))?;
    count(BufReader::new(file))
}

/// Counts line by line, so that a large file needs little memory.
fn count(mut text: impl BufRead) -> Result<Output, Failure> {
    let mut output = Output::default();
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line)? != 0 {
        output.lines += 1;
        output.bytes += line.len() as u64;
        output.words += line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count() as u64;
        line.clear();
    }
    Ok(output)
}

tool! {
    declaration: "tool.json",
    call: word_count,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_a_last_line_without_an_end() {
        assert_eq!(count(&b"one two\nthree"[..]).unwrap(), Output { lines: 2, words: 3, bytes: 13 });
        assert_eq!(count(&b""[..]).unwrap(), Output::default());
    }
}
