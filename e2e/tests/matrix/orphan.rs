//! Everything ends with the command, and with whoever started it; nobody stays a zombie.

use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::matrix::check::{Check, ok};
use crate::matrix::process::waited;
use crate::matrix::stage::Work;
use crate::matrix::sys;
use crate::matrix::verdict::length;

/// Ends by itself when the test's folder is gone, so that a survivor does not live for ever.
const BEAT: &str = "while echo x >> beat; do sleep 0.02; done";
const GRANT: &[&str] = &["--exec", "sh", "--exec", "sleep", "--exec", "setsid", "--exec", "nohup"];

#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    Check::call("orphan::of_a_leader_that_exits", |work| leader(work, &format!("({BEAT}) & {UNTIL}; exit 7"), 7, "600s")),
    Check::call("orphan::in_a_session_of_its_own", |work| leader(work, &format!("setsid sh -c '{BEAT}' & {UNTIL}; exit 7"), 7, "600s")),
    Check::call("orphan::that_ignores_signals", |work| leader(work, &format!("nohup setsid sh -c 'trap \"\" TERM HUP INT; {BEAT}' >&- 2>&- & {UNTIL}; exit 7"), 7, "600s")),
    Check::call("orphan::of_a_leader_that_is_killed", |work| leader(work, &format!("({BEAT}) & {UNTIL}; kill -9 $$"), 137, "600s")),
    Check::call("orphan::of_a_deadline", |work| leader(work, &format!("({BEAT}) & wait"), 124, "3s")),
    Check::call("orphan::when_ringfence_is_killed", |work| killed(work, libc::SIGKILL)),
    Check::call("orphan::when_ringfence_is_ended", |work| killed(work, libc::SIGTERM)),
    Check::call("orphan::when_ringfence_is_interrupted", |work| killed(work, libc::SIGINT)),
    Check::call("orphan::when_ringfence_is_hung_up", |work| killed(work, libc::SIGHUP)),
    Check::steps("orphan::zombies_are_reaped", &[ok(&[], &["python3", "-c", "
import os, time, glob
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
def zombies():
    count = 0
    for path in glob.glob('/proc/[0-9]*/stat'):
        try: count += open(path).read().rsplit(')', 1)[1].split()[0] == 'Z'
        except OSError: pass
    return count
for _ in range(3000):
    if zombies() == 0: break
    time.sleep(0.02)
print('zombies', zombies())"], "zombies 0")]),
];

/// Waits until the orphan beats.
const UNTIL: &str = "while ! [ -s beat ]; do sleep 0.01; done";

/// The leader ends; ringfence ends at once with its code, and nothing beats any more.
fn leader(work: &Work<'_>, script: &str, code: i32, wall: &str) -> Result<(), String> {
    let limit = format!("wall={wall}");
    let flags: Vec<&str> = GRANT.iter().copied().chain(["--limit", &limit]).collect();
    // Whoever waits for the orphan waits for the deadline, and longer than patience lasts.
    work.run(&flags, &["sh", "-c", script]).must(code, "")?;
    silent(&work.path("beat"))
}

/// A signal ends ringfence; nothing beats any more.
fn killed(work: &Work<'_>, signal: i32) -> Result<(), String> {
    let beat = work.path("beat");
    let script = format!("({BEAT}) & setsid sh -c '{BEAT}' & wait");
    let mut run = work.ringfence(GRANT, &["sh", "-c", &script]);
    let mut child = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while length(&beat) < 4 {
        if begun.elapsed() > Duration::from_secs(120) {
            sys::kill(child.id());
            child.wait().unwrap();
            return Err("it never began".to_owned());
        }
        thread::sleep(Duration::from_millis(5));
    }
    sys::signal(child.id(), signal);
    let code = waited(&mut child);
    if code != Some(128 + signal) {
        return Err(format!("code {code:?}"));
    }
    silent(&beat)
}

fn silent(beat: &Path) -> Result<(), String> {
    if length(beat) == 0 {
        return Err("nothing ever beat".to_owned());
    }
    // On its way out a process may still write once, and a busy machine may take a while to get to that.
    let mut before = 0;
    for _ in 0..5 {
        thread::sleep(Duration::from_millis(300));
        before = length(beat);
        thread::sleep(Duration::from_millis(400));
        if length(beat) == before {
            return Ok(());
        }
    }
    Err(format!("{} bytes after the end", length(beat) - before))
}
