//! firejail: namespaces and some mounts; the inner stage adds Landlock, which is what confines reading here.

use std::path::Path;

use super::text;
use crate::error::SandboxError;
use crate::plan::{Entry, Plan};

/// firejail takes 127 words, and its own name and the inner stage are among them.
const MAX_OPTIONS: usize = 120;

/// Returns the options of firejail; the inner stage and its arguments follow. It reads the rest of the plan from
/// `plan_descriptor`.
///
/// # Errors
///
/// The plan holds something that firejail has no option for, or a path that its options cannot hold.
pub fn firejail(plan: &Plan, inner: &Path, plan_descriptor: usize) -> Result<Vec<String>, SandboxError> {
    let mut options: Vec<String> = [
        "--quiet",
        "--noprofile",
        "--net=none",
        "--caps.drop=all",
        "--private-dev",
        "--dbus-user=none",
        "--dbus-system=none",
        "--nogroups",
        "--ipc-namespace",
        "--keep-var-tmp",
        "--writable-var",
        // Landlock does not hold back changes of modes, owners and times.
        "--read-only=/",
        "--deterministic-exit-code",
        "--deterministic-shutdown",
    ]
    .map(str::to_owned)
    .to_vec();
    // The plan, and the pipe by which the inner stage sees that we live.
    options.push(format!("--keep-fd={plan_descriptor},{}", plan_descriptor + 1));
    if plan.terminal {
        return Err(SandboxError::Inexpressible { what: "a terminal of its own, with firejail".into() });
    }
    let mut shared_tmp = false;
    let hidden = plan.base.iter().filter(|entry| matches!(entry, Entry::Hidden { .. }));
    for entry in plan.root.iter().chain(hidden) {
        let path = option_text(entry.path())?;
        match entry {
            Entry::Bind { access, file, .. } => {
                if entry.path().starts_with("/tmp") {
                    options.push(format!("--whitelist={path}"));
                    shared_tmp = true;
                }
                // The later option wins, and a granted folder comes after the one around it.
                let mode = if access.write { "read-write" } else { "read-only" };
                options.push(format!("--{mode}={path}"));
                if !access.execute && !file {
                    options.push(format!("--noexec={path}"));
                }
            }
            Entry::Hidden { .. } => options.push(format!("--blacklist={path}")),
            // A link of the machine is there, but in `/tmp`, where nothing is that is not named. What it leads to is held to the rules.
            Entry::Link { .. } if entry.path().starts_with("/tmp") => {
                options.push(format!("--whitelist={path}"));
                shared_tmp = true;
            }
            // What is made in a root of our own is the machine's own here.
            Entry::Cover { .. }
            | Entry::Device { .. }
            | Entry::Directory { .. }
            | Entry::File { .. }
            | Entry::Link { .. }
            | Entry::Proc
            | Entry::Scratch { .. } => {}
        }
    }
    if inner.starts_with("/tmp") {
        let what =
            "the inner stage in `/tmp`, where firejail starts nothing: install ringfence elsewhere".into();
        return Err(SandboxError::Inexpressible { what });
    }
    if !shared_tmp {
        options.push("--private-tmp".into());
    }
    options.push("--noexec=/tmp".into());
    if options.len() > MAX_OPTIONS {
        let what = format!(
            "{} granted and protected paths with firejail, which takes {MAX_OPTIONS} options",
            plan.root.len()
        );
        return Err(SandboxError::Inexpressible { what });
    }
    Ok(options)
}

/// firejail reads commas, globs and variables in its options, and has no way to quote them.
fn option_text(path: &Path) -> Result<String, SandboxError> {
    let text = text(path)?;
    if text.contains([
        ',', '*', '?', '[', ']', '$', '~', '\\', '"', '\'', ';', '&', '|', '<', '>', '`', ' ', '\n', '\r',
        '\t',
    ]) {
        return Err(SandboxError::Inexpressible {
            what: format!(
                "the path `{text}` with firejail, whose options have a meaning for some of its characters"
            ),
        });
    }
    Ok(text)
}
