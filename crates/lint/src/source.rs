//! The source engine: reads the text of a program and of everything it uses, and runs nothing.
//!
//! It knows what can be told from names. What only types tell (the receiver of most method calls, which implementation a
//! generic call runs) it follows where they are evident, and over-counts where a body names the type. The compiler's own
//! view, the *mir* engine, is the gate; this one answers in seconds.
//!
//! INVARIANT: what could not be read is reported as `unanalyzed`, never as clean.

mod body;
mod boundary;
mod condition;
mod expand;
mod form;
pub(crate) mod graph;
mod item;
pub(crate) mod kind;
pub(crate) mod model;
pub(crate) mod name;
mod outside;
mod reach;
mod reader;
#[cfg(test)]
pub(crate) mod tests;
mod token;
mod value;

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Analysis, Project, Role, Target, TargetKind};
use kind::Kinds;
use model::Unit;
use name::World;

/// How much memory a thread may nest in; parsers recurse as deep as the text does.
const STACK: usize = 256 << 20;

/// Why the source could not be analysed at all.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is nothing to read.
    #[error("the project has no library and no program of its own")]
    NoCode,
    /// A reader ended before it was done.
    #[error("a reader of source text ended before it was done")]
    Reader,
    /// No thread could be started.
    #[error("no thread could be started to read source text: {0}")]
    Thread(std::io::Error),
}

/// Analyses a program and everything it uses.
///
/// # Errors
///
/// When there is nothing to read. A file that cannot be read or understood is no error: what it holds is `unanalyzed`.
pub fn analyse(project: &Project) -> Result<Analysis, SourceError> {
    let units = read(project, |_| true)?;
    let world = World::new(project, &units);
    let kinds = Kinds::new(&world);
    let graph = graph::Builder::new(&kinds).build();
    Ok(reach::analysis(project, &kinds, &graph))
}

/// Reads the libraries and programs of the packages that are wanted.
pub(crate) fn read(project: &Project, wanted: impl Fn(usize) -> bool) -> Result<Vec<Unit>, SourceError> {
    let jobs: Vec<(usize, &Target)> = project
        .packages
        .iter()
        .enumerate()
        .filter(|(number, package)| {
            // The C library is told by its names alone.
            wanted(*number) && (package.role == Role::Run || package.own) && package.name != "libc"
        })
        .flat_map(|(number, package)| {
            let targets = package.targets.iter().filter(|target| match target.kind {
                TargetKind::Library => true,
                TargetKind::Binary => package.own,
                TargetKind::BuildScript | TargetKind::ProcMacro => false,
            });
            targets.map(move |target| (number, target))
        })
        .collect();
    let has_own =
        jobs.iter().any(|(number, _)| project.packages.get(*number).is_some_and(|package| package.own));
    if !has_own {
        return Err(SourceError::NoCode);
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Unit)>> = Mutex::default();
    let work = || {
        while let Some((number, (package, target))) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(number).map(|job| (number, *job))
        } {
            let unit = reader::read(project, package, target);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, unit));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(jobs.len());
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for _ in 0..threads {
            running.push(
                std::thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, work)
                    .map_err(SourceError::Thread)?,
            );
        }
        running.into_iter().try_for_each(|thread| thread.join().map_err(|_| SourceError::Reader))
    })?;
    let mut units = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    units.sort_by_key(|(number, _)| *number);
    Ok(units.into_iter().map(|(_, unit)| unit).collect())
}
