use std::ops::ControlFlow;
use std::process::{Child, Command};
use std::sync::mpsc::channel;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::*;

/// A process that always uses as much as it is said to.
struct Fake {
    child: Child,
    pidfd: OwnedFd,
    spent: Spent,
    has_started: bool,
}

impl Fake {
    fn new(spent: Spent) -> Self {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        Self { child, pidfd, spent, has_started: true }
    }
}

impl Process for Fake {
    fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    fn ending(&mut self) -> (Ending, Usage) {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().unwrap();
        (Ending::from_wait(status.into_raw()), Usage::default())
    }

    fn has_started(&self) -> bool {
        self.has_started
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    fn spent(&mut self, _looking: Looking) -> Option<Spent> {
        Some(self.spent)
    }
}

fn bounds(memory: u64) -> Bounds {
    let latest = Instant::now() + Duration::from_secs(300);
    Bounds {
        deadline: Some(latest),
        output: usize::MAX,
        cpu: None,
        memory: Some(memory),
        leash: None,
        signals: None,
        gauge: None,
        start: LONGEST_START,
    }
}

/// Without a control group, memory is looked at here.
#[test]
fn memory_is_looked_at_while_nobody_takes_the_output() {
    let (output, theirs) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::fs::fcntl_setfl(&output, rustix::fs::OFlags::NONBLOCK).unwrap();
    rustix::io::write(&theirs, b"nobody takes this").unwrap();
    let (blocked, is_blocked) = channel();
    let (_held, never) = channel::<()>();
    let observer: Observer = Box::new(move |_, _| {
        let _told = blocked.send(());
        let _released = never.recv();
        ControlFlow::Continue(())
    });
    let mut process = Fake::new(Spent { memory: 65 << 20, ..Spent::default() });
    let streams =
        Ours { input: super::super::feed::Feed::default(), output: Some(output), error: None, window: None };
    let begun = Instant::now();
    let watched = watch(&mut process, streams, Some(observer), &bounds(64 << 20)).unwrap();
    assert!(watched.out_of_memory && is_blocked.try_recv().is_ok());
    assert_eq!(watched.ending, Ending::Signalled(libc::SIGKILL));
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn a_command_that_never_begins_is_killed() {
    let mut process = Fake { has_started: false, ..Fake::new(Spent::default()) };
    let streams =
        Ours { input: super::super::feed::Feed::default(), output: None, error: None, window: None };
    let begun = Instant::now();
    let bounds = Bounds { start: Duration::from_millis(100), ..bounds(64 << 20) };
    let watched = watch(&mut process, streams, None, &bounds).unwrap();
    assert!(watched.is_late && watched.ending == Ending::Signalled(libc::SIGKILL));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // One that has begun goes on.
    let mut process = Fake::new(Spent { memory: 65 << 20, ..Spent::default() });
    let streams =
        Ours { input: super::super::feed::Feed::default(), output: None, error: None, window: None };
    assert!(!watch(&mut process, streams, None, &bounds).unwrap().is_late);
}
