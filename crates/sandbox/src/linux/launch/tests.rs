//! No start waits without a bound.

use super::*;

const SHORT: Duration = Duration::from_millis(100);
/// Far less than the usual bound, far more than the short one.
const LATEST: Duration = Duration::from_secs(20);

fn is_late(error: &SandboxError) -> bool {
    error.to_string().contains("the sandbox did not start within 0.1 s")
}

/// A process that waits for instructions and is never given any.
fn silent() -> Set {
    let base: Arc<[Op]> = Arc::new([]);
    Set { longest: SHORT, ..Launcher::of_process().unwrap().helper(&base).unwrap() }
}

const fn no_steps() -> PlanSteps {
    PlanSteps { outer: Vec::new(), closing: Vec::new(), inner: Vec::new() }
}

#[test]
fn a_process_that_never_answers_is_a_late_start() {
    let begun = Instant::now();
    let started = Started { set: silent(), steps: no_steps() };
    for error in [started.listener().unwrap_err(), started.sockets().unwrap_err()] {
        assert!(is_late(&error), "{error}");
    }
    // One that should have ended and has not.
    let error = started.set.failed(&no_steps());
    assert!(is_late(&error), "{error}");
    // A program that is never executed keeps the control socket open.
    assert_eq!(closed(&started.set.control, SHORT), Err(Errno::TIMEDOUT));
    assert!(begun.elapsed() < LATEST, "{:?}", begun.elapsed());
}

#[test]
fn a_set_that_is_never_made_is_a_late_start() {
    let begun = Instant::now();
    let (_never, answered) = sync_channel(1);
    let error = Coming::Awaited(answered).wait_within(SHORT).err().unwrap();
    assert!(is_late(&error), "{error}");
    assert!(begun.elapsed() < LATEST, "{:?}", begun.elapsed());
    // Usually it is the bound that everybody is told of.
    assert!(late().to_string().contains("did not start within 30 s"), "{}", late());
}
