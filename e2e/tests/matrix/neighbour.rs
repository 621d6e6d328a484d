//! What the caller and the rest of the user's programs share with a sandbox: standard input, and descriptors on their way.

use std::process::Stdio;

use crate::matrix::check::Check;
use crate::matrix::process::finished;
use crate::matrix::stage::Work;

pub(crate) const CHECKS: &[Check] = &[
    Check::call("input::stays_with_the_caller", |work| lines(work, &["true"])),
    Check::call("input::is_not_fed_to_the_caller", |work| lines(work, &["python3", "-c", PLANT])),
    Check::call("start::beside_descriptors_in_flight", in_flight),
];

/// Writes to its own input, opened once more.
const PLANT: &str = "
import os
for flags in os.O_WRONLY, os.O_RDWR:
    try: os.write(os.open('/proc/self/fd/0', flags), b'planted\\n')
    except OSError: pass";

/// A shell reads lines and runs a command for each, which has the same standard input. All lines are the shell's.
fn lines(work: &Work<'_>, command: &[&str]) -> Result<(), String> {
    let run = work.ringfence(&[], command);
    let script = "printf 'a\\nb\\nc\\n' | while read -r line; do \"$@\"; echo \"got $line\"; done";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(run.get_program()).args(run.get_args());
    in_place_of(&run, &mut shell);
    let ended = finished(shell.stdin(Stdio::null()));
    if ended.stdout == "got a\ngot b\ngot c\n" { Ok(()) } else { Err(format!("{ended:?}")) }
}

/// Somebody else of the user has more descriptors on their way than may be; ringfence starts all the same.
fn in_flight(work: &Work<'_>) -> Result<(), String> {
    const HOLD: &str = "
import array, resource, socket, subprocess, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (512, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
one, other = socket.socketpair()
for _ in range(3): one.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [one.fileno()] * 200))])
sys.exit(subprocess.run(sys.argv[1:], timeout=100).returncode)";
    let inner = work.ringfence(&[], &["echo", "here"]);
    let mut python = work.stage.host("python3");
    // As the user already, when the user runs it.
    let words: Vec<_> = std::iter::once(inner.get_program()).chain(inner.get_args()).collect();
    let start = words.iter().position(|word| word.to_string_lossy().ends_with("ringfence")).unwrap_or(0);
    python.args(["-c", HOLD]).args(words.get(start..).unwrap_or_default()).current_dir(&work.folder);
    finished(python.stdin(Stdio::null())).must(0, "here")
}

fn in_place_of(from: &std::process::Command, to: &mut std::process::Command) {
    to.env_clear();
    for (name, value) in from.get_envs() {
        if let Some(value) = value {
            to.env(name, value);
        }
    }
    if let Some(folder) = from.get_current_dir() {
        to.current_dir(folder);
    }
}
