//! The files of this machine: which roots are where, and how they are opened.
//!
//! INVARIANT: a root is resolved once. Whatever is done to the symbolic links in its name later, it stays where it
//! was when it was pinned. A root that does not exist then is resolved as far as it does; links that appear in the
//! missing part later are judged like any other link, so that nobody who may write above a root can move it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use ringfence_policy::{Direction, FsGrant, PathPattern};

use super::open::Opener;
use super::storage::FileStorage;

/// The backend of every [`ScopedFs`](super::ScopedFs): cheap to clone, shared by all calls.
#[derive(Clone, Debug)]
pub struct HostFiles(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    opener: Opener,
    storage: Option<Arc<dyn FileStorage>>,
    pins: RwLock<HashMap<PathBuf, PathBuf>>,
}

impl HostFiles {
    /// Starts without any pinned root, and finds out how this kernel opens files.
    pub fn new() -> Self {
        Self::with(Opener::probe())
    }

    /// The same for a kernel without `openat2`, so that tests can run both ways on one machine.
    #[doc(hidden)]
    pub fn without_openat2() -> Self {
        Self::with(Opener::Walk)
    }

    fn with(opener: Opener) -> Self {
        Self(Arc::new(Inner { opener, storage: None, pins: RwLock::default() }))
    }

    /// Keeps the files elsewhere than on this machine.
    pub fn in_storage(storage: Arc<dyn FileStorage>) -> Self {
        Self(Arc::new(Inner { opener: Opener::Walk, storage: Some(storage), pins: RwLock::default() }))
    }

    /// Resolves the roots of a grant and keeps them there. Call it when the tool is registered.
    pub fn pin(&self, grant: &FsGrant) {
        for root in roots(grant) {
            self.pinned(root);
        }
    }

    /// Pins the roots of a grant and returns the grant with their other names: a root that is named through a link
    /// counts in its written and in its canonical form.
    pub fn named_both_ways(&self, grant: &FsGrant) -> FsGrant {
        self.pin(grant);
        let elsewhere = |root: &Path| Some(self.pinned(root)).filter(|place| place != root);
        if roots(grant).any(|root| elsewhere(root).is_some()) {
            grant.with_images(elsewhere)
        } else {
            grant.clone()
        }
    }

    /// Returns where a root is; resolves it now when it was not pinned before.
    pub(super) fn pinned(&self, root: &Path) -> PathBuf {
        // A storage has no links.
        if self.0.storage.is_some() {
            return root.to_path_buf();
        }
        let pins = self.0.pins.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = pins.get(root) {
            return place.clone();
        }
        drop(pins);
        let place = resolve(root);
        let mut pins = self.0.pins.write().unwrap_or_else(PoisonError::into_inner);
        pins.entry(root.to_path_buf()).or_insert(place).clone()
    }

    pub(super) fn storage(&self) -> Option<&Arc<dyn FileStorage>> {
        self.0.storage.as_ref()
    }

    pub(super) fn opener(&self) -> Opener {
        self.0.opener
    }
}

impl Default for HostFiles {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the roots of a grant as written, the jail included; patterns that are not expanded have none.
pub(super) fn roots(grant: &FsGrant) -> impl Iterator<Item = &Path> {
    let sides = [Direction::Read, Direction::Write].into_iter().flat_map(|side| grant.roots(side));
    sides.map(PathPattern::root).chain(grant.jail()).filter(|root| root.is_absolute())
}

/// Resolves the links in what exists of `root`, and appends the rest as it is.
fn resolve(root: &Path) -> PathBuf {
    for above in root.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), root.strip_prefix(above)) {
            // Joining an empty rest would add a slash.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    root.to_path_buf()
}
