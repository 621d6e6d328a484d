//! Noticing that a protected file is replaced from outside while a command runs.
//!
//! A mount covers the file it was attached to. When somebody outside renames another file over that one, or removes it, the kernel
//! takes the mount away in the sandbox, and the new file is there without protection; also where it is the same file that gets its name
//! back. The run is ended then. Until the signal
//! arrives the command goes on; the new file is moved aside like anything new.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

use crate::error::SandboxError;
use crate::host::{Identity, Kind, Treatment, is_exchanged};
use crate::plan::{Entry, Plan};
use crate::report::REPLACED;
use crate::step::Step;

/// How often everything is looked at where the kernel tells of changes: it does so late for a removed folder that somebody holds.
const PAUSE: Duration = Duration::from_millis(250);
/// The same where it does not.
const SHORT_PAUSE: Duration = Duration::from_millis(20);
/// Looking takes at most this part of the time.
const SHARE: u32 = 20;

/// A path that a mount covers, or that keeps covered ones in their place.
#[derive(Debug)]
struct Covered {
    path: PathBuf,
    identity: Identity,
    made: Option<(i64, i64)>,
    /// When its attributes, its content or the number of its names changed last before the run; of a folder nothing.
    changed: Option<(i64, i64)>,
}

/// What a backend keeps in its place beside what it covers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pins {
    Folders,
    FoldersAndLinks,
    Nothing,
}

impl Pins {
    fn keeps(self, kind: Kind) -> bool {
        match self {
            Self::Folders => kind == Kind::Directory,
            Self::FoldersAndLinks => true,
            Self::Nothing => false,
        }
    }
}

impl Covered {
    fn new(path: &Path, identity: Identity, made: Option<(i64, i64)>) -> Self {
        let found = std::fs::symlink_metadata(path).ok().filter(|found| !found.is_dir());
        let changed = found.map(|found| (found.ctime(), found.ctime_nsec()));
        Self { path: path.to_path_buf(), identity, made, changed }
    }

    /// Tells whether its name may have been taken away and given back.
    fn is_changed(&self) -> bool {
        let found = std::fs::symlink_metadata(&self.path);
        let now = found.map(|found| (found.ctime(), found.ctime_nsec())).ok();
        self.changed.is_some() && self.changed != now
    }

    fn is_replaced(&self) -> bool {
        match std::fs::symlink_metadata(&self.path) {
            Ok(found) => {
                let is_same = (found.dev(), found.ino()) == (self.identity.device, self.identity.inode);
                !is_same || self.made.is_some_and(|made| made_at(&found) != Some(made))
            }
            // One that is gone can come back as another; and a folder on the way that is closed now hides it from us alone.
            Err(_) => true,
        }
    }
}

fn made_at(found: &std::fs::Metadata) -> Option<(i64, i64)> {
    let since = found.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((i64::try_from(since.as_secs()).ok()?, i64::from(since.subsec_nanos())))
}

/// What is watched for replacements in one run.
#[derive(Debug, Default)]
pub(super) struct Replacements {
    covered: Vec<Covered>,
    /// What tells of changes, and what each watch is for.
    told: Option<(OwnedFd, HashMap<i32, usize>)>,
    /// What tells of names that are taken away: apart, since a command can make much of it.
    names: Option<(OwnedFd, Names)>,
    /// Whether something about names was missed.
    is_missed: bool,
}

/// The names that are watched in each folder, by its watch.
type Names = HashMap<i32, Vec<(OsString, usize)>>;

impl Replacements {
    /// Begins to notice what happens to the protected paths of a plan.
    ///
    /// # Errors
    ///
    /// One of them is another file by now.
    pub(super) fn of(plan: &Plan, pins: Pins) -> Result<Self, SandboxError> {
        // What comes and goes with the folders around it is looked for afterwards.
        let stays = |path: &Path| !plan.may_be_gone(path) && !is_exchanged(path, &plan.guarded);
        let is_entry =
            |entry: &Entry| matches!(entry, Entry::Bind { protected: true, .. } | Entry::Hidden { .. });
        let entries: HashSet<&Path> =
            plan.root.iter().filter(|entry| is_entry(entry)).map(Entry::path).collect();
        let kept = plan.sensitive.iter().filter(|one| one.treatment != Treatment::Watch);
        let kept = kept.filter(|one| entries.contains(one.path.as_path()) && stays(&one.path));
        let mut covered: Vec<Covered> =
            kept.map(|one| Covered::new(&one.path, one.identity, one.made)).collect();
        let pins = plan.pins.iter().filter(|pin| pins.keeps(pin.kind) && stays(&pin.path));
        covered.extend(pins.map(|pin| Covered::new(&pin.path, pin.identity, None)));
        if covered.is_empty() {
            return Ok(Self::default());
        }
        let told = watch(&covered).ok();
        let names = watch_names(&covered).ok();
        let watched = Self { covered, told, names, is_missed: false };
        match watched.first_replaced() {
            Some(path) => {
                Err(SandboxError::Step { step: Step::Changed, path: Some(path), error: Errno::STALE.into() })
            }
            None => Ok(watched),
        }
    }

    /// Ends the process as soon as something is replaced.
    ///
    /// # Errors
    ///
    /// Nobody can be set to watch.
    pub(super) fn begin(self, process: BorrowedFd<'_>) -> Result<Watching, SandboxError> {
        if self.covered.is_empty() {
            return Ok(Watching(None));
        }
        let failed = |error| SandboxError::Step { step: Step::Control, path: None, error };
        let process = process.try_clone_to_owned().map_err(failed)?;
        let over = eventfd(0, EventfdFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
        let ours = over.try_clone().map_err(failed)?;
        let work = move || self.watch_until(&over, &process);
        let thread = std::thread::Builder::new().name("ringfence-covered".into()).spawn(work);
        Ok(Watching(Some((ours, thread.map_err(failed)?))))
    }

    fn watch_until(mut self, over: &OwnedFd, process: &OwnedFd) -> Option<PathBuf> {
        let mut replaced = self.first_replaced();
        let mut took = Duration::ZERO;
        while replaced.is_none() {
            let shortest = if self.told.is_some() { PAUSE } else { SHORT_PAUSE };
            match self.wait(over, shortest.max(took * SHARE)) {
                // What was told last is heard first.
                News::Over => return self.first_unnamed().or_else(|| self.first_replaced()),
                News::About(places) => {
                    let mut named = places.iter().filter_map(|place| self.covered.get(*place));
                    replaced = named.find(|one| one.is_replaced()).map(|one| one.path.clone());
                }
                News::Unnamed(place) => replaced = self.covered.get(place).map(|one| one.path.clone()),
                News::Nothing => {
                    let begun = Instant::now();
                    replaced = self.first_replaced();
                    took = begun.elapsed();
                }
            }
        }
        // Fails only when it is already over.
        let _sent = pidfd_send_signal(process, Signal::KILL);
        replaced
    }

    fn first_replaced(&self) -> Option<PathBuf> {
        let is_replaced = |one: &&Covered| one.is_replaced() || (self.is_missed && one.is_changed());
        self.covered.iter().find(is_replaced).map(|one| one.path.clone())
    }

    fn first_unnamed(&mut self) -> Option<PathBuf> {
        match self.read_names() {
            News::Unnamed(place) => self.covered.get(place).map(|one| one.path.clone()),
            _ => None,
        }
    }

    fn read_names(&mut self) -> News {
        match self.names.as_ref().map(|(told, names)| read_names(told, names)) {
            Some(Ok(Some(place))) => News::Unnamed(place),
            // Others were told of.
            Some(Ok(None)) => News::About(Vec::new()),
            Some(Err(errno)) => {
                self.is_missed = true;
                if errno != Errno::OVERFLOW {
                    self.names = None;
                }
                News::Nothing
            }
            None => News::Nothing,
        }
    }

    fn wait(&mut self, over: &OwnedFd, pause: Duration) -> News {
        let timeout = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) };
        let mut polled = vec![PollFd::new(over, PollFlags::IN)];
        polled.extend(self.names.as_ref().map(|(told, _)| PollFd::new(told, PollFlags::IN)));
        polled.extend(self.told.as_ref().map(|(told, _)| PollFd::new(told, PollFlags::IN)));
        let ready = match poll(&mut polled, Some(&timeout)) {
            Ok(_) => polled.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>(),
            Err(_) => return News::Nothing,
        };
        if ready.first() != Some(&true) && self.names.is_some() && ready.get(1) == Some(&true) {
            return self.read_names();
        }
        match (ready.first(), ready.get(1 + usize::from(self.names.is_some())), &self.told) {
            (Some(true), ..) => News::Over,
            (_, Some(true), Some((told, watches))) => match read(told, watches) {
                Ok(places) => News::About(places),
                // What it had to tell was too much, or it broke: looking again is sure.
                Err(_) => {
                    self.told = None;
                    News::Nothing
                }
            },
            _ => News::Nothing,
        }
    }
}

/// What was heard.
enum News {
    /// Something happened to these.
    About(Vec<usize>),
    /// The name of this one was taken away, or given to another.
    Unnamed(usize),
    /// Nothing, for a while.
    Nothing,
    /// The run is over.
    Over,
}

fn watch(covered: &[Covered]) -> Result<(OwnedFd, HashMap<i32, usize>), Errno> {
    let told = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let mut watches = HashMap::new();
    // A file that another is renamed over, or that is removed, has one name less, which is a change of its attributes.
    let flags = WatchFlags::ATTRIB
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::DONT_FOLLOW
        | WatchFlags::MASK_ADD;
    for (place, one) in covered.iter().enumerate() {
        match add_watch(&told, &one.path, flags) {
            Ok(watch) => _ = watches.insert(watch, place),
            // What is gone or closed to us counts as replaced as soon as somebody looks.
            Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok((told, watches))
}

/// Watches the folders around: a file whose name is taken away and given back is the same file, without its mount.
fn watch_names(covered: &[Covered]) -> Result<(OwnedFd, Names), Errno> {
    let told = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let mut names = Names::new();
    let flags = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
    for (place, one) in covered.iter().enumerate() {
        let (Some(folder), Some(name)) = (one.path.parent(), one.path.file_name()) else { continue };
        match add_watch(&told, folder, flags) {
            Ok(watch) => names.entry(watch).or_default().push((name.to_owned(), place)),
            Err(Errno::NOENT | Errno::ACCESS) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok((told, names))
}

/// Returns the first that lost its name.
fn read_names(told: &OwnedFd, names: &Names) -> Result<Option<usize>, Errno> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(told, &mut buffer);
    loop {
        match reader.next() {
            Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return Err(Errno::OVERFLOW),
            Ok(event) => {
                let name = event.file_name().map(std::ffi::CStr::to_bytes);
                let mut here = names.get(&event.wd()).into_iter().flatten();
                if let Some((_, place)) = here.find(|(own, _)| Some(own.as_encoded_bytes()) == name) {
                    return Ok(Some(*place));
                }
            }
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn read(told: &OwnedFd, watches: &HashMap<i32, usize>) -> Result<Vec<usize>, Errno> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(told, &mut buffer);
    let mut places = Vec::new();
    loop {
        match reader.next() {
            Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return Err(Errno::OVERFLOW),
            Ok(event) => places.extend(watches.get(&event.wd())),
            Err(Errno::AGAIN) => return Ok(places),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Somebody who watches.
#[derive(Debug)]
pub(super) struct Watching(Option<(OwnedFd, JoinHandle<Option<PathBuf>>)>);

impl Watching {
    /// Stops. Returns what was replaced, and what came of it.
    pub(super) fn end(mut self) -> Option<(PathBuf, String)> {
        let path = self.stop()?;
        Some((path, REPLACED.to_owned()))
    }

    fn stop(&mut self) -> Option<PathBuf> {
        let (over, thread) = self.0.take()?;
        // Whoever watches looks once more, also when nobody can tell it to stop.
        let _told = rustix::io::write(over.as_fd(), &1_u64.to_ne_bytes());
        thread.join().ok().flatten()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop();
    }
}
