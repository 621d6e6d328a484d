//! The floor: paths that no list of directories reaches by accident.
//!
//! Keys, credentials, shell start-up files, git's hooks, kernel doors and ringfence's own files are refused in both
//! directions, wherever they lie in a granted tree, until a personality names that very path as a literal. Naming a
//! directory above is not enough, and naming `.ssh` does not give `.ssh/id_rsa`, which is on the floor by itself.
//! Names are compared as the file systems do that take most spellings for one.

mod index;
mod name;
mod table;

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use super::glob::component;
use super::normal::{components, is_within};
use super::pattern::PathPattern;
use super::reach::Direction;
use super::set::PathSet;

use self::index::Index;
use self::name::{folded, is_quarantined};
use self::table::TABLES;

/// The always-deny floor, a fixed table.
#[derive(Clone, Copy, Debug)]
pub struct Floor;

/// One line of the floor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FloorEntry {
    /// Components that a path holds in a row; from the root when it starts with a slash, else anywhere.
    pub pattern: &'static str,
    /// What it protects.
    pub kind: FloorKind,
    /// The only direction denied; both when absent.
    pub only: Option<Direction>,
    /// Which program uses it, and what for.
    pub reason: &'static str,
}

/// What a line of the floor protects.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum FloorKind {
    /// Tokens and passwords of services.
    Credential,
    /// Files that editors and agents run or obey.
    Editor,
    /// Files that git runs or obeys.
    Git,
    /// Private keys.
    Key,
    /// Doors into other processes, the kernel or the whole machine.
    Machine,
    /// Files that a shell runs when it starts.
    Startup,
    /// Ringfence's own state.
    Store,
    /// Files that a language, a debugger, a package manager or another program runs or trusts when it is called.
    Tool,
}

impl fmt::Display for FloorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Credential => "credential",
            Self::Editor => "editor or agent configuration",
            Self::Git => "git",
            Self::Key => "key",
            Self::Machine => "machine",
            Self::Startup => "shell start-up",
            Self::Store => "store",
            Self::Tool => "tool start-up",
        })
    }
}

impl Floor {
    /// Returns the whole table.
    pub fn entries() -> impl Iterator<Item = &'static FloorEntry> {
        TABLES.iter().copied().flatten()
    }

    /// Returns the line that denies a normalised `path`, and the path up to the name it matched.
    ///
    /// A line is lifted by a literal of `named` that is at or below that name and at or above the path.
    pub(super) fn denies<'a>(
        path: &'a Path,
        direction: Direction,
        named: &PathSet,
    ) -> Option<(&'static FloorEntry, &'a Path)> {
        let literals = named.iter().filter(|pattern| pattern.is_literal()).map(PathPattern::root);
        Self::denies_unless_named(path, direction, &literals)
    }

    /// The same where the paths that lift a line are given one by one.
    pub fn denies_unless_named<'a, 'n>(
        path: &'a Path,
        direction: Direction,
        named: &(impl Iterator<Item = &'n Path> + Clone),
    ) -> Option<(&'static FloorEntry, &'a Path)> {
        let bytes = path.as_os_str().as_encoded_bytes();
        let mut names = components(path)?;
        let mut depth = 0;
        loop {
            let first = folded(names.clone().next()?);
            for entry in FIRST_NAMES.lines(&first) {
                let concerned = entry.only.is_none_or(|only| only == direction)
                    && (depth == 0 || !entry.pattern.starts_with('/'));
                if !concerned {
                    continue;
                }
                let Some(length) = entry.run(names.clone()) else { continue };
                let anchor = path.ancestors().nth(names.clone().count() - length).unwrap_or(path);
                let at = anchor.as_os_str().as_encoded_bytes();
                let lifted = named.clone().any(|named| {
                    let named = named.as_os_str().as_encoded_bytes();
                    is_within(named, at) && is_within(bytes, named)
                });
                if !lifted {
                    return Some((entry, anchor));
                }
            }
            names.next()?;
            depth += 1;
        }
    }
}

impl Floor {
    /// Tells whether a path is of a file of ours that decides what was agreed to or spent, or of the folder for stores: without it,
    /// nothing was.
    pub fn decides(path: &Path) -> bool {
        const NAMES: [&str; 4] = [".ringfence", "ringfence.db", "ringfence.lock.json", "ringfence.pins.json"];
        path.file_name().is_some_and(|name| NAMES.iter().any(|own| Self::is_same_name(name, own)))
    }

    /// Tells whether a line of the floor could end with this name. Below a folder that is not on the floor nothing else is on it,
    /// so that whoever walks through many files need not ask about each.
    pub fn may_end_with(name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        LAST_NAMES.lines(&folded(name)).next().is_some() && !is_quarantined(name)
    }

    /// Tells whether a file system could take one name for the other, as one that ignores case does.
    pub fn is_same_name(name: &OsStr, wanted: &str) -> bool {
        let name = name.as_encoded_bytes();
        name.eq_ignore_ascii_case(wanted.as_bytes()) || folded(name) == folded(wanted.as_bytes())
    }

    /// Returns a line of the floor whose first names are the last of `path`, so that it goes on below.
    pub(super) fn begins_in(path: &Path) -> Option<&'static FloorEntry> {
        Self::beginning(path).map(|(entry, _)| entry)
    }

    /// Returns the last names of `path` with which a line of the floor begins that goes on below; the most of them where several
    /// lines do. A link there puts whatever it leads to in the place of a folder that the floor knows.
    pub fn unfinished_names(path: &Path) -> Option<&Path> {
        let (_, depth) = Self::beginning(path)?;
        let mut names = path.components();
        // The root comes first.
        names.by_ref().take(depth + 1).for_each(drop);
        Some(names.as_path())
    }

    /// The line that begins with the most of the last names of `path`, and how many names come before them.
    fn beginning(path: &Path) -> Option<(&'static FloorEntry, usize)> {
        let mut names = components(path)?;
        let mut depth = 0;
        loop {
            let rest = names.clone();
            let begins = |entry: &&FloorEntry| {
                (depth == 0 || !entry.pattern.starts_with('/')) && entry.starts_with_all(rest.clone())
            };
            let first = folded(rest.clone().next()?);
            if let Some(entry) = FIRST_NAMES.lines(&first).find(begins) {
                return Some((entry, depth));
            }
            names.next()?;
            depth += 1;
        }
    }
}

impl FloorEntry {
    /// Tells whether all of `names` (at least one) match the beginning of the entry, and more of it follows.
    fn starts_with_all<'a>(&self, mut names: impl Iterator<Item = &'a [u8]>) -> bool {
        let mut some = false;
        for wanted in self.pattern.split('/').filter(|wanted| !wanted.is_empty()) {
            match names.next() {
                Some(name) if component(wanted.as_bytes(), &folded(name)) => some = true,
                Some(_) => return false,
                None => return some,
            }
        }
        false
    }

    /// Returns how many components match when the entry is laid on the first of `names`.
    fn run<'a>(&self, mut names: impl Iterator<Item = &'a [u8]>) -> Option<usize> {
        let (mut length, mut last): (_, &[u8]) = (0, &[]);
        for wanted in self.pattern.split('/').filter(|wanted| !wanted.is_empty()) {
            last = names.next()?;
            if !component(wanted.as_bytes(), &folded(last)) {
                return None;
            }
            length += 1;
        }
        (!is_quarantined(last)).then_some(length)
    }
}

/// The lines by their first names.
static FIRST_NAMES: LazyLock<Index> = LazyLock::new(|| {
    Index::new(|pattern| {
        let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
        pattern.split_once('/').map_or(pattern, |(first, _)| first)
    })
});

/// The lines by their last names.
static LAST_NAMES: LazyLock<Index> =
    LazyLock::new(|| Index::new(|pattern| pattern.rsplit_once('/').map_or(pattern, |(_, last)| last)));

#[cfg(test)]
mod tests;
