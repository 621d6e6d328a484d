//! Seatbelt, the sandbox of macOS: one profile, denying what it does not name.

use std::fmt::Write as _;
use std::path::Path;

use super::text;
use crate::error::SandboxError;
use crate::plan::{Entry, Plan};

/// What every program on macOS reads before its first line: the dynamic linker's cache, locales, time zones.
const SYSTEM: &[&str] =
    &["/usr/lib", "/System/Library", "/usr/share/zoneinfo", "/usr/share/locale", "/private/var/db/timezone"];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// Returns the profile. Later rules win, so that what is hidden comes last.
///
/// # Errors
///
/// A path cannot be written in a profile, or the plan asks for something that no profile says.
pub fn seatbelt(plan: &Plan) -> Result<String, SandboxError> {
    let mut profile = String::from(
        "(version 1)\n(deny default)\n(allow process-fork)\n(allow signal (target same-sandbox))\n(allow sysctl-read)\n",
    );
    let mut say = |line: String| {
        // Writing to a string cannot fail.
        let _written = writeln!(profile, "{line}");
    };
    for path in SYSTEM {
        say(format!("(allow file-read* file-map-executable (subpath \"{path}\"))"));
    }
    for path in DEVICES {
        say(format!("(allow file-read* file-write-data (literal \"{path}\"))"));
    }
    say("(allow file-read-metadata (literal \"/\"))".into());
    for entry in &plan.root {
        let path = quoted(entry.path())?;
        let filter = |file: bool| if file { "literal" } else { "subpath" };
        match entry {
            Entry::Bind { access, file, .. } => {
                let filter = filter(*file);
                if access.read {
                    say(format!("(allow file-read* ({filter} {path}))"));
                }
                if access.write {
                    say(format!("(allow file-write* ({filter} {path}))"));
                } else {
                    say(format!("(deny file-write* ({filter} {path}))"));
                }
                if access.execute {
                    say(format!("(allow file-map-executable ({filter} {path}))"));
                }
            }
            Entry::Hidden { file, .. } => {
                say(format!("(deny file-read* file-write* ({} {path}))", filter(*file)));
            }
            // A root of our own, and memory of bounded size, are not things a profile can make.
            Entry::Cover { .. }
            | Entry::Device { .. }
            | Entry::Directory { .. }
            | Entry::File { .. }
            | Entry::Link { .. }
            | Entry::Proc
            | Entry::Scratch { .. } => {}
        }
    }
    // Rules go by paths: what lies above something protected must keep its name.
    for pin in &plan.pins {
        say(format!("(deny file-write-unlink (literal {}))", quoted(&pin.path)?));
    }
    for rule in plan.landlock.rules.iter().filter(|rule| rule.access.execute) {
        let filter = if rule.file { "literal" } else { "subpath" };
        say(format!("(allow process-exec ({filter} {}))", quoted(&rule.path)?));
    }
    say("(deny network*)".into());
    Ok(profile)
}

fn quoted(path: &Path) -> Result<String, SandboxError> {
    let text = text(path)?;
    if text.contains(['\n', '\r']) {
        return Err(SandboxError::Inexpressible { what: format!("the path {text:?} in a Seatbelt profile") });
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}
