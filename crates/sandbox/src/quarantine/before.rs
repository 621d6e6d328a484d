//! What was there before a command ran, as far as the quarantine has to know it.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ringfence_policy::StoreFile;
use rustix::fs::{Mode, OFlags};

use crate::git::Target;
use crate::host::{Identity, Kind, Sensitive, Treatment};
use crate::plan::Plan;

/// What was there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    /// The folders that may be written.
    pub(crate) trees: Vec<PathBuf>,
    /// Paths that were named for writing, so that they are not protected.
    pub(crate) named: Vec<PathBuf>,
    /// The home of whoever asked: git has a configuration there.
    pub(crate) home: Option<PathBuf>,
    /// What git configurations name.
    pub(crate) pointed: Vec<Target>,
    /// Links on the floor, also those that could not be written: what they lead to may have been.
    pub(crate) links: Vec<PathBuf>,
    /// Every file on the floor: which one it is, and when it was made.
    pub(crate) known: BTreeMap<PathBuf, Known>,
}

/// Which file it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) identity: Identity,
    pub(crate) made: Option<(i64, i64)>,
    /// Whether it could not be changed; a repository, as a folder, could.
    pub(crate) is_protected: bool,
}

/// What a new file is to the store that it lies beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StorePart {
    /// Somebody outside uses it, or nothing in it counts.
    Harmless,
    /// It may hold what was acknowledged, or what a command made up; why it stays.
    Unknown(&'static str),
}

const LOG: &str = "it may hold acknowledged transactions of a store that was there before, or what the command wrote; look with `ringfence store check`";
const JOURNAL: &str = "SQLite would roll it back into a store that was there before; move it away if no program of yours made it";

/// Tells whether somebody outside has a store open.
///
/// Whoever has a store open shares the lock beside it. No command could hold it: it is hidden where it was there, and a
/// command does not outlive its run.
fn is_in_use(store: PathBuf) -> bool {
    let mut lock = store.into_os_string();
    lock.push(".lock");
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(lock) = rustix::fs::open(PathBuf::from(lock), flags, Mode::empty()) else { return false };
    matches!(File::from(lock).try_lock(), Err(TryLockError::WouldBlock))
}

impl Before {
    /// Returns what a plan saw.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut known = BTreeMap::new();
        for one in &plan.sensitive {
            let is_protected = one.treatment != Treatment::Watch;
            let found = Known { identity: one.identity, made: one.made, is_protected };
            let kept = known.entry(one.path.clone()).or_insert(found);
            kept.is_protected |= is_protected;
        }
        Self {
            trees: plan.guarded.clone(),
            named: plan.named.clone(),
            home: plan.home.clone(),
            pointed: plan.pointed.clone(),
            links: plan
                .sensitive
                .iter()
                .filter(|one| one.kind == Kind::Link)
                .map(|one| one.path.clone())
                .collect(),
            known,
        }
    }

    /// Tells whether this very file was there.
    pub(super) fn knows(&self, found: &Sensitive) -> bool {
        let is_same = |known: &Known| (known.identity, known.made) == (found.identity, found.made);
        self.known.get(&found.path).is_some_and(is_same)
    }

    /// Tells what a new file beside a store that was there is to it; nothing where it is to be moved like any other.
    pub(super) fn part_of_known_store(&self, found: &Sensitive) -> Option<StorePart> {
        let StoreFile { store, .. } = StoreFile::named(&found.path)?;
        let now = store.symlink_metadata().ok()?;
        let is_same = |known: &Known| {
            known.is_protected && (known.identity.device, known.identity.inode) == (now.dev(), now.ino())
        };
        if !matches!(found.kind, Kind::Directory | Kind::File) || !self.known.get(&store).is_some_and(is_same)
        {
            return None;
        }
        let ends_with = |suffix: &str| found.path.as_os_str().as_encoded_bytes().ends_with(suffix.as_bytes());
        let is_file = found.kind == Kind::File;
        let is_empty = || found.path.symlink_metadata().is_ok_and(|found| found.len() == 0);
        // SQLite would roll it back into the store; a store of ours never has one that holds something.
        if ends_with("-journal") && is_file {
            return Some(if is_empty() { StorePart::Harmless } else { StorePart::Unknown(JOURNAL) });
        }
        if is_in_use(store) {
            return Some(StorePart::Harmless);
        }
        match found.kind {
            // Whoever opens the store first makes the index anew.
            Kind::File if ends_with("-shm") => Some(StorePart::Harmless),
            Kind::File if ends_with("-wal") && is_empty() => Some(StorePart::Harmless),
            Kind::File if ends_with("-wal") => Some(StorePart::Unknown(LOG)),
            _ => None,
        }
    }

    /// Tells whether a folder around a path could not be changed.
    pub(super) fn protects_around(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|above| self.known.get(above).is_some_and(|known| known.is_protected))
    }

    /// Tells whether something protected was there below a folder, and is.
    pub(super) fn knows_below(&self, folder: &Path) -> bool {
        let after = (std::ops::Bound::Excluded(folder), std::ops::Bound::Unbounded);
        let mut below = self.known.range::<Path, _>(after).take_while(|(path, _)| path.starts_with(folder));
        let is_gone = |path: &Path| {
            path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        below.any(|(path, _)| !is_gone(path))
    }

    pub(super) fn holds(&self, path: &Path) -> bool {
        self.trees.iter().any(|tree| path.starts_with(tree) && path != tree)
    }
}
