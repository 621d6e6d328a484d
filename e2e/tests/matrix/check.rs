//! What must work inside, on every backend, as root and as an ordinary user: programs, signals, the end of everything.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::matrix::escape::{AT_ONCE, alone, asked, step, wanted};
use crate::matrix::program::DECOYS;
use crate::matrix::report::Report;
use crate::matrix::stage::{Stage, Work};
use crate::matrix::user::User;
use crate::matrix::weak::{self, Loses};
use crate::matrix::{neighbour, orphan, planted, program, signal};

/// One thing that must work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    /// `family::what`.
    pub(crate) name: &'static str,
    pub(crate) does: Does,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Does {
    /// Calls a function with a folder of its own.
    Call(fn(&Work<'_>) -> Result<(), String>),
    /// Runs commands one after the other in one folder.
    Steps(&'static [Step]),
}

/// One command, and what must come of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) flags: &'static [&'static str],
    pub(crate) command: &'static [&'static str],
    pub(crate) code: i32,
    /// Part of its standard output.
    pub(crate) says: &'static str,
}

impl Check {
    pub(crate) const fn call(name: &'static str, call: fn(&Work<'_>) -> Result<(), String>) -> Self {
        Self { name, does: Does::Call(call) }
    }

    pub(crate) const fn steps(name: &'static str, steps: &'static [Step]) -> Self {
        Self { name, does: Does::Steps(steps) }
    }

    fn run(&self, stage: &Stage) -> Result<(), String> {
        let work = stage.folder(&self.name.replace("::", "-"));
        match self.does {
            Does::Call(call) => call(&work),
            Does::Steps(steps) => steps.iter().try_for_each(|step| {
                let ended = work.run(step.flags, step.command);
                ended.must(step.code, step.says).map_err(|why| format!("{:?}: {why}", step.command))
            }),
        }
    }
}

/// A command that ends well and says something.
pub(crate) const fn ok(
    flags: &'static [&'static str],
    command: &'static [&'static str],
    says: &'static str,
) -> Step {
    Step { flags, command, code: 0, says }
}

/// A command that ends with a code.
pub(crate) const fn ends(
    code: i32,
    flags: &'static [&'static str],
    command: &'static [&'static str],
) -> Step {
    Step { flags, command, code, says: "" }
}

/// Every check.
pub(crate) fn checks() -> impl Iterator<Item = &'static Check> {
    program::CHECKS
        .iter()
        .copied()
        .flatten()
        .chain(signal::CHECKS)
        .chain(orphan::CHECKS)
        .chain(neighbour::CHECKS)
        .chain(planted::CHECKS)
}

#[test]
fn native_as_root() {
    column("native", User::Root);
}

#[test]
fn native_as_user() {
    column("native", User::Ordinary);
}

#[test]
fn bwrap_as_root() {
    column("bwrap", User::Root);
}

#[test]
fn bwrap_as_user() {
    column("bwrap", User::Ordinary);
}

#[test]
fn firejail_as_root() {
    column("firejail", User::Root);
}

#[test]
fn firejail_as_user() {
    column("firejail", User::Ordinary);
}

fn column(backend: &'static str, user: User) {
    if !asked(backend) {
        println!("`{backend}` is not in RINGFENCE_TEST_BACKENDS");
        return;
    }
    let _alone = alone();
    let Some(stage) = Stage::new(backend, user) else {
        println!("{backend}: these tests do not run as root, so nothing runs as root");
        return;
    };
    let mut wanted: Vec<&Check> = checks().filter(|check| wanted(check.name)).step_by(step()).collect();
    // Nothing is left to do beside it at the end.
    wanted.sort_by_key(|check| check.name != DECOYS);
    let report = Mutex::new(Report::new(format!("checks-{}", stage.title())));
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(check) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    // A check that cannot go on is one that fails, not the end of the column.
                    let done = catch_unwind(AssertUnwindSafe(|| check.run(&stage)))
                        .unwrap_or_else(|_| Err("it panicked".to_owned()));
                    let (line, right) = match (done, weak::known(&stage.title(), check.name)) {
                        (Ok(()), Some(weak)) if weak.loses == Loses::Always => {
                            ("works".to_owned(), Err("take it off the list of weak cells".to_owned()))
                        }
                        (Ok(()), _) => ("works".to_owned(), Ok(())),
                        (Err(why), Some(weak)) => (format!("weak: {} [{why}]", weak.why), Ok(())),
                        (Err(why), None) => (format!("FAILS: {why}"), Err("must work".to_owned())),
                    };
                    report.lock().unwrap().add(check.name, line, begun.elapsed(), right);
                }
            });
        }
    });
    report.into_inner().unwrap().conclude();
}
