//! The root of a sandbox as it grows: what exists in it, each once, parents before children.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Entry;
use crate::host::{Found, Kind};
use crate::spec::Access;

/// Paths of the machine that are to exist inside, each once, with everything that may be done there.
#[derive(Default)]
pub(super) struct Wanted<'a> {
    all: BTreeMap<&'a Path, (&'a Found, Access)>,
    /// What stays read-only though the folder around it is writable.
    read_only: BTreeSet<&'a Path>,
}

impl<'a> Wanted<'a> {
    pub(super) fn add(&mut self, found: &'a Found, access: Access) {
        let known = self.all.entry(&found.real).or_insert((found, access));
        known.1 = known.1.join(access);
    }

    /// Keeps a path from being writable because the folder around it is.
    pub(super) fn keep_read_only(&mut self, found: &'a Found) {
        self.read_only.insert(&found.real);
    }

    /// Puts them into the layout, folders before what is in them. A path inside a wider grant has its rights too.
    pub(super) fn lay(&self, layout: &mut Layout) {
        let mut laid: Vec<(&Path, Access)> = Vec::new();
        for (path, (found, own)) in &self.all {
            let around =
                laid.iter().rev().find(|(outer, _)| path.starts_with(outer)).map(|(_, access)| *access);
            // A program is never writable, even in a writable folder; its folder's rights are not its own.
            let file = found.kind != Kind::Directory;
            let access = match around {
                Some(_) if file && own.execute && !own.write => *own,
                Some(around) => {
                    let write = around.write && !self.read_only.contains(path);
                    own.join(Access { execute: false, write, ..around })
                }
                None => *own,
            };
            if around != Some(access) {
                layout.bind(found, access);
            }
            laid.push((path, access));
            for (at, to) in &found.links {
                layout.link(at, to);
            }
        }
        for (found, _) in self.all.values() {
            for (at, to) in &found.links {
                layout.link(at, to);
            }
        }
    }
}

/// What exists inside so far.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) entries: Vec<Entry>,
    known: HashMap<PathBuf, Is>,
    base: Arc<Base>,
}

/// What every sandbox with the same base holds.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) entries: Vec<Entry>,
    known: HashMap<PathBuf, Is>,
}

impl Base {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        let is = |entry: &Entry| match entry {
            Entry::Directory { .. } => Is::Folder,
            Entry::Bind { file: false, .. } | Entry::Proc | Entry::Scratch { .. } => Is::Mounted,
            Entry::Bind { .. }
            | Entry::Cover { .. }
            | Entry::Device { .. }
            | Entry::File { .. }
            | Entry::Hidden { .. }
            | Entry::Link { .. } => Is::Other,
        };
        let known = entries.iter().map(|entry| (entry.path().to_path_buf(), is(entry))).collect();
        Self { entries, known }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Is {
    Folder,
    Mounted,
    Other,
}

impl Layout {
    pub(super) fn over(base: Arc<Base>) -> Self {
        Self { base, ..Self::default() }
    }

    /// Returns what a path is that was made here.
    pub(super) fn is(&self, path: &Path) -> Option<Is> {
        self.known.get(path).or_else(|| self.base.known.get(path)).copied()
    }

    /// Says what a path is.
    pub(super) fn note(&mut self, path: impl Into<PathBuf>, is: Is) {
        self.known.insert(path.into(), is);
    }

    /// Tells whether a path exists inside already: made here, or inside something that is mounted.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path == Path::new("/")
            || self.is(path).is_some()
            || path.ancestors().skip(1).any(|above| self.is(above) == Some(Is::Mounted))
    }

    pub(super) fn directory(&mut self, path: &Path) {
        if self.holds(path) {
            return;
        }
        if let Some(parent) = path.parent() {
            self.directory(parent);
        }
        self.known.insert(path.to_path_buf(), Is::Folder);
        self.entries.push(Entry::Directory { path: path.to_path_buf() });
    }

    pub(super) fn link(&mut self, path: &Path, to: &Path) {
        if self.holds(path) {
            return;
        }
        if let Some(parent) = path.parent() {
            self.directory(parent);
        }
        self.known.insert(path.to_path_buf(), Is::Other);
        self.entries.push(Entry::Link { path: path.to_path_buf(), to: to.to_path_buf() });
    }

    pub(super) fn bind(&mut self, found: &Found, access: Access) {
        let file = found.kind != Kind::Directory;
        let path = &found.real;
        // A mount needs something to be mounted on. Where a granted folder is around it, that is there already, and
        // nothing may be made: it would be made outside.
        match (path.parent(), file) {
            (Some(parent), true) if !self.holds(path) => {
                self.directory(parent);
                self.entries.push(Entry::File { path: path.clone(), content: String::new() });
            }
            (_, true) => {}
            (_, false) => self.directory(path),
        }
        self.known.insert(path.clone(), if file { Is::Other } else { Is::Mounted });
        self.entries.push(Entry::Bind {
            path: path.clone(),
            access,
            file,
            identity: found.identity,
            protected: false,
        });
    }
}
