//! Showing that something takes time: one line on the terminal, which goes away again.
//!
//! INVARIANT: only a terminal sees it, and only where nobody has said otherwise: not with `NO_COLOR`, since the line is drawn with escape
//! sequences; not in `CI`; not where `TERM` is `dumb` or unset. What takes less than a second shows nothing.

use std::ffi::OsString;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ringfence::audit::Progress;

use crate::print;

/// What is shorter is not shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is drawn.
const EVERY: Duration = Duration::from_millis(120);
/// How much of what is done is said, so that the line never breaks.
const WIDTH: usize = 60;
/// Goes to the start of the line and empties it.
const CLEAR: &str = "\r\x1b[K";

/// Something that takes time, while this is held.
pub(crate) struct Busy {
    at_work: Option<(Sender<()>, JoinHandle<()>)>,
    screen: Screen,
}

type Screen = Arc<Mutex<dyn Write + Send>>;

impl Busy {
    /// Begins something.
    pub(crate) fn with(what: impl Into<String>) -> Self {
        Self::counted(what, Progress::default())
    }

    /// Begins something of which it is known how far it has come.
    pub(crate) fn counted(what: impl Into<String>, progress: Progress) -> Self {
        let screen: Screen = Arc::new(Mutex::new(print::drawn_errors()));
        let is_wanted = print::errors_are_terminal() && is_wanted(|name| std::env::var_os(name));
        let patience = is_wanted.then_some(PATIENCE);
        Self::on(screen, patience, what.into(), progress)
    }

    /// The same on any screen; nothing is drawn where there is no patience.
    fn on(screen: Screen, patience: Option<Duration>, what: String, progress: Progress) -> Self {
        let Some(patience) = patience else { return Self { at_work: None, screen } };
        // Nothing is ever sent: the end of the work drops one side.
        let (working, done) = channel::<()>();
        let drawn = Arc::clone(&screen);
        let draws = move || {
            let start = Instant::now();
            let mut wait = patience;
            while done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let line = line(&what, start.elapsed(), &progress);
                put(&drawn, &format!("{CLEAR}{line}"));
                wait = EVERY;
            }
            if wait == EVERY {
                put(&drawn, CLEAR);
            }
        };
        // Without a thread nothing is shown, which takes nothing away from the work.
        let thread = std::thread::Builder::new().name("ringfence-progress".into()).spawn(draws);
        Self { at_work: thread.ok().map(|thread| (working, thread)), screen }
    }

    /// Says whether somebody sees the line.
    pub(crate) const fn is_shown(&self) -> bool {
        self.at_work.is_some()
    }

    /// Writes a line of its own; the other one is drawn again below it.
    pub(crate) fn say(&self, line: &str) {
        let clear = if self.is_shown() { CLEAR } else { "" };
        put(&self.screen, &format!("{clear}{}\n", print::line(line)));
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some((working, thread)) = self.at_work.take() {
            drop(working);
            let _ended = thread.join();
        }
    }
}

fn put(screen: &Mutex<dyn Write + Send>, text: &str) {
    let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
    let _told = screen.write_all(text.as_bytes()).and_then(|()| screen.flush());
}

/// Says whether whoever looks at the terminal wants to see it.
fn is_wanted(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("CI").is_none() && set("TERM").is_some_and(|term| term != "dumb")
}

fn line(what: &str, elapsed: Duration, progress: &Progress) -> String {
    const TURNS: [char; 4] = ['|', '/', '-', '\\'];
    let turn = usize::try_from(elapsed.as_millis() / EVERY.as_millis()).unwrap_or(0) % TURNS.len();
    let turn = TURNS.get(turn).copied().unwrap_or('|');
    let what: String = print::line(what).chars().take(WIDTH).collect();
    let seconds = elapsed.as_secs();
    match (progress.done(), progress.total()) {
        (_, 0) => format!("{turn} {what}, {seconds} s"),
        (done, total) => {
            let share = done.saturating_mul(100) / total;
            format!("{turn} {what}: {share} %, {seconds} s")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_and_how_far() {
        let unknown = Progress::default();
        assert_eq!(line("verifying", Duration::from_millis(2_500), &unknown), "| verifying, 2 s");
        let known = Progress::default();
        known.begin(300);
        known.reach(100);
        assert_eq!(line("verifying", Duration::from_millis(3_130), &known), "- verifying: 33 %, 3 s");
        assert!(line(&"x".repeat(500), Duration::ZERO, &unknown).len() < 80);
    }

    #[test]
    fn only_who_wants_it_sees_it() {
        #[rustfmt::skip]
        let cases: &[(&[(&str, &str)], bool)] = &[
            (&[("TERM", "xterm")],                          true),
            (&[("TERM", "xterm"), ("NO_COLOR", "")],        true),
            (&[("TERM", "xterm"), ("NO_COLOR", "1")],       false),
            (&[("TERM", "xterm"), ("CI", "true")],          false),
            (&[("TERM", "dumb")],                           false),
            (&[],                                           false),
        ];
        for (variables, wanted) in cases {
            let variable = |name: &str| {
                variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value))
            };
            assert_eq!(is_wanted(variable), *wanted, "{variables:?}");
        }
    }

    #[test]
    fn it_is_drawn_while_the_work_goes_on_and_taken_away() {
        let screen = Arc::new(Mutex::new(Vec::<u8>::new()));
        let shown = || String::from_utf8(screen.lock().unwrap().clone()).unwrap();
        let busy =
            Busy::on(screen.clone(), Some(Duration::from_millis(1)), "working".into(), Progress::default());
        let start = Instant::now();
        while !shown().contains("working") && start.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(1));
        }
        busy.say("a line");
        drop(busy);
        let text = shown();
        assert!(text.contains("working, ") && text.contains("a line\n") && text.ends_with(CLEAR), "{text:?}");

        screen.lock().unwrap().clear();
        drop(Busy::on(screen.clone(), Some(Duration::from_secs(100)), "quick".into(), Progress::default()));
        let unseen = Busy::on(screen.clone(), None, "unseen".into(), Progress::default());
        unseen.say("told");
        drop(unseen);
        assert_eq!(shown(), "told\n", "what is quick or unseen leaves no trace");
    }
}
