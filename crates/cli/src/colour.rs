//! Whether escape sequences may be written.

use std::io::IsTerminal;

use ringfence::policy::report::Colour;

/// Returns how a stream is written to: with colours only where somebody looks at it who has not said otherwise.
pub(crate) fn of(stream: &impl IsTerminal) -> Colour {
    if stream.is_terminal() { Colour::of_terminal(|name| std::env::var_os(name)) } else { Colour::Plain }
}
