//! The `clippy.toml` of a tool's package: what goes past the handles is told while it is written.
//!
//! A hint, not a wall: clippy sees what the package itself names, and nothing that a dependency does.
//!
//! INVARIANT: every entry says which handle does the same.

mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use crate::Effect;

/// Returns a `clippy.toml` that warns of every way past the handles.
///
/// Methods are listed beside types because a type alone is not noticed where only its functions are called. Packages that the
/// tool does not use do no harm: `allow-invalid` passes over paths that do not exist.
pub fn configuration() -> String {
    let mut text = String::from(
        "# Written by `ringfence lint --clippy`. What goes past the handles of ringfence, and what to use instead.\n",
    );
    let entries = |text: &mut String, key: &str, entries: &[(&str, &str, Effect)]| {
        let _written = writeln!(text, "\n{key} = [");
        for (prefix, names, effect) in entries {
            let reason = handle_for(*effect).unwrap_or("tools do not do this");
            for name in names.split_whitespace() {
                let _written = writeln!(
                    text,
                    "  {{ path = \"{prefix}{name}\", reason = \"{reason}\", allow-invalid = true }},"
                );
            }
        }
        text.push_str("]\n");
    };
    entries(&mut text, "disallowed-methods", table::METHODS);
    entries(&mut text, "disallowed-types", table::TYPES);
    text
}

/// Says which handle does the same within what is declared.
pub const fn handle_for(effect: Effect) -> Option<&'static str> {
    Some(match effect {
        Effect::FsRead | Effect::FsWrite => "use `context.fs()?` instead",
        Effect::NetConnect | Effect::NetDns => "use `context.fetch()?` instead",
        Effect::Exec => "use `context.process()?` instead",
        Effect::EnvRead => "use `context.environment()?` instead, or `context.secrets()?` for a secret",
        Effect::EnvWrite => {
            "give variables to the process that needs them: `SpawnOptions::env` of `context.process()?`"
        }
        Effect::Exit => "a tool does not end the agent's process; return a `ToolError`",
        Effect::NetListen => "a tool does not listen; it is called, and calls out with `context.fetch()?`",
        _ => return None,
    })
}
