//! The command on a terminal: what it writes there depends on who looks.

use std::process::Command;
use std::sync::OnceLock;

use crate::bench::{BINARY, Bench};

/// Runs a command on a pseudo-terminal of its own, types, and passes on what it shows.
const SCRIPT: &str = r#"
import os, pty, sys
typed, command = sys.argv[1].encode(), sys.argv[2:]
child, screen = pty.fork()
if child == 0:
    os.execv(command[0], command)
if typed:
    os.write(screen, typed)
shown = b""
while True:
    try:
        part = os.read(screen, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n") + b"exit %d" % os.waitstatus_to_exitcode(status))
"#;

/// A terminal at which somebody sits.
pub(crate) struct Terminal<'a> {
    bench: &'a Bench,
    typed: &'a str,
    variables: &'a [(&'a str, &'a str)],
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(bench: &'a Bench) -> Self {
        Self { bench, typed: "", variables: &[("TERM", "xterm")] }
    }

    /// What is typed.
    pub(crate) fn typed(self, typed: &'a str) -> Self {
        Self { typed, ..self }
    }

    pub(crate) fn variables(self, variables: &'a [(&'a str, &'a str)]) -> Self {
        Self { variables, ..self }
    }

    /// Runs the binary and returns everything that the screen showed, and the exit code.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(python())
            .args(["-c", SCRIPT, self.typed, BINARY])
            .args(arguments)
            .current_dir(self.bench.path())
            .env_clear()
            .envs(self.variables.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// The interpreter itself: a shim of a version manager needs an environment.
fn python() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let found =
            Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
        String::from_utf8(found.stdout).unwrap().trim().to_owned()
    })
}

const ESCAPE: char = '\u{1b}';

#[test]
fn escape_sequences_are_for_a_terminal_that_wants_them() {
    let old = "[personality]\nid = \"x\"\nnetwork = { allow = [\"a.example\"] }\n";
    let new = "[personality]\nid = \"x\"\nnetwork = { allow = [\"a.example\", \"b.example\"] }\n";
    let bench = Bench::new().file("old.toml", old).file("new.toml", new);
    for name in ["old", "new"] {
        let said = bench.ringfence(&["manifest", "--policy", &format!("{name}.toml")]);
        assert!(said.ends_with("exit 0"), "{said}");
    }
    let commands: [&[&str]; 4] = [
        &["--help"],
        &["run", "--help"],
        &["no-such-command"],
        &["manifest", "diff", "old.lock.json", "new.lock.json"],
    ];
    for command in commands {
        let shown = Terminal::new(&bench).run(command);
        assert!(shown.contains(ESCAPE), "{command:?} has colours on a terminal: {shown}");
        let plain: [&[(&str, &str)]; 3] = [
            &[("TERM", "xterm"), ("NO_COLOR", "1")],
            &[("TERM", "xterm"), ("CLICOLOR", "0")],
            &[("TERM", "dumb")],
        ];
        for variables in plain {
            let shown = Terminal::new(&bench).variables(variables).run(command);
            assert!(!shown.contains(ESCAPE), "{command:?} under {variables:?}: {shown}");
        }
        let piped = bench.ringfence_in(&[("TERM", "xterm")], command);
        assert!(!piped.contains(ESCAPE), "{command:?} in a pipe: {piped}");
    }
}

#[test]
fn a_command_cannot_hide_what_is_said_after_it() {
    let bench = Bench::new().file("work/a", "");
    let run = |script: &str| {
        Terminal::new(&bench).run(&["run", "--write", "work", "--exec", "*", "--", "sh", "-c", script])
    };
    let fresh = "\u{18}\u{1b}\\\u{1b}[0m\r\nringfence: the command made";
    for end in [r"printf '\033]0;'", r"printf '\033P'", r"printf '\033[8m\n'", "printf text"] {
        let shown = run(&format!("echo x > work/.bashrc; {end}"));
        assert!(shown.contains(fresh), "{end}: {shown:?}");
    }
    // Whole plain lines leave nothing to end.
    let shown = run("echo x > work/.bashrc; echo text");
    assert!(!shown.contains(ESCAPE) && shown.contains("text\nringfence: the command made"), "{shown:?}");
}
