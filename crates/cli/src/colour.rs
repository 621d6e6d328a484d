//! Whether escape sequences may be written.

use ringfence::policy::report::Colour;

use crate::print;

/// Returns how standard output is written to: with colours only where somebody looks at it who has not said otherwise.
pub(crate) fn of_output() -> Colour {
    if print::output_is_terminal() {
        Colour::of_terminal(|name| std::env::var_os(name))
    } else {
        Colour::Plain
    }
}
