//! What a whole tree of processes has used, read from the sandbox's own `/proc`.
//!
//! Limits of the kernel without a control group hold for each process alone. A tree is held to its limits by looking.
//!
//! INVARIANT: what is read of every process at every look waits for no lock that the process itself can hold. What may wait is read by
//! another thread, for a bounded time, and private memory of whatever has not answered then counts in full.

mod beside;
mod closely;
mod process;
mod time;

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{Dir, Mode, OFlags, fstat, open, openat, stat};

use beside::Beside;
pub(crate) use beside::Machine;
use closely::Closely;
use process::{Account, Folder, kibibytes};
pub(crate) use time::processors;
use time::{Clock, Sample, processor_share};

/// What a tree has used so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Spent {
    /// Processor time of all that live, of all that were waited for, and of all that were seen.
    pub(crate) cpu: Duration,
    /// Memory that cannot be taken back, shared pages counted once.
    pub(crate) memory: u64,
}

/// What a look is for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Looking {
    /// Whether processor time is limited.
    pub(crate) cpu: bool,
    /// The limit of memory, where looking is what enforces it.
    pub(crate) memory: Option<u64>,
    /// Whether memory may be on a disk instead.
    pub(crate) swap: bool,
    /// How many processes there are.
    pub(crate) processes: u64,
}

/// The processes of a sandbox.
pub(crate) struct Tree {
    proc: Arc<Folder>,
    clock: Clock,
    looked: Instant,
    /// The processes of the last look.
    known: HashSet<u32>,
    beside: Beside,
    closely: Closely,
    doubts: u32,
    uncertainty: Uncertainty,
}

/// A process that is about to execute a program shows the memory of its parent as its own, for a moment. What is too much only because
/// of that is looked at so often before it is believed.
const DOUBTS: u32 = 3;

/// For how long it is not known whose the shared memory is.
#[derive(Debug, Default)]
struct Uncertainty {
    /// Looks in a row.
    looks: u32,
    /// How much more the machine had at the first of them, in bytes.
    shared: u64,
}

impl Uncertainty {
    /// How many looks in a row may end without an answer: a process was gone, or did not get to say whether it shares memory. After that
    /// all that the machine has more counts as the tree's, or a chain of short processes could hand it on for ever.
    const LOOKS: u32 = 16;
    /// By which part of the limit the machine's shared memory may grow meanwhile.
    const GROWTH: u64 = 4;

    /// Tells whether one more look may be waited for.
    fn may_go_on(&mut self, shared: u64, limit: u64) -> bool {
        if self.looks == 0 {
            self.shared = shared;
        }
        self.looks += 1;
        self.looks <= Self::LOOKS && shared.saturating_sub(self.shared) <= limit / Self::GROWTH
    }
}

impl Tree {
    /// Looks through process 1 of a sandbox, as soon as that has a root of its own. The machine is as it was before the command ran.
    pub(crate) fn of(first: i32, before: Machine) -> Option<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &str| open(format!("/proc/{first}/root/{path}"), flags, Mode::empty()).ok();
        let proc = open("proc")?;
        // Before it has left the old root this would be the `/proc` of the machine.
        let is_own = fstat(&proc).ok()?.st_dev != stat("/proc").ok()?.st_dev;
        is_own.then(|| Self {
            proc: Arc::new(Folder(proc)),
            clock: Clock::default(),
            looked: Instant::now(),
            known: HashSet::new(),
            beside: Beside::new(before, open("tmp")),
            closely: Closely::default(),
            doubts: 0,
            uncertainty: Uncertainty::default(),
        })
    }

    /// Adds up what all processes have used.
    pub(crate) fn spent(&mut self, looking: Looking) -> Spent {
        let mut processes = self.processes();
        // Those that are new may soon be gone, and many others must not keep us from them.
        processes.sort_by_key(|process| self.known.contains(process));
        let looking =
            Looking { swap: self.beside.is_swapping(), processes: processes.len() as u64, ..looking };
        let mut accounts = HashMap::with_capacity(processes.len());
        let mut missed = 0;
        for process in processes {
            // A process that ended meanwhile has nothing to tell; whoever waited for it has.
            match Account::read(&self.proc, process, looking) {
                Some(account) => drop(accounts.insert(process, account)),
                None => missed += u32::from(!self.known.contains(&process)),
            }
        }
        self.known = accounts.keys().copied().collect();
        let sample = Sample { missed, share: processor_share() };
        let memory = self.memory(&accounts, missed, looking.memory);
        let since = std::mem::replace(&mut self.looked, Instant::now()).elapsed();
        Spent { cpu: self.clock.count(&accounts, sample, since), memory }
    }

    fn memory(&mut self, accounts: &HashMap<u32, Account>, missed: u32, limit: Option<u64>) -> u64 {
        let private: u64 = accounts.values().map(|account| account.private).sum();
        let tables: u64 = accounts.values().map(|account| account.tables).sum();
        let Some(limit) = limit else { return private + tables };
        let descriptors = accounts.values().map(|account| account.descriptors).sum();
        let beside = self.beside.look(&self.proc, descriptors, limit);
        let mut total = private + tables + beside.held;
        // What processes inherited from each other is counted for each of them; one alone shares nothing.
        if total > limit && accounts.len() > 1 {
            total = total - private + self.closely.private(&self.proc, accounts);
        }
        // Shared memory is counted for the whole machine: it is this tree's only if it has any.
        if total <= limit && total + beside.shared > limit {
            match self.closely.shares_memory(&self.proc, accounts) {
                Some(false) if missed == 0 => {
                    self.uncertainty = Uncertainty::default();
                    self.beside.forget_shared();
                }
                // It is looked at again at once, as what has reached its limit is.
                None | Some(false) if self.uncertainty.may_go_on(beside.shared, limit) => return limit,
                None | Some(_) => total += beside.shared,
            }
        } else {
            self.uncertainty = Uncertainty::default();
        }
        if total <= limit {
            self.doubts = 0;
        } else if self.doubts < DOUBTS && total.saturating_sub(shown_twice(accounts)) <= limit {
            self.doubts += 1;
            return limit;
        }
        total
    }

    fn processes(&self) -> Vec<u32> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat(&self.proc.0, ".", flags, Mode::empty()).and_then(Dir::new);
        let listed = listed.into_iter().flatten().flatten();
        listed.filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok()).collect()
    }
}

/// Adds up the memory of processes that look exactly like another.
fn shown_twice(accounts: &HashMap<u32, Account>) -> u64 {
    let mut known = HashSet::new();
    let again = accounts.values().filter(|account| !known.insert((account.private, account.mapped)));
    again.map(|account| account.private).sum()
}

/// Returns the most memory that this process has had at once, in bytes.
pub(crate) fn own_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmHWM:").unwrap_or_default()
}

/// A descriptor of a folder, for whoever reads below it.
type Opened = OwnedFd;

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let proc = open("/proc", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        Tree {
            proc: Arc::new(Folder(proc)),
            clock: Clock::default(),
            looked: Instant::now(),
            known: HashSet::new(),
            beside: Beside::new(Machine::now(), None),
            closely: Closely::default(),
            doubts: 0,
            uncertainty: Uncertainty::default(),
        }
    }

    /// Nobody has numbers like these.
    fn many(account: Account) -> HashMap<u32, Account> {
        (0..100).map(|number| (u32::MAX - number, account)).collect()
    }

    #[test]
    fn shared_memory_of_nobody_knows_whom_is_waited_for_but_not_long_and_not_while_it_grows() {
        let limit = 1 << 30;
        let mut uncertainty = Uncertainty::default();
        assert!((0..Uncertainty::LOOKS).all(|_| uncertainty.may_go_on(limit, limit)));
        assert!(!uncertainty.may_go_on(limit, limit));
        let mut uncertainty = Uncertainty::default();
        assert!(uncertainty.may_go_on(limit, limit) && uncertainty.may_go_on(limit + limit / 4, limit));
        assert!(!uncertainty.may_go_on(limit + limit / 2, limit));
    }

    #[test]
    fn page_tables_of_many_processes_are_added_up() {
        let accounts = many(Account { tables: 1 << 20, ..Account::default() });
        let counted = tree().memory(&accounts, 0, Some(64 << 20));
        assert!(counted >= 100 << 20, "{counted}");
        // A little in each of many is read, where it is not worth a look in one.
        let tree = tree();
        let own = |processes| {
            let looking = Looking { memory: Some(1 << 40), processes, ..Looking::default() };
            Account::read(&tree.proc, std::process::id(), looking).unwrap().tables
        };
        let swaps = kibibytes(&tree.proc.read("self/status").unwrap_or_default(), "VmSwap:");
        assert!(swaps.is_some() && own(1) == 0 && own(1 << 40) > 0, "{} {}", own(1), own(1 << 40));
    }
}
