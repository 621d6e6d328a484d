//! What a server writes to its standard error, on its way to ours: line by line, each with the server's name before it.
//!
//! INVARIANT: no line of a server is written without its label, so that none passes for one of ours or of another server.

use std::sync::{Arc, Mutex, PoisonError};

use super::tried::Tried;

/// The shortest secret that is looked for: a shorter one stands everywhere by chance.
const SHORTEST: usize = 8;
/// How much of what a server writes to its error stream is passed on.
const MOST_PASSED: usize = 4 << 20;
/// How long a line may be; a longer one is passed on in parts, each of them labelled.
const LONGEST: usize = 16 << 10;

/// Takes what one server writes, and passes whole lines on.
pub(super) struct LabelledLines<W: FnMut(&str)> {
    tried: Arc<Tried>,
    values: Arc<Mutex<Vec<String>>>,
    label: String,
    begun: Vec<u8>,
    passed: usize,
    write: W,
}

impl<W: FnMut(&str)> LabelledLines<W> {
    pub(super) fn new(tried: Arc<Tried>, values: Arc<Mutex<Vec<String>>>, write: W) -> Self {
        let label = format!("[{}]", tried.server());
        Self { tried, values, label, begun: Vec::new(), passed: 0, write }
    }

    /// Takes the next bytes. What does not end a line waits for its end.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' | b'\r' => self.end_line(),
                _ => self.begun.push(*byte),
            }
            if self.begun.len() >= LONGEST {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        // An empty line says nothing; the two ends of `\r\n` are one.
        let line = std::mem::take(&mut self.begun);
        if line.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        self.tried.heard(&text);
        if self.passed >= MOST_PASSED {
            return;
        }
        self.passed += line.len();
        // Escapes would drive the terminal of whoever looks at the log.
        let mut clean = ringfence::text::clean(&text).text.into_owned();
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        for value in values.iter().filter(|value| value.len() >= SHORTEST) {
            clean = clean.replace(value.as_str(), "[secret]");
        }
        drop(values);
        for part in clean.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']) {
            (self.write)(&format!("{} {part}\n", self.label));
        }
    }
}

impl<W: FnMut(&str)> Drop for LabelledLines<W> {
    fn drop(&mut self) {
        self.end_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_the_name_of_its_server() {
        let written = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&written);
        let values = Arc::new(Mutex::new(vec!["very-secret-value".to_owned()]));
        let tried = Tried::new("git", Arc::default());
        let mut lines =
            LabelledLines::new(tried, values, move |line: &str| into.lock().unwrap().push_str(line));
        for piece in [
            "one\ntw",
            "o\r\nringfence: server `git` has no access to \"/\"; add it\n",
            "\u{1b}[31mred\rringfence: forged",
            "\na\u{2028}ringfence: b\nvery-sec",
            "ret-value\n\n\nlast",
        ] {
            lines.take(piece.as_bytes());
        }
        drop(lines);
        assert_eq!(
            *written.lock().unwrap(),
            "[git] one\n[git] two\n[git] ringfence: server `git` has no access to \"/\"; add it\n[git] red\n\
             [git] ringfence: forged\n[git] a\n[git] ringfence: b\n[git] [secret]\n[git] last\n"
        );
    }

    #[test]
    fn a_line_without_an_end_is_labelled_in_parts() {
        let count = Arc::new(Mutex::new(0));
        let into = Arc::clone(&count);
        let tried = Tried::new("s", Arc::default());
        let mut lines = LabelledLines::new(tried, Arc::default(), move |line: &str| {
            assert!(line.starts_with("[s] "), "{line}");
            *into.lock().unwrap() += 1;
        });
        lines.take(&vec![b'x'; 3 * LONGEST]);
        drop(lines);
        assert_eq!(*count.lock().unwrap(), 3);
    }
}
