//! A closer look, at what may make us wait.
//!
//! What a process maps is read under a lock that the process can hold for long. It is read by a thread of its own; private memory of a
//! process that has not answered in time counts in full.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::process::{Account, Folder, kibibytes};

/// Looks closely, one look at a time.
#[derive(Debug, Default)]
pub(super) struct Closely {
    reader: Option<JoinHandle<()>>,
}

/// How long an answer is waited for, and how much longer for each byte that must be looked through.
const PATIENCE: Duration = Duration::from_millis(50);
const BYTES_A_MILLISECOND: u64 = 4 << 20;

/// What is known of a process's shared memory, beside that it has none.
const UNKNOWN: u64 = 0;
const SHARES: u64 = 1;

impl Closely {
    /// Tells whether a process has shared memory that is in no file. Of one that is gone, or does not say in time, it is not known: a
    /// busy machine keeps an honest one from answering as well.
    pub(super) fn shares_memory(
        &mut self,
        proc: &Arc<Folder>,
        accounts: &HashMap<u32, Account>,
    ) -> Option<bool> {
        let read = |maps: &str| match maps {
            "" => Some(UNKNOWN),
            maps => has_shared_memory(maps).then_some(SHARES),
        };
        let answers = self.ask(proc, accounts, "maps", PATIENCE, read);
        let mut is_known = true;
        for (process, account) in accounts {
            match answers.get(process) {
                Some(None) => {}
                // One that had ended before, and is still listed, has nothing.
                Some(Some(UNKNOWN)) => is_known &= account.mapped == 0,
                Some(Some(_)) => return Some(true),
                None => is_known = false,
            }
        }
        is_known.then_some(false)
    }

    /// Adds up private memory, what is inherited divided by who has it.
    pub(super) fn private(&mut self, proc: &Arc<Folder>, accounts: &HashMap<u32, Account>) -> u64 {
        let all: u64 = accounts.values().map(|account| account.private).sum();
        let patience = PATIENCE + Duration::from_millis(all / BYTES_A_MILLISECOND);
        let answers = self.ask(proc, accounts, "smaps_rollup", patience, proportional);
        let of = |(process, account): (&u32, &Account)| match answers.get(process) {
            Some(Some(divided)) => *divided,
            Some(None) | None => account.private,
        };
        accounts.iter().map(of).sum()
    }

    /// Reads a file of each process. Whoever has ended meanwhile has nothing.
    fn ask(
        &mut self,
        proc: &Arc<Folder>,
        accounts: &HashMap<u32, Account>,
        file: &'static str,
        patience: Duration,
        read: fn(&str) -> Option<u64>,
    ) -> HashMap<u32, Option<u64>> {
        let mut answers = HashMap::with_capacity(accounts.len());
        if self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) {
            return answers;
        }
        let until = Instant::now() + patience;
        let (answer, answered) = channel();
        let mut folders: Vec<(u32, u64, String)> = accounts
            .iter()
            .map(|(process, account)| (*process, account.start, account.folder(*process)))
            .collect();
        // The youngest first, before they are gone.
        folders.sort_unstable_by_key(|(process, start, _)| std::cmp::Reverse((*start, *process)));
        let proc = Arc::clone(proc);
        let work = move || {
            for (process, _, folder) in folders {
                let text = match proc.try_read(&format!("{folder}/{file}")) {
                    Ok(text) => text,
                    Err(error) if is_gone(&error) => String::new(),
                    // A process that may not be looked into does not answer.
                    Err(_) => continue,
                };
                if answer.send((process, read(&text))).is_err() {
                    return;
                }
            }
        };
        self.reader = std::thread::Builder::new().spawn(work).ok();
        while answers.len() < accounts.len() {
            match answered.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((process, read)) => drop(answers.insert(process, read)),
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => break,
            }
        }
        if answers.len() == accounts.len() {
            // It has nothing left to do.
            let _ended = self.reader.take().map(JoinHandle::join);
        }
        answers
    }
}

/// Tells whether there is no such process any more.
fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// What the kernel calls shared memory without a file: as if `/dev/zero` were mapped.
fn has_shared_memory(maps: &str) -> bool {
    maps.lines().any(|line| {
        let mut fields = line.split_whitespace();
        let is_shared = fields.nth(1).is_some_and(|access| access.ends_with('s'));
        is_shared && fields.nth(3).is_some_and(|path| path == "/dev/zero" || path.starts_with("/memfd:"))
    })
}

/// Without files: what is read of them can be taken back.
fn proportional(rollup: &str) -> Option<u64> {
    kibibytes(rollup, "Pss_Anon:").or_else(|| kibibytes(rollup, "Pss:"))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags, open};

    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        assert_eq!(proportional("x\nRss:   12 kB\nPss:\t 7 kB\nPss_Anon: 5 kB\n"), Some(5 << 10));
        assert_eq!(proportional("Pss:\t 7 kB\n"), Some(7 << 10));
        assert_eq!(proportional(""), None);
        let shared = "7f4c111fd000-7f4c211fd000 rw-s 00000000 00:01 1025       /dev/zero (deleted)\n";
        let file = "7f4c111fd000-7f4c211fd000 rw-s 00000000 08:01 1025       /tmp/dev/zero\n";
        let private = "7f4c111fd000-7f4c211fd000 rw-p 00000000 00:01 1025      /dev/zero\n";
        assert!(has_shared_memory(shared) && has_shared_memory(&format!("{file}{private}{shared}")));
        assert!(!has_shared_memory(file) && !has_shared_memory(private) && !has_shared_memory(""));
    }

    #[test]
    fn who_does_not_answer_counts_in_full() {
        let proc = open("/proc", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let proc = Arc::new(Folder(proc));
        let account = Account { private: 7 << 20, ..Account::default() };
        // Nobody has this number.
        let accounts = HashMap::from([(u32::MAX, account)]);
        assert_eq!(Closely::default().private(&proc, &accounts), 7 << 20);
        // A look that still waits leaves no room for another.
        let (hold, held) = channel::<()>();
        let reader = std::thread::spawn(move || held.recv().unwrap_or_default());
        let mut busy = Closely { reader: Some(reader) };
        let own = HashMap::from([(std::process::id(), Account { private: 1 << 40, ..account })]);
        assert_eq!(busy.private(&proc, &own), 1 << 40);
        assert_eq!(busy.shares_memory(&proc, &own), None);
        drop(hold);
        busy.reader.take().unwrap().join().unwrap();
        assert!(busy.private(&proc, &own) < 1 << 40);
        // Who is gone may have handed on what it had, if it had anything.
        assert_eq!(busy.shares_memory(&proc, &accounts), Some(false));
        let accounts = HashMap::from([(u32::MAX, Account { mapped: 1, ..account })]);
        assert_eq!(busy.shares_memory(&proc, &accounts), None);
        assert_eq!(busy.shares_memory(&proc, &HashMap::new()), Some(false));
    }
}
