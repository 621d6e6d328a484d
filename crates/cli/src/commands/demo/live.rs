//! A table that fills while the demo works, with a little colour where somebody looks at it.

use std::io::Write;
use std::time::Duration;

use ringfence::policy::report::Colour;

use super::stage::Played;
use crate::print;

/// The width of what the agent asks.
const WIDTH: usize = 34;
/// How long somebody is given to read a row.
const PAUSE: Duration = Duration::from_millis(90);

/// The table.
pub(super) struct Live {
    /// Whether somebody looks.
    pub(super) is_watched: bool,
    /// Whether a line can be written again, and in colour.
    colour: Colour,
}

impl Live {
    pub(super) fn new() -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { is_watched: print::output_is_terminal() && !is_dumb, colour: crate::colour::of_output() }
    }

    /// Nobody looks.
    pub(super) const fn unwatched() -> Self {
        Self { is_watched: false, colour: Colour::Plain }
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
        if self.colour == Colour::Ansi {
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
        played: &Played,
    ) -> std::io::Result<()> {
        // Back to the first column, and the rest of the line away.
        let (again, on, off) = match (self.colour, played.verdict) {
            (Colour::Plain, _) => ("", "", ""),
            (Colour::Ansi, "allowed") => ("\r\x1b[K", "\x1b[32m", "\x1b[0m"),
            (Colour::Ansi, "refused") => ("\r\x1b[K", "\x1b[33m", "\x1b[0m"),
            (Colour::Ansi, _) => ("\r\x1b[K", "\x1b[31m", "\x1b[0m"),
        };
        let (verdict, why) = (played.verdict, played.why());
        let (what, why) = (print::line(what), print::line(&why));
        let line = format!("{again}{number:<2}  {what:<WIDTH$}  {on}{verdict:<7}{off}  {why}\n");
        print::coloured(out, self.colour, &line)?;
        out.flush()
    }
}
