//! Renaming: the entry itself, both ends judged.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringfence_policy::Direction;
use rustix::fs::{AtFlags, RenameFlags, renameat_with, statat};

use super::error::FsError;
use super::metadata::FileKind;
use super::resolve::Tail;
use super::scoped::ScopedFs;
use super::storage::FileStorage;

/// What happens to something that already has the new name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Existing {
    /// It stays, and the operation fails.
    Keep,
    /// It is replaced.
    Replace,
}

impl ScopedFs {
    /// Gives a file, a link (itself) or a directory another name.
    ///
    /// A directory is moved only between places where everything below it is granted for writing.
    ///
    /// # Errors
    ///
    /// One end is not granted for writing or is a granted root, the source is not there, or the new name is taken.
    pub fn rename(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        existing: Existing,
    ) -> Result<(), FsError> {
        let from = self.asked(from.as_ref(), Direction::Write)?;
        let to = self.asked(to.as_ref(), Direction::Write)?;
        if let Some(storage) = &self.storage {
            return self.rename_stored(storage, &from, &to, existing);
        }
        let source = self.entry(&from)?;
        let target = self.entry(&to)?;
        let stat = statat(&source.dir, &source.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(FsError::at("rename", &from))?;
        self.admit_rename([&source.path, &from], [&target.path, &to], FileKind::of_stat(&stat))?;
        let flags = match existing {
            Existing::Keep => RenameFlags::NOREPLACE,
            Existing::Replace => RenameFlags::empty(),
        };
        renameat_with(&source.dir, &source.name, &target.dir, &target.name, flags)
            .map_err(FsError::at("rename", &from))
    }

    fn rename_stored(
        &self,
        storage: &Arc<dyn FileStorage>,
        from: &Path,
        to: &Path,
        existing: Existing,
    ) -> Result<(), FsError> {
        let found = self.stored(storage, "rename", from, Direction::Write)?;
        self.keep_roots(from, from)?;
        self.keep_roots(to, to)?;
        self.in_storage("rename", to, Direction::Write, || Ok(()))?;
        self.admit_rename([from, from], [to, to], found.kind)?;
        self.in_storage("rename", from, Direction::Write, || storage.rename(from, to, existing))
    }

    /// Judges a rename; of each end the path as judged, and as asked.
    fn admit_rename(
        &self,
        [source, from]: [&Path; 2],
        [target, to]: [&Path; 2],
        kind: FileKind,
    ) -> Result<(), FsError> {
        if kind == FileKind::Directory {
            self.admit_tree(source, from)?;
            self.admit_tree(target, to)?;
        }
        if self.exposes(source, target, kind) {
            let hint = "renaming would make readable what the grant does not let the tool read";
            return Err(Direction::Write.refusal(from).hint(hint).into());
        }
        Ok(())
    }

    fn entry(&self, asked: &Path) -> Result<Entry, FsError> {
        let entry = self.resolve("rename", asked, Direction::Write, Tail::Entry, |spot| {
            Ok(Entry { dir: spot.open_parent()?, name: spot.name()?.to_owned(), path: spot.path.clone() })
        })?;
        self.keep_roots(&entry.path, asked)?;
        Ok(entry)
    }

    /// Tells whether something unreadable would become readable: a write grant is not a read grant.
    fn exposes(&self, from: &Path, to: &Path, kind: FileKind) -> bool {
        if kind == FileKind::Directory {
            let near = |root: &PathBuf| root.starts_with(to) || to.starts_with(root);
            let readable = !self.grant.is_empty(Direction::Read) && self.roots.iter().any(near);
            readable && self.grant.judge_tree(from, Direction::Read).is_err()
        } else {
            self.grant.judge(to, Direction::Read).is_ok() && self.grant.judge(from, Direction::Read).is_err()
        }
    }

    fn admit_tree(&self, path: &Path, asked: &Path) -> Result<(), FsError> {
        self.grant.judge_tree(path, Direction::Write).map_err(|refusal| {
            let hint = "everything below a renamed directory must be granted for writing and off the floor";
            FsError::Refused(if path == asked { refusal } else { Direction::Write.refusal(asked).hint(hint) })
        })
    }
}

/// A name in a directory held open.
struct Entry {
    dir: OwnedFd,
    name: OsString,
    path: PathBuf,
}
