//! What a container may spend.

use std::time::{Duration, Instant};

use ringfence_policy::{Assurance, Limits, Size, Span};
use ringfence_sandbox::{Ending, Enforcer, LimitName};

use crate::container::place::{all, out, place, run};

const MEBI: u64 = 1 << 20;

fn limits() -> Limits {
    Limits { wall: Some(Span::new(Duration::from_secs(110))), ..Limits::default() }
}

#[test]
fn a_fork_bomb_stays_small() {
    let spec = place().shell("f() { f | f & }; f; sleep 1; ls -d /proc/[0-9]* | wc -l; echo over");
    let spec = spec.limits(Limits {
        processes: Some(40),
        wall: Some(Span::new(Duration::from_secs(5))),
        ..limits()
    });
    // It ends at all: a bomb that was not contained would hold up the machine.
    let begun = Instant::now();
    let report = run(&spec);
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
    assert!(matches!(
        report.limits.get(&LimitName::Processes),
        Some(Enforcer::CgroupV1 | Enforcer::CgroupV2)
    ));
    let many = "i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done 2>/tmp/e; grep -c . /tmp/e; true";
    let report = run(&place().shell(many).limits(Limits { processes: Some(40), ..limits() }));
    let shown = all(&report);
    assert!(
        report.ending != Ending::Exited(0) || !shown.starts_with('0'),
        "200 processes under a limit of 40: {shown}"
    );
}

#[test]
fn memory_has_an_end() {
    let greedy = place().shell("x=aaaaaaaa; while :; do x=$x$x; done");
    let report = run(&greedy.limits(Limits { memory: Some(Size::new(64 * MEBI)), ..limits() }));
    assert_eq!(report.ending, Ending::Signalled(9), "{}", all(&report));
    assert_eq!(report.exceeded, [LimitName::Memory]);
}

#[test]
fn disk_has_an_end() {
    let spec = place().shell("dd if=/dev/zero of=/tmp/f bs=1M count=20; ls -l /tmp/f; dd if=/dev/zero of=/dev/shm/f bs=1M count=20");
    let report = run(&spec.limits(Limits { scratch: Some(Size::new(8 * MEBI)), ..limits() }));
    assert!(all(&report).matches("No space left").count() == 2, "{}", all(&report));
    let spec = place().shell("dd if=/dev/zero of=/tmp/f bs=1M count=20");
    let report = run(&spec.limits(Limits { file_size: Some(Size::new(MEBI)), ..limits() }));
    assert_ne!(report.ending, Ending::Exited(0), "{}", all(&report));
}

#[test]
fn open_files_have_an_end() {
    let report =
        run(&place().shell("ulimit -n; ulimit -c").limits(Limits { open_files: Some(64), ..limits() }));
    assert_eq!(out(&report), "64\n0\n", "{}", all(&report));
}

#[test]
fn time_has_an_end() {
    // A slow machine may not get to the first word in time. Without a limit of its own it would end after 30 s.
    let ends_early = [2, 4, 8, 16].into_iter().any(|seconds| {
        let begun = Instant::now();
        let wall = Some(Span::new(Duration::from_secs(seconds)));
        let report =
            run(&place().shell("echo begun; sleep 3600").limits(Limits { wall, ..Limits::default() }));
        assert_eq!((report.ending, &report.exceeded[..]), (Ending::TimedOut, &[LimitName::Wall][..]));
        out(&report) == "begun\n" && begun.elapsed() < Duration::from_secs(seconds + 10)
    });
    assert!(ends_early);
    assert!(
        place()
            .left_of(std::process::id())
            .iter()
            .all(|one| !one["Command"].to_string().contains("sleep 3600"))
    );
}

#[test]
fn processor_time_of_all_processes_has_an_end() {
    let spec = place().shell("(while :; do :; done) & (while :; do :; done) & wait");
    let report = run(&spec.limits(Limits { cpu: Some(Span::new(Duration::from_secs(1))), ..limits() }));
    assert_eq!(report.ending, Ending::Signalled(9), "{}", all(&report));
    assert_eq!(report.exceeded, [LimitName::Cpu]);
    assert!(
        report.usage.cpu >= Duration::from_secs(1) && report.usage.cpu < Duration::from_secs(60),
        "{:?}",
        report.usage
    );
}

#[test]
fn a_flood_of_output_ends_the_command() {
    let report = run(&place().shell("yes").limits(Limits { output: Some(Size::new(MEBI)), ..limits() }));
    assert_eq!(report.exceeded, [LimitName::Output]);
    assert_eq!(report.stdout.bytes.len() as u64, MEBI);
    assert_eq!((report.backend, report.assurance), ("container", Assurance::Claimed));
}
