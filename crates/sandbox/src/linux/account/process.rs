//! What one process tells of itself without waiting for a lock that it can hold.

use std::time::Duration;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::{Looking, Opened};

/// A `/proc`.
#[derive(Debug)]
pub(super) struct Folder(pub(super) Opened);

impl Folder {
    pub(super) fn read(&self, path: &str) -> Option<String> {
        self.try_read(path).ok()
    }

    pub(super) fn try_read(&self, path: &str) -> std::io::Result<String> {
        let file = openat(&self.0, path, OFlags::CLOEXEC, Mode::empty())?;
        std::io::read_to_string(std::fs::File::from(file))
    }
}

/// What was read of one process.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Account {
    /// When it started, in ticks: a number can be given again.
    pub(super) start: u64,
    /// A thread that lives on where the first one has ended, which then shows nothing.
    pub(super) thread: Option<u32>,
    /// Whether it wanted a processor just then.
    pub(super) running: bool,
    /// How many threads it has.
    pub(super) threads: u32,
    /// How long it wanted a processor and had none, where it is young.
    pub(super) delayed: Duration,
    /// Its own processor time.
    pub(super) own: Duration,
    /// Processor time of the children that it waited for.
    pub(super) waited_for: Duration,
    /// Memory that is not shared with files, in bytes.
    pub(super) private: u64,
    /// What it maps, in bytes.
    pub(super) mapped: u64,
    /// Page tables, in bytes.
    pub(super) tables: u64,
    /// How many descriptors it has.
    pub(super) descriptors: u64,
}

/// The kernel counts processor time for `/proc` in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);
/// Below this it matters that two counters were rounded down to ticks.
const FEW_TICKS: Duration = Duration::from_millis(100);
/// A page of page tables maps so many pages.
const PER_TABLE: u64 = 512;
/// Page tables are worth a look where they could be more than this part of the limit.
const WORTH: u64 = 32;

impl Account {
    /// Reads what a look is for; nothing where there is no such process any more.
    pub(super) fn read(proc: &Folder, process: u32, looking: Looking) -> Option<Self> {
        let stat = proc.read(&format!("{process}/stat"))?;
        let mut account = Self::times(&stat)?;
        if leads_no_more(&stat) {
            account.thread = living_thread(proc, process);
        }
        let folder = account.folder(process);
        if looking.cpu && account.own < FEW_TICKS {
            // Many short processes would be nothing if each were rounded down.
            let exact = proc.read(&format!("{process}/schedstat")).and_then(|text| nanoseconds(&text));
            let (exact, delayed) = exact.unwrap_or_default();
            (account.own, account.delayed) = (account.own.max(exact), delayed);
        }
        let sizes = proc.read(&format!("{folder}/statm")).and_then(|text| Sizes::read(&text));
        let Some(sizes) = sizes else { return Some(account) };
        (account.private, account.mapped) = (sizes.private, sizes.mapped);
        if let Some(limit) = looking.memory {
            account.descriptors = descriptors(proc, &folder);
            // Many processes with a little each are as much as one with all of it.
            if looking.swap || sizes.mapped / PER_TABLE > limit / WORTH / looking.processes.max(1) {
                let status = proc.read(&format!("{folder}/status")).unwrap_or_default();
                account.tables = kibibytes(&status, "VmPTE:").unwrap_or_default();
                account.private += kibibytes(&status, "VmSwap:").unwrap_or_default();
            }
        }
        Some(account)
    }

    /// Whether it may use a processor just now. What is told is the state of its first thread.
    pub(super) const fn is_busy(&self) -> bool {
        self.running || self.threads > 1
    }

    /// Returns which part of the time that it wanted a processor it has had one.
    pub(super) fn share(&self) -> f64 {
        let wanted = self.own + self.delayed;
        if wanted.is_zero() { 1.0 } else { self.own.as_secs_f64() / wanted.as_secs_f64() }
    }

    /// Where it tells of its memory.
    pub(super) fn folder(&self, process: u32) -> String {
        match self.thread {
            Some(thread) => format!("{process}/task/{thread}"),
            None => process.to_string(),
        }
    }

    /// The third field is the state, the 14th to 17th fields are own and waited-for time, in user and kernel mode; the 20th is how many threads there are, the 22nd the start. They are counted after the
    /// name in parentheses, which may hold anything.
    fn times(stat: &str) -> Option<Self> {
        let (_, after_name) = stat.rsplit_once(')')?;
        let fields: Vec<u64> =
            after_name.split_whitespace().skip(11).take(9).filter_map(|field| field.parse().ok()).collect();
        let [user, system, waited_user, waited_system, _, _, threads, _, start] = fields.as_slice() else {
            return None;
        };
        let ticks = |count: u64| TICK * u32::try_from(count).unwrap_or(u32::MAX);
        Some(Self {
            start: *start,
            running: after_name.trim_start().starts_with('R'),
            threads: u32::try_from(*threads).unwrap_or(u32::MAX),
            own: ticks(user + system),
            waited_for: ticks(waited_user + waited_system),
            ..Self::default()
        })
    }
}

/// Tells whether the first thread has ended while others live: the 20th field is how many there are, with that one.
fn leads_no_more(stat: &str) -> bool {
    let after_name = stat.rsplit_once(')').map_or("", |(_, after_name)| after_name);
    let mut fields = after_name.split_whitespace();
    fields.next() == Some("Z")
        && fields.nth(16).and_then(|threads| threads.parse().ok()).is_some_and(|threads: u32| threads > 1)
}

/// Returns a thread that still has memory.
fn living_thread(proc: &Folder, process: u32) -> Option<u32> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = openat(&proc.0, format!("{process}/task"), flags, Mode::empty()).and_then(Dir::new).ok()?;
    let threads = listed.flatten().filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok());
    let lives = |thread: &u32| {
        let sizes = proc.read(&format!("{process}/task/{thread}/statm"));
        sizes.and_then(|text| Sizes::read(&text)).is_some_and(|sizes| sizes.mapped > 0)
    };
    threads.filter(|thread| *thread != process).find(lives)
}

/// What a process maps, in bytes.
struct Sizes {
    mapped: u64,
    private: u64,
}

impl Sizes {
    /// Pages that are mapped, that are there, and that belong to files or shared memory.
    fn read(statm: &str) -> Option<Self> {
        let mut pages = statm.split_whitespace().map_while(|field| field.parse::<u64>().ok());
        let (mapped, resident, shared) = (pages.next()?, pages.next()?, pages.next()?);
        let page = rustix::param::page_size() as u64;
        Some(Self { mapped: mapped * page, private: resident.saturating_sub(shared) * page })
    }
}

/// The first field of `schedstat` is the time on a processor, the second the time of waiting for one.
fn nanoseconds(schedstat: &str) -> Option<(Duration, Duration)> {
    let mut fields = schedstat.split_whitespace().map_while(|field| field.parse().ok());
    Some((Duration::from_nanos(fields.next()?), Duration::from_nanos(fields.next()?)))
}

/// Since Linux 6.2 the size of the folder is how many descriptors there are; before that they are counted.
fn descriptors(proc: &Folder, folder: &str) -> u64 {
    let path = format!("{folder}/fd");
    let size = statat(&proc.0, &path, AtFlags::empty()).map_or(0, |folder| folder.st_size.unsigned_abs());
    if size > 0 {
        return size;
    }
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(&proc.0, &path, flags, Mode::empty()).and_then(Dir::new) {
        // The folder names itself and the one above it.
        Ok(listed) => (listed.count() as u64).saturating_sub(2),
        // A program that the user may start and not read: as many as it may have.
        Err(Errno::ACCESS | Errno::PERM) => proc
            .read(&format!("{folder}/limits"))
            .and_then(|limits| most_descriptors(&limits))
            .unwrap_or(u64::from(u32::MAX)),
        Err(_) => 0,
    }
}

/// The limit that holds now is the first number of its line.
fn most_descriptors(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns a line of `/proc` that counts in KiB, in bytes.
pub(super) fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194304 90 0 0 0 12 3 40 5 20 0 1 0 4711 1 1";
        let account = Account::times(stat).unwrap();
        assert_eq!(
            (account.own.as_millis(), account.waited_for.as_millis(), account.start),
            (150, 450, 4711)
        );
        assert!(account.running && !Account::times(&stat.replace(" R ", " S ")).unwrap().running);
        let gone = stat.replace(" R ", " Z ");
        assert!(!leads_no_more(stat) && !leads_no_more(&gone));
        assert!(leads_no_more(&gone.replace(" 20 0 1 0 4711", " 20 0 2 0 4711")));
        assert_eq!(Account::times("7 (x"), None);
        let page = rustix::param::page_size() as u64;
        let sizes = Sizes::read("900 30 12 1 0 33 0").unwrap();
        assert_eq!((sizes.mapped, sizes.private), (900 * page, 18 * page));
        assert!(Sizes::read("900 30").is_none());
        let (own, delayed) = (Duration::from_nanos(9_999_999), Duration::from_nanos(12));
        assert_eq!(nanoseconds("9999999 12 3\n"), Some((own, delayed)));
        assert_eq!(Account::times(&stat.replace(" 20 0 1 0 4711", " 20 0 2 0 4711")).unwrap().threads, 2);
        let limits = "Limit  Soft  Hard  Units\nMax open files            1024                 4096                 files\n";
        assert_eq!((most_descriptors(limits), most_descriptors("")), (Some(1024), None));
        assert_eq!(kibibytes("VmPeak: 9 kB\nVmPTE:\t     64 kB\n", "VmPTE:"), Some(64 << 10));
    }

    #[test]
    fn a_process_tells_of_its_descriptors_and_tables() {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let proc = Folder(rustix::fs::open("/proc", flags, Mode::empty()).unwrap());
        let looking = Looking { cpu: true, memory: Some(1), ..Looking::default() };
        let account = Account::read(&proc, std::process::id(), looking).unwrap();
        assert!(account.descriptors >= 3 && account.tables > 0 && account.private > 0, "{account:?}");
        assert!(account.own > Duration::ZERO, "{account:?}");
        assert_eq!(Account::read(&proc, u32::MAX, looking), None);
    }
}
