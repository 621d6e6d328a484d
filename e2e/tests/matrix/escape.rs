//! Every probe × every backend × root and an ordinary user, and once with no sandbox, where each must get out.

use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use ringfence_e2e::{Needs, Probe, Tier, probes};

use crate::matrix::cell::{self, Column};
use crate::matrix::passed::Passed;
use crate::matrix::report::Report;
use crate::matrix::session::Session;
use crate::matrix::sys;
use crate::matrix::user::User;
use crate::matrix::verdict::Verdict;
use crate::matrix::weak::{self, Loses};

/// How many cells of a column run at the same time: most of their time they wait.
pub(crate) const AT_ONCE: usize = 4;

#[test]
fn unconfined_as_root() {
    column(Column::Unconfined, User::Root);
}

#[test]
fn unconfined_as_user() {
    column(Column::Unconfined, User::Ordinary);
}

#[test]
fn native_as_root() {
    column(Column::Backend("native"), User::Root);
}

#[test]
fn native_as_user() {
    column(Column::Backend("native"), User::Ordinary);
}

#[test]
fn bwrap_as_root() {
    column(Column::Backend("bwrap"), User::Root);
}

#[test]
fn bwrap_as_user() {
    column(Column::Backend("bwrap"), User::Ordinary);
}

#[test]
fn firejail_as_root() {
    column(Column::Backend("firejail"), User::Root);
}

#[test]
fn firejail_as_user() {
    column(Column::Backend("firejail"), User::Ordinary);
}

/// Whether `RINGFENCE_TEST_BACKENDS` names the backend.
pub(crate) fn asked(backend: &str) -> bool {
    let named = std::env::var("RINGFENCE_TEST_BACKENDS").unwrap_or_else(|_| "native".to_owned());
    named.split(',').any(|name| name.trim() == backend)
}

/// Of how many cells one is run.
pub(crate) fn step() -> usize {
    Tier::current().pick(8, 1, 1)
}

/// One column at a time: the limits of time and of processes are real.
pub(crate) fn alone() -> File {
    let lock = File::create(format!("/var/tmp/rf-e2e-{}.lock", sys::uid())).unwrap();
    lock.lock().unwrap();
    lock
}

fn column(column: Column<'_>, user: User) {
    let title = match column {
        Column::Backend(backend) if !asked(backend) => {
            println!("`{backend}` is not in RINGFENCE_TEST_BACKENDS");
            return;
        }
        Column::Backend(backend) => format!("{backend}-{}", user.name()),
        Column::Unconfined => format!("unconfined-{}", user.name()),
    };
    let all: Vec<&Probe> = probes().filter(|probe| wanted(probe.name)).step_by(step()).collect();
    let passed = matches!(column, Column::Unconfined).then(|| Passed::of(&title, &all));
    if passed.as_ref().is_some_and(Passed::stands) {
        println!("{title}: passed before, with the same probes, judges and kernel");
        return;
    }
    let _alone = alone();
    let Some(session) = Session::new(user) else {
        println!("{title}: these tests do not run as root, so nothing runs as root");
        return;
    };
    let (next, report) = (AtomicUsize::new(0), Mutex::new(Report::new(title.clone())));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(probe) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let verdict = cell::run(&session, column, probe);
                    let (verdict, right) = expected(column, &title, user, probe, verdict);
                    let line = verdict.to_string();
                    report.lock().unwrap().add(probe.name, line, begun.elapsed(), right);
                }
            });
        }
    });
    let report = report.into_inner().unwrap();
    if matches!(column, Column::Unconfined) && all.len() == probes().count() {
        report.at_least(floor(user), "escaped");
    }
    report.conclude();
    if let Some(passed) = passed {
        passed.record();
    }
}

/// Whether `RINGFENCE_TEST_PROBES`, which names one or some by a part of their names, wants this one.
pub(crate) fn wanted(name: &str) -> bool {
    name.contains(&std::env::var("RINGFENCE_TEST_PROBES").unwrap_or_default())
}

/// How many probes must really get out where nothing confines them, or the matrix says nothing.
fn floor(user: User) -> usize {
    match user {
        User::Ordinary => 80,
        User::Root => 100,
    }
}

/// Whether a verdict is what must be.
fn expected(
    column: Column<'_>,
    title: &str,
    user: User,
    probe: &Probe,
    verdict: Verdict,
) -> (Verdict, Result<(), String>) {
    let weak = weak::known(title, probe.name);
    let right = match (column, &verdict) {
        (_, Verdict::Absent(_)) | (Column::Unconfined, Verdict::Escaped(_)) => Ok(()),
        (Column::Backend(_), Verdict::Confined(_)) => match weak {
            Some(weak) if weak.loses == Loses::Always => {
                Err("is confined now: take it off the list of weak cells".to_owned())
            }
            _ => Ok(()),
        },
        (Column::Backend(_), Verdict::Escaped(how)) => match weak {
            Some(weak) => return (Verdict::Weak(format!("{how} [{}]", weak.why)), Ok(())),
            None => Err("must be confined".to_owned()),
        },
        (Column::Unconfined, Verdict::Confined(reason)) => {
            let (root, kernel) = match probe.needs {
                Needs::Nothing => (false, false),
                Needs::Kernel => (false, true),
                Needs::Root => (true, false),
                Needs::RootAndKernel => (true, true),
            };
            if root && user == User::Ordinary {
                Ok(())
            } else if kernel && lacks(reason) {
                return (Verdict::Absent(reason.clone()), Ok(()));
            } else {
                Err("must escape where nothing confines it".to_owned())
            }
        }
        (_, Verdict::Broken(_) | Verdict::Weak(_)) => Err("could not be tried".to_owned()),
    };
    (verdict, right)
}

/// Whether a reason says that this kernel has no such thing.
fn lacks(reason: &str) -> bool {
    [
        libc::ENOSYS,
        libc::ENOENT,
        libc::ENODEV,
        libc::ENXIO,
        libc::EAFNOSUPPORT,
        libc::EPROTONOSUPPORT,
        libc::ESOCKTNOSUPPORT,
    ]
    .iter()
    .any(|code| reason == std::io::Error::from_raw_os_error(*code).to_string())
}
