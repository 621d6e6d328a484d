//! Which file a name of a store led to, for names with a link on the way.
//!
//! Whoever can exchange that link, or a folder that `..` leaves, gives the name to another store, which knows of no key and no approval. So
//! the name is recorded in a folder that no command reaches, and a store that it leads to afterwards is refused until a person accepts it.
//!
//! INVARIANT: a record is changed only by whoever accepts.

use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ringfence::audit::Hash;

use super::error::SqliteError;
use super::file;

/// No path is longer.
const MOST: u64 = 64 << 10;

/// A name of a store, and the folders in which it is recorded where it led to.
#[derive(Clone, Debug)]
pub(super) struct StoreName {
    /// As it was given, from the root.
    named: PathBuf,
    /// The first that can be written is the one.
    folders: Vec<PathBuf>,
}

impl StoreName {
    pub(super) fn new(named: &Path, folders: &[PathBuf]) -> Result<Self, SqliteError> {
        let named = std::path::absolute(named).map_err(|error| SqliteError::from_io(named, &error))?;
        Ok(Self { named, folders: folders.to_vec() })
    }

    /// Refuses a name that led to another file than `real` before.
    pub(super) fn check(&self, real: &Path) -> Result<(), SqliteError> {
        for folder in &self.folders {
            let before = self.read(folder)?;
            if let Some(before) = before.filter(|before| before != real) {
                let (path, real) = (self.named.clone(), real.to_owned());
                return Err(SqliteError::Elsewhere { path, before, real });
            }
        }
        Ok(())
    }

    /// Records where the name leads, where a link decides that.
    pub(super) fn keep(&self, real: &Path) -> Result<(), SqliteError> {
        let is_kept = |folder: &PathBuf| self.read(folder).is_ok_and(|before| before.is_some());
        if self.named == real || self.folders.iter().any(is_kept) {
            return Ok(());
        }
        self.write(real)
    }

    /// Records where the name leads now, whatever it led to before.
    pub(super) fn accept(&self, real: &Path) -> Result<(), SqliteError> {
        for folder in &self.folders {
            let record = self.record(folder);
            if file::exists(&record).unwrap_or_default() {
                file::remove(&record)?;
            }
        }
        self.keep(real)
    }

    fn record(&self, folder: &Path) -> PathBuf {
        folder.join(Hash::of(self.named.as_os_str().as_bytes()).to_string())
    }

    fn read(&self, folder: &Path) -> Result<Option<PathBuf>, SqliteError> {
        let record = self.record(folder);
        let failed = |error: std::io::Error| SqliteError::from_io(&record, &error);
        match record.symlink_metadata() {
            Err(error) if is_missing(&error) => return Ok(None),
            found => found.map_err(failed)?,
        };
        file::check(&record)?;
        file::check_owner(&record)?;
        let mut bytes = Vec::new();
        file::open_existing(&record)?.take(MOST).read_to_end(&mut bytes).map_err(failed)?;
        let named = self.named.as_os_str().as_bytes();
        let real = bytes.strip_prefix(named).and_then(|rest| rest.strip_prefix(b"\0")?.strip_suffix(b"\0"));
        let damaged =
            || SqliteError::Corrupt { path: record.clone(), why: "it does not say where a store is".into() };
        real.map(|real| Some(PathBuf::from(std::ffi::OsStr::from_bytes(real)))).ok_or_else(damaged)
    }

    fn write(&self, real: &Path) -> Result<(), SqliteError> {
        let mut last = None;
        for folder in &self.folders {
            match self.write_in(folder, real) {
                Ok(()) => return Ok(()),
                Err(error) => last = Some(error),
            }
        }
        last.map_or(Ok(()), Err)
    }

    fn write_in(&self, folder: &Path, real: &Path) -> Result<(), SqliteError> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| SqliteError::from_io(folder, &error))?;
        let record = self.record(folder);
        file::check_folder(&record)?;
        let unfinished = record.with_extension(std::process::id().to_string());
        file::remove(&unfinished)?;
        let mut new = file::open_new(&unfinished)?;
        let [named, real] = [&*self.named, real].map(|path| path.as_os_str().as_bytes());
        let written = new.write_all(&[named, b"\0", real, b"\0"].concat()).and_then(|()| new.sync_all());
        written.map_err(|error| SqliteError::from_io(&unfinished, &error))?;
        file::rename(&unfinished, &record)
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::SqliteStore;
    use super::*;

    /// Two folders for stores, and a link to the first.
    fn scene() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["one", "two"] {
            std::fs::DirBuilder::new().mode(0o700).create(root.join(name)).unwrap();
        }
        symlink("one", root.join("data")).unwrap();
        (folder, root)
    }

    fn relink(root: &Path, to: &str) {
        std::fs::remove_file(root.join("data")).unwrap();
        symlink(to, root.join("data")).unwrap();
    }

    #[test]
    fn a_name_that_leads_to_another_store_is_refused_until_somebody_accepts_it() {
        let (_kept, root) = scene();
        let named = root.join("data/x.db");
        let builder = || SqliteStore::builder(&named).record_name_in([root.join("names")]);
        drop(builder().open().unwrap());
        drop(builder().open().unwrap());
        relink(&root, "two");
        for _ in 0..2 {
            let refused = builder().open().unwrap_err();
            assert!(matches!(refused, SqliteError::Elsewhere { .. }), "{refused}");
            assert!(!root.join("two/x.db").exists() && !root.join("two/x.db.lock").exists());
        }
        // A store that somebody put there is another one too, and so is a folder in the place of the link.
        drop(SqliteStore::open(&root.join("two/x.db")).unwrap());
        assert!(matches!(builder().open(), Err(SqliteError::Elsewhere { .. })));
        assert!(matches!(builder().open_read_only(), Err(SqliteError::Elsewhere { .. })));
        std::fs::remove_file(root.join("data")).unwrap();
        std::fs::rename(root.join("two"), root.join("data")).unwrap();
        assert!(matches!(builder().open(), Err(SqliteError::Elsewhere { .. })));

        let gap = builder().find_gap().unwrap().unwrap();
        assert!(matches!(gap.why, SqliteError::Elsewhere { .. }) && !gap.is_counted);
        builder().accept_gap("ada", "moved to a larger disk").unwrap().unwrap();
        assert!(builder().find_gap().unwrap().is_none());
        drop(builder().open().unwrap());
    }

    #[test]
    fn a_store_that_is_not_there_yet_is_accepted_too() {
        let (_kept, root) = scene();
        let named = root.join("two/../data/x.db");
        let builder = || SqliteStore::builder(&named).record_name_in([root.join("names")]);
        drop(builder().open().unwrap());
        relink(&root, "two");
        assert!(matches!(builder().open(), Err(SqliteError::Elsewhere { .. })));
        builder().accept_gap("ada", "a new year").unwrap().unwrap();
        drop(builder().open().unwrap());
        relink(&root, "one");
        assert!(matches!(builder().open(), Err(SqliteError::Elsewhere { .. })));
    }

    #[test]
    fn a_record_that_cannot_be_read_stops_it_and_a_name_without_links_has_none() {
        let (_kept, root) = scene();
        let names = root.join("names");
        drop(SqliteStore::builder(root.join("one/x.db")).record_name_in([names.clone()]).open().unwrap());
        assert!(!names.exists());
        // The second folder is taken where the first cannot be made.
        let named = root.join("data/x.db");
        let builder =
            || SqliteStore::builder(&named).record_name_in([root.join("one/x.db/none"), names.clone()]);
        drop(builder().open().unwrap());
        let record = std::fs::read_dir(&names).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&record, "something else").unwrap();
        assert!(matches!(builder().open(), Err(SqliteError::Corrupt { .. })));
    }
}
