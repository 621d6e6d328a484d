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

    /// Tells whether a file belongs to a store that was there, and that somebody outside has open: they made it, and use it.
    ///
    /// Whoever has a store open shares the lock beside it. No command could hold it: it is hidden where it was there, and a
    /// command does not outlive its run.
    pub(super) fn is_store_in_use(&self, found: &Sensitive) -> bool {
        let Some(StoreFile { store, .. }) = StoreFile::named(&found.path) else { return false };
        let Ok(now) = store.symlink_metadata() else { return false };
        let is_same = |known: &Known| {
            known.is_protected && (known.identity.device, known.identity.inode) == (now.dev(), now.ino())
        };
        if found.kind != Kind::File || !self.known.get(&store).is_some_and(is_same) {
            return false;
        }
        let mut lock = store.into_os_string();
        lock.push(".lock");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(lock) = rustix::fs::open(PathBuf::from(lock), flags, Mode::empty()) else { return false };
        matches!(File::from(lock).try_lock(), Err(TryLockError::WouldBlock))
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
