//! Questions on the terminal about names that are not granted.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::curl;
use crate::matrix::network::ends::{Ends, OTHER, Ran};
use crate::matrix::process::{Ended, collected, drained, waited};
use crate::matrix::sys;

/// Who types the name lets it through; a yes, another name, and what was typed before the question do not.
pub(super) fn answers(ends: &mut Ends<'_>) -> Result<(), String> {
    let name = format!("{OTHER}\n");
    let cases = [
        ("", "n\n", false),
        ("", "\n", false),
        ("", "y\n", false),
        ("", "pypi.org\n", false),
        (name.as_str(), "\n", false),
        (OTHER, "\n", false),
        ("y\ny", name.as_str(), true),
    ];
    for (before, answer, lets) in cases {
        let (ran, asked) = asked(ends, before, answer);
        if !asked.contains(OTHER) {
            return Err(format!("the question was `{asked}`"));
        }
        let reached = ends.other.connections() > 0;
        if reached != lets || ran.stdout.contains(&ends.token) != lets {
            return Err(format!("{answer:?}: {ran:?}"));
        }
        ran.tells(OTHER, if lets { "done" } else { "refused" })?;
    }
    ends.near.untouched()
}

/// Where there is no terminal nobody can say yes.
pub(super) fn nobody(ends: &mut Ends<'_>) -> Result<(), String> {
    let ringfence = ends.command(&["{near}"], &["--private", OTHER, "--ask"], &curl("http://{other}/t"));
    let mut outer = Command::new("setsid");
    outer.arg("--wait").arg(ringfence.get_program()).args(ringfence.get_args());
    outer.envs(ringfence.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran =
        Ran::new(crate::matrix::process::finished(outer.current_dir(&ends.work.folder).stdin(Stdio::null())));
    ran.tells(OTHER, "refused")?;
    ends.untouched()
}

/// Runs curl against the name that is not granted, on a terminal on which this was typed before the
/// question, and this after it.
fn asked(ends: &Ends<'_>, before: &str, answer: &str) -> (Ran, String) {
    let (mut outer, inner, _) = sys::terminal();
    outer.write_all(before.as_bytes()).unwrap();
    let command = [curl("http://{other}/t"), vec!["--no-fail".to_owned()]].concat();
    let ringfence = ends.command(&["{near}"], &["--private", OTHER, "--ask"], &command);
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait"]).arg(ringfence.get_program()).args(ringfence.get_args());
    command.env_clear().envs(ringfence.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(&ends.work.folder).stdin(Stdio::from(inner));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It holds the inner side of the terminal open, which would never end then.
    drop(command);
    let (stdout, stderr) = (drained(child.stdout.take().unwrap()), drained(child.stderr.take().unwrap()));
    let seen = question(&mut outer);
    // Without a question the command ends by itself, at its limit of time.
    let _answered = outer.write_all(answer.as_bytes());
    let code = waited(&mut child);
    let ended = Ended { code, stdout: collected(stdout), stderr: collected(stderr) };
    (Ran::new(ended), seen)
}

/// What is on the terminal when an answer is waited for, or when there is no terminal any more.
fn question(terminal: &mut File) -> String {
    let (mut seen, mut block) = (String::new(), [0; 512]);
    while !seen.contains("to refuse: ") {
        match terminal.read(&mut block) {
            Ok(count @ 1..) => seen.push_str(&String::from_utf8_lossy(&block[..count])),
            _ => break,
        }
    }
    seen
}
