//! Real programs and hostile ones through the egress gate, against far ends on loopback that remember everything.
//!
//! Each program runs with its host granted, where it must work, and with another granted, where it must fail and no
//! connection may arrive. Each attempt to get round the gate runs inside, and everything that can be runs once without
//! a sandbox, where it must get through: one that does not proves nothing.

mod attempt;
mod authority;
mod ends;
mod far;
mod hostile;
mod http;
mod package;
mod program;
mod rule;
mod speech;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use self::authority::Authority;
use self::ends::Ends;
use self::http::Pages;
use self::program::PROGRAMS;
use crate::matrix::escape::{AT_ONCE, alone, step, wanted};
use crate::matrix::report::Report;
use crate::matrix::stage::Stage;
use crate::matrix::user::User;

type Act<'a> = Box<dyn Fn(&Stage, &Authority) -> Result<(), String> + Send + Sync + 'a>;

/// One thing that is tried.
struct Cell {
    name: String,
    act: Act<'static>,
}

impl Cell {
    /// Calls a function with far ends of its own.
    fn new(
        name: String,
        pages: impl Fn(&crate::matrix::stage::Work<'_>) -> Pages + Send + Sync + 'static,
        act: impl Fn(&mut Ends<'_>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let folder = name.clone();
        let act: Act<'static> = Box::new(move |stage, authority| {
            let pages = pages(&stage.folder(&folder.replace("::", "-")));
            act(&mut Ends::new(stage, authority, &folder, &pages))
        });
        Self { name, act }
    }
}

#[test]
fn gate_as_root() {
    column("network-native", User::Root, confined());
}

#[test]
fn gate_as_user() {
    column("network-native", User::Ordinary, confined());
}

#[test]
fn no_gate_as_root() {
    column("network-unconfined", User::Root, unconfined());
}

#[test]
fn no_gate_as_user() {
    column("network-unconfined", User::Ordinary, unconfined());
}

fn confined() -> Vec<Cell> {
    let mut cells = Vec::new();
    for program in PROGRAMS {
        let pages = |work: &crate::matrix::stage::Work<'_>| program.pages(work);
        cells.push(Cell::new(format!("{}::granted", program.name), pages, |ends| program.works(ends)));
        cells.push(Cell::new(format!("{}::other", program.name), pages, |ends| program.fails(ends)));
    }
    for attempt in hostile::ATTEMPTS.iter().copied().flatten() {
        let name = attempt.name.to_owned();
        cells.push(Cell::new(name, |_| Pages::default(), |ends| attempt.is_stopped(ends)));
    }
    for (name, rule) in rule::RULES {
        cells.push(Cell::new((*name).to_owned(), |_| Pages::default(), rule));
    }
    cells
}

fn unconfined() -> Vec<Cell> {
    let mut cells = Vec::new();
    for program in PROGRAMS.iter().filter(|program| program.can_escape()) {
        let pages = |work: &crate::matrix::stage::Work<'_>| program.pages(work);
        cells.push(Cell::new(program.name.to_owned(), pages, |ends| program.escapes(ends)));
    }
    for attempt in hostile::ATTEMPTS.iter().copied().flatten().filter(|attempt| attempt.can_escape()) {
        let name = attempt.name.to_owned();
        cells.push(Cell::new(name, |_| Pages::default(), |ends| attempt.escapes(ends)));
    }
    cells
}

fn column(title: &str, user: User, cells: Vec<Cell>) {
    let title = format!("{title}-{}", user.name());
    if !crate::matrix::escape::asked("native") {
        println!("{title}: `native` is not in RINGFENCE_TEST_BACKENDS, and only that has a gate");
        return;
    }
    if crate::matrix::sys::uid() != 0 && title.starts_with("network-unconfined") {
        println!("{title}: these tests do not run as root, so names cannot be given to unconfined programs");
        return;
    }
    let _alone = alone();
    let Some(stage) = Stage::new("native", user) else {
        println!("{title}: these tests do not run as root, so nothing runs as root");
        return;
    };
    make_room();
    let authority = Authority::new(stage.path());
    let cells: Vec<Cell> = cells.into_iter().filter(|cell| wanted(&cell.name)).step_by(step()).collect();
    let (next, report) = (AtomicUsize::new(0), Mutex::new(Report::new(title)));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    // A cell that cannot go on is one that fails, not the end of the column.
                    let done = catch_unwind(AssertUnwindSafe(|| (cell.act)(&stage, &authority)))
                        .unwrap_or_else(|panic| Err(said(&*panic)));
                    let (line, right) = match done {
                        Ok(()) => ("right".to_owned(), Ok(())),
                        Err(why) => (format!("WRONG: {why}"), Err("must hold".to_owned())),
                    };
                    report.lock().unwrap().add(cell.name.clone().leak(), line, begun.elapsed(), right);
                }
            });
        }
    });
    report.into_inner().unwrap().conclude();
}

/// Lets this process and those it starts hold as many files as ten thousand connections take.
fn make_room() {
    let own = std::process::id().to_string();
    // Who may not is told so by the command that needs them.
    let _raised = Command::new("prlimit").args(["--pid", &own, "--nofile=65536:65536"]).output();
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it panicked: {}", text.unwrap_or_default())
}
