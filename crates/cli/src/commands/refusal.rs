//! How a command is told of that was refused before it started, by `run` and by `learn`.

use std::fmt::Write as _;

use ringfence::Code;
use ringfence::policy::explain::{explain_command, explain_line};
use ringfence::sandbox::SandboxError;
use serde_json::{Value, json};

use crate::print::line;

/// Returns a refusal as one JSON object.
pub(super) fn json(error: &SandboxError, hint: Option<&str>) -> Value {
    json!({ "refused": true, "code": error.code(), "error": error.to_string(), "hint": hint, "explain": explain_command(error.code().as_str()) })
}

/// Returns a refusal as lines for the error stream.
pub(super) fn lines(error: &SandboxError, hint: Option<&str>) -> String {
    let mut text = format!("refused: {}: {}\n", error.code(), line(&error.to_string()));
    if let Some(hint) = hint {
        let _written = writeln!(text, "  hint: {}", line(hint));
    }
    let _written = writeln!(text, "  {}", explain_line(error.code().as_str()));
    text
}

/// What to do about a refusal that does not say so itself.
pub(super) const fn advice(code: Code) -> Option<&'static str> {
    match code {
        Code::BinaryNotFound => Some("install it, or write its whole path"),
        Code::BinaryNotAllowed => Some(
            "install it or write its whole path; what the command itself starts is named with `--exec BIN`",
        ),
        Code::PathNotReachable => Some(
            "only what is there can be granted, and only what is granted can be used: `--read PATH`, `--write PATH`",
        ),
        Code::NotAvailable => Some("`ringfence doctor` shows what can be enforced here"),
        _ => None,
    }
}
