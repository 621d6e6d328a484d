//! A table that fills while the demo works, with a little colour where somebody looks at it.

use std::io::{IsTerminal, Write};
use std::time::Duration;

/// The width of what the agent asks.
const WIDTH: usize = 34;
/// How long somebody is given to read a row.
const PAUSE: Duration = Duration::from_millis(90);

/// The table.
pub(super) struct Live {
    /// Whether somebody looks, and the line can be written again.
    pub(super) is_watched: bool,
    is_coloured: bool,
}

impl Live {
    pub(super) fn new() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_watched = std::io::stdout().is_terminal() && !is_dumb;
        Self { is_watched, is_coloured: is_watched && !is_set("NO_COLOR") }
    }

    pub(super) fn head(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "#   {:<WIDTH$}  VERDICT  DECIDED BY", "THE AGENT ASKS TO")
    }

    /// Shows what is being tried, out of how many.
    pub(super) fn begin(
        &self,
        out: &mut dyn Write,
        number: usize,
        of: usize,
        what: &str,
    ) -> std::io::Result<()> {
        if self.is_watched {
            write!(out, "{number:<2}  {what:<WIDTH$}  … ({number} of {of})")?;
            out.flush()?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Shows what came of it.
    pub(super) fn end(
        &self,
        out: &mut dyn Write,
        number: usize,
        what: &str,
        (verdict, why): &(&str, String),
    ) -> std::io::Result<()> {
        // Back to the first column, and the rest of the line away.
        let again = if self.is_watched { "\r\x1b[K" } else { "" };
        let (on, off) = match *verdict {
            _ if !self.is_coloured => ("", ""),
            "allowed" => ("\x1b[32m", "\x1b[0m"),
            "refused" => ("\x1b[33m", "\x1b[0m"),
            _ => ("\x1b[31m", "\x1b[0m"),
        };
        writeln!(out, "{again}{number:<2}  {what:<WIDTH$}  {on}{verdict:<7}{off}  {why}")?;
        out.flush()
    }
}
