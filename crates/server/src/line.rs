//! Reading lines of bounded length, and writing lines.

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::oversize::{Oversize, OversizeScan};

/// One line that was read.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Line {
    /// A line without its end.
    Text(String),
    /// A line that is longer than it may be, and was skipped; what it is an answer to is kept.
    TooLong(Vec<Oversize>),
    /// A line that is not UTF-8.
    NotText,
}

/// Reads lines; a line that is too long costs no more memory than one that is not.
pub(crate) struct Lines<R> {
    from: R,
    line: Vec<u8>,
    most: usize,
}

/// How much of the room for one line is kept for the next.
const KEPT: usize = 64 << 10;

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) const fn new(from: R, most: usize) -> Self {
        Self { from, line: Vec::new(), most }
    }

    /// Returns the next line that is not empty; nothing at the end. What stands at the end without a line end is half a
    /// message, and is left out.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            self.line.clear();
            self.line.shrink_to(KEPT);
            let mut too_long: Option<OversizeScan> = None;
            let ended = loop {
                let available = self.from.fill_buf().await?;
                if available.is_empty() {
                    break false;
                }
                let end = available.iter().position(|byte| *byte == b'\n');
                let piece = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
                if too_long.is_none() && self.line.len() + piece.len() > self.most {
                    let mut scan = OversizeScan::default();
                    scan.take(&self.line);
                    too_long = Some(scan);
                    self.line.clear();
                    self.line.shrink_to(KEPT);
                }
                match &mut too_long {
                    Some(scan) => scan.take(piece),
                    None => self.line.extend_from_slice(piece),
                }
                let used = end.map_or(available.len(), |end| end + 1);
                self.from.consume(used);
                if end.is_some() {
                    break true;
                }
            };
            if !ended {
                return Ok(None);
            }
            if let Some(scan) = too_long {
                return Ok(Some(Line::TooLong(scan.finish())));
            }
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
            if self.line.is_empty() {
                continue;
            }
            return Ok(Some(match std::str::from_utf8(&self.line) {
                Ok(text) => Line::Text(text.to_owned()),
                Err(_) => Line::NotText,
            }));
        }
    }
}

/// How much is written at once.
const BUFFER: usize = 16 << 10;

/// Writes lines as they come, what waits together, until no more come or nobody reads them.
pub(crate) async fn write_lines(mut to: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<String>) {
    let mut buffer = Vec::new();
    while let Some(line) = lines.recv().await {
        buffer.clear();
        buffer.shrink_to(BUFFER);
        buffer.extend_from_slice(line.as_bytes());
        buffer.push(b'\n');
        while buffer.len() < BUFFER
            && let Ok(line) = lines.try_recv()
        {
            buffer.extend_from_slice(line.as_bytes());
            buffer.push(b'\n');
        }
        if to.write_all(&buffer).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Id;

    #[tokio::test]
    async fn long_lines_are_skipped_and_the_next_is_read() {
        let text = b"one\r\n\n0123456789A\ntwo\n{\"a\":1,\"id\":7}\n\xff\nhalf".to_vec();
        let mut lines = Lines::new(tokio::io::BufReader::with_capacity(4, &text[..]), 10);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        assert_eq!(
            all,
            [
                Line::Text("one".into()),
                Line::TooLong(Vec::new()),
                Line::Text("two".into()),
                Line::TooLong(vec![Oversize { id: Some(Id::Number(7)), has_method: false }]),
                Line::NotText
            ]
        );
    }
}
