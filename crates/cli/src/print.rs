//! The command's own output: the one way to the terminal.
//!
//! INVARIANT: whatever is written, no control character other than a line break or a tab reaches the stream, nor one that turns the
//! direction of writing or shows nothing, nor a byte that is not UTF-8: each is spelled out. Names of files, links, shebangs and records are
//! foreign text, and so is every message that quotes them. What stands in [`line`] stays on its line, too.
//!
//! Escapes are spelled as JSON does, so that JSON stays the same value. Only two things pass untouched: what a command in the sandbox
//! writes, which is its own ([`passed_output`], [`passed_errors`]), and our own colours ([`coloured`]).

use std::io::{self, IsTerminal, Stderr, StderrLock, Stdout, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use ringfence::policy::report::{Colour, plain};

/// A stream that spells out what a terminal would obey.
#[derive(Debug)]
pub(crate) struct Printer<W> {
    stream: W,
    /// The beginning of a character whose rest was not written yet.
    begun: Vec<u8>,
}

/// Returns standard output.
pub(crate) fn output() -> Printer<Stdout> {
    // Not locked: what a container writes is passed on by another thread.
    Printer::new(own_output())
}

/// Ends what a command may have begun on a terminal (a title, a string that hides all that follows, colours), and starts a line.
pub(crate) const FRESH_LINE: &str = "\x18\x1b\\\x1b[0m\r\n";

/// What the output of a command may have begun, and did not end.
#[derive(Debug)]
struct Begun {
    /// Whether a terminal may hide or colour what follows.
    has_obeyed: AtomicBool,
    /// Whether it ended within a line.
    is_mid_line: AtomicBool,
}

impl Begun {
    const fn new() -> Self {
        Self { has_obeyed: AtomicBool::new(false), is_mid_line: AtomicBool::new(false) }
    }

    fn note(&self, bytes: &[u8]) {
        if bytes.iter().any(is_obeyed_byte) {
            self.has_obeyed.store(true, Ordering::Relaxed);
        }
        if let Some(last) = bytes.last() {
            self.is_mid_line.store(*last != b'\n', Ordering::Relaxed);
        }
    }

    /// Returns what ends it.
    fn end(&self) -> &'static str {
        let has_obeyed = self.has_obeyed.swap(false, Ordering::Relaxed);
        let is_mid_line = self.is_mid_line.swap(false, Ordering::Relaxed);
        match (has_obeyed, is_mid_line) {
            (true, _) => FRESH_LINE,
            (false, true) => "\n",
            (false, false) => "",
        }
    }
}

/// What was passed on to standard output.
static OUTPUT: Begun = Begun::new();
/// What was passed on to the error stream.
static ERRORS: Begun = Begun::new();

/// Returns the error stream, and keeps it from other threads. After output of a command it starts a line of its own.
pub(crate) fn errors() -> Printer<StderrLock<'static>> {
    let stream = own_errors();
    let mut locked = stream.lock();
    // Standard output may go to the same terminal, or into the same pipe.
    let others = if goes_where_output_goes() { OUTPUT.end() } else { "" };
    // Of both, the one that ends more: what ends an escape sorts behind a line break, and that behind nothing.
    let end = ERRORS.end().max(others);
    let end = if stream.is_terminal() && !end.is_empty() { FRESH_LINE } else { end };
    // What cannot be written now fails again with the message.
    let _written = locked.write_all(end.as_bytes());
    Printer::new(locked)
}

/// Says what is wrong with the command line, or what help was asked for. Words of the command line may be foreign, too.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let mut text = error.render().to_string();
    // A word with a line break would look like a line of ours.
    for word in std::env::args_os().map(|word| word.to_string_lossy().into_owned()) {
        let value = word.split_once('=').map_or("", |(_, value)| value);
        for foreign in [word.as_str(), value].into_iter().filter(|foreign| foreign.contains('\n')) {
            text = text.replace(foreign, &line(foreign));
        }
    }
    let is_foreign = text != error.render().to_string() || text.chars().any(is_unprintable);
    let _told = match (is_foreign, error.use_stderr()) {
        (false, _) => error.print(),
        (true, true) => errors().write_all(text.as_bytes()),
        (true, false) => output().write_all(text.as_bytes()),
    };
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Returns a text on one line: line breaks, and all that a terminal would obey, are spelled out.
pub(crate) fn line(text: &str) -> String {
    plain(text)
}

/// Output of a command, which is passed on as it is.
#[derive(Debug)]
pub(crate) struct Passed<W>(W, &'static Begun);

impl<W: Write> Write for Passed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Before it is written: another thread may have something to say in between.
        self.1.note(bytes);
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Tells whether both streams are one file, pipe or terminal.
fn goes_where_output_goes() -> bool {
    use std::os::fd::AsFd as _;
    let output = rustix::fs::fstat(own_output().as_fd());
    let errors = rustix::fs::fstat(own_errors().as_fd());
    matches!((output, errors), (Ok(one), Ok(other)) if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

/// Tells whether a terminal may obey a byte: it begins or is a control character other than a line break or a tab.
const fn is_obeyed_byte(byte: &u8) -> bool {
    matches!(byte, 0..=8 | 11..=31 | 127..=159)
}

/// Returns standard output for what a command in the sandbox writes.
pub(crate) fn passed_output() -> Passed<Stdout> {
    Passed(own_output(), &OUTPUT)
}

/// Returns the error stream for what a command in the sandbox writes.
pub(crate) fn passed_errors() -> Passed<Stderr> {
    Passed(own_errors(), &ERRORS)
}

/// Returns the error stream for lines of our own that are drawn again and again.
pub(crate) fn drawn_errors() -> Stderr {
    own_errors()
}

/// Writes a text that holds colours of our own, and no foreign text that was not made plain.
pub(crate) fn coloured(out: &mut dyn Write, colour: Colour, text: &str) -> io::Result<()> {
    match colour {
        Colour::Ansi => {
            out.flush()?;
            let mut stream = own_output();
            stream.write_all(text.as_bytes())?;
            stream.flush()
        }
        Colour::Plain => out.write_all(text.as_bytes()),
    }
}

/// Tells whether somebody may look at standard output.
pub(crate) fn output_is_terminal() -> bool {
    own_output().is_terminal()
}

/// Tells whether somebody may look at the error stream.
pub(crate) fn errors_are_terminal() -> bool {
    own_errors().is_terminal()
}

/// Returns a descriptor of standard output, for a protocol that is spoken there.
pub(crate) fn output_descriptor() -> io::Result<OwnedFd> {
    use std::os::fd::AsFd as _;
    own_output().as_fd().try_clone_to_owned()
}

#[expect(clippy::disallowed_methods, reason = "everybody else goes through here")]
fn own_output() -> Stdout {
    io::stdout()
}

#[expect(clippy::disallowed_methods, reason = "everybody else goes through here")]
fn own_errors() -> Stderr {
    io::stderr()
}

impl<W: Write> Printer<W> {
    fn new(stream: W) -> Self {
        Self { stream, begun: Vec::new() }
    }

    /// Writes bytes of which the last character is complete, or never will be.
    fn write_whole(&mut self, bytes: &[u8]) -> io::Result<()> {
        for chunk in bytes.utf8_chunks() {
            self.write_text(chunk.valid())?;
            for byte in chunk.invalid() {
                write!(self.stream, "\\u{{{byte:02x}}}")?;
            }
        }
        Ok(())
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(is_unprintable) {
            let (before, after) = rest.split_at(at);
            self.stream.write_all(before.as_bytes())?;
            let mut characters = after.chars();
            if let Some(c) = characters.next() {
                // As in JSON, where a character beyond the first plane is a pair.
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(self.stream, "\\u{unit:04x}")?;
                }
            }
            rest = characters.as_str();
        }
        self.stream.write_all(rest.as_bytes())
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined = [self.begun.as_slice(), bytes].concat();
        let (whole, begun) = joined.split_at(joined.len() - unfinished(&joined));
        self.begun = begun.to_vec();
        self.write_whole(whole)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        self.write_whole(&begun)?;
        self.stream.flush()
    }
}

/// Tells whether a terminal would obey a character, or show nothing for it.
const fn is_unprintable(c: char) -> bool {
    ringfence::text::is_invisible(c)
}

/// Returns how many bytes at the end begin a character that is not complete.
fn unfinished(bytes: &[u8]) -> usize {
    let end = bytes.len().saturating_sub(4);
    let tail = bytes.get(end..).unwrap_or_default();
    match tail.utf8_chunks().last() {
        // Only a beginning can be the last and fail without a byte that does not fit.
        Some(chunk) if !chunk.invalid().is_empty() => {
            let cut = chunk.invalid();
            let is_beginning = |byte: &u8| matches!(byte, 0xc2..=0xf4);
            match cut.first() {
                Some(first) if is_beginning(first) && cut.len() < wanted(*first) => cut.len(),
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// How long a character is that begins with this byte.
const fn wanted(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pieces: &[&[u8]]) -> String {
        let mut printer = Printer::new(Vec::new());
        for piece in pieces {
            printer.write_all(piece).unwrap();
        }
        printer.flush().unwrap();
        String::from_utf8(printer.stream.clone()).unwrap()
    }

    #[test]
    fn nothing_is_unprintable() {
        #[rustfmt::skip]
        let cases: &[(&[&[u8]], &str)] = &[
            (&[b"plain\n\ttext"],                       "plain\n\ttext"),
            (&["é → … 🦀".as_bytes()],                  "é → … 🦀"),
            (&[b"a\x1b[2J\x07\x7f\r\x08b"],             "a\\u001b[2J\\u0007\\u007f\\u000d\\u0008b"),
            (&["\u{9b}31m\u{85}".as_bytes()],           "\\u009b31m\\u0085"),
            (&["\u{202e}\u{2066}\u{200f}\u{2028}".as_bytes()], "\\u202e\\u2066\\u200f\\u2028"),
            (&[b"\xff\xfea\xc3"],                       "\\u{ff}\\u{fe}a\\u{c3}"),
            (&[b"\xc3", b"\xa9"],                       "é"),
            (&[b"\xf0\x9f", b"\xa6", b"\x80!"],         "🦀!"),
            (&[b"\xf0\x9f", b"x"],                      "\\u{f0}\\u{9f}x"),
            (&[b"\xc2", b"\x9b"],                       "\\u009b"),
            (&[b"\xe2\x80", b"\xae"],                   "\\u202e"),
            (&["\u{3164}\u{115f}\u{1160}\u{ffa0}".as_bytes()], "\\u3164\\u115f\\u1160\\uffa0"),
            (&["\u{2800}\u{200b}\u{fe0f}\u{e0041}".as_bytes()], "\\u2800\\u200b\\ufe0f\\udb40\\udc41"),
        ];
        for (pieces, expected) in cases {
            assert_eq!(printed(pieces), *expected, "{pieces:?}");
        }
    }

    #[test]
    fn only_plain_text_leaves_a_terminal_as_it_was() {
        #[rustfmt::skip]
        let cases: &[(&[u8], bool)] = &[
            (b"",                       false),
            (b"plain\ttext\n",          false),
            ("é\n".as_bytes(),          false),
            (b"\x1b]0;swallowed\n",     true),
            (b"\x9d0;\n",               true),
            (b"back\r\n",               true),
        ];
        for (bytes, expected) in cases {
            assert_eq!(bytes.iter().any(is_obeyed_byte), *expected, "{bytes:?}");
        }
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"a": "\u{3164}\u{e0041}\u{202e}\u{9b}\u{7f}\u{1b}\n\t\"\\"});
        let text = printed(&[value.to_string().as_bytes()]);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.is_ascii());
    }
}
