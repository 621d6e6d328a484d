//! Who is alive, exactly: each store that writes holds the lock of a file of its own for as long as it lives.
//!
//! The files lie in a folder beside the store, `STORE.live`, which is there as long as the store and which sandboxes hide: a file that
//! was made beside the store itself could be removed by a command that may write there and began before it. Older versions made them
//! there, and are still asked.
//!
//! A lock ends with the process that holds it, however that ends, and asks no clock. Whether another lives is asked by
//! trying its lock: no file, or a lock that is to be had, is a dead one.
//!
//! INVARIANT: an id is handed out only while its file is there and locked, and a file is removed only by its owner or
//! after its owner's end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::error::SqliteError;
use super::{file, lock};

/// The end of the name of the folder, and of a file that an older version made beside the store.
const SUFFIX: &str = ".live";
/// How many characters an id has: 16 bytes in hexadecimal.
const ID: usize = 32;
/// How often an id is drawn before something must be wrong.
const DRAWS: usize = 100;

/// A store that lives.
#[derive(Debug)]
pub(super) struct Instance {
    id: String,
    name: PathBuf,
    _lock: File,
}

impl Instance {
    /// Begins a life. `draw` returns a random id.
    pub(super) fn begin(
        path: &Path,
        mut draw: impl FnMut() -> Result<String, SqliteError>,
    ) -> Result<Self, SqliteError> {
        make_folder(path)?;
        for _ in 0..DRAWS {
            let id = draw()?;
            let name = name(path, &id);
            let file = match file::open_new(&name) {
                Err(SqliteError::Exists { .. }) => continue,
                created => created?,
            };
            // Whoever sweeps may have come between the two, and then it is as if this file had never been.
            if lock::taken(file.try_lock(), &name)? && is_at(&file, &name)? {
                return Ok(Self { id, name, _lock: file });
            }
        }
        Err(SqliteError::Busy { path: path.to_owned() })
    }

    /// Returns the id.
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for Instance {
    /// Removes the file while its lock is still held.
    fn drop(&mut self) {
        let _removed = std::fs::remove_file(&self.name);
    }
}

/// Says whether the store with this id lives.
pub(super) fn lives(path: &Path, id: &str) -> Result<bool, SqliteError> {
    // Whatever is no id was never alive, and must not become the name of a file.
    if !is_id(id.as_bytes()) {
        return Ok(false);
    }
    for name in [name(path, id), former_name(path, id)] {
        if owned(&name)? == Owned::Yes {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the files of those that are dead.
pub(super) fn sweep(path: &Path) -> Result<(), SqliteError> {
    let (Some(directory), Some(stem)) = (path.parent(), path.file_name()) else { return Ok(()) };
    sweep_folder(directory, |name| belongs(name, stem))?;
    let own = folder(path);
    if own.is_dir() { sweep_folder(&own, |name| is_id(name.as_bytes())) } else { Ok(()) }
}

fn sweep_folder(directory: &Path, is_one: impl Fn(&OsStr) -> bool) -> Result<(), SqliteError> {
    let failed = |error| SqliteError::from_io(directory, &error);
    for found in std::fs::read_dir(directory).map_err(failed)? {
        let name = found.map_err(failed)?.file_name();
        if !is_one(&name) {
            continue;
        }
        let name = directory.join(name);
        if let Owned::No(_lock) = owned(&name)? {
            match std::fs::remove_file(&name) {
                // Another has swept it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed.map_err(|error| SqliteError::from_io(&name, &error))?,
            }
        }
    }
    Ok(())
}

/// Whether somebody holds the lock of a file.
#[derive(Debug)]
enum Owned {
    /// There is no file.
    Missing,
    /// Nobody does, and this handle keeps it so.
    No(File),
    /// Somebody does.
    Yes,
}

impl PartialEq for Owned {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Tries the lock of a file. It is shared with others who ask, so that nobody takes them for the owner.
fn owned(name: &Path) -> Result<Owned, SqliteError> {
    let file = match file::open_existing(name) {
        Err(SqliteError::File { why: ErrorKind::NotFound, .. }) => return Ok(Owned::Missing),
        opened => opened?,
    };
    let free = lock::taken(file.try_lock_shared(), name)?;
    Ok(if free { Owned::No(file) } else { Owned::Yes })
}

/// Returns the folder of the files.
fn folder(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(SUFFIX);
    name.into()
}

/// Makes the folder where there is none, and refuses one that others may write to.
pub(super) fn make_folder(path: &Path) -> Result<(), SqliteError> {
    let folder = folder(path);
    let failed = |error: std::io::Error| SqliteError::from_io(&folder, &error);
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => made.map_err(failed)?,
    }
    let found = std::fs::symlink_metadata(&folder).map_err(failed)?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && is_ours && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(SqliteError::Permissions { path: folder })
    }
}

/// Returns the file that tells of the life of this id.
fn name(path: &Path, id: &str) -> PathBuf {
    folder(path).join(id)
}

/// Returns the file that an older version made for it.
fn former_name(path: &Path, id: &str) -> PathBuf {
    let mut name = OsString::from(path).into_vec();
    name.extend_from_slice(b"-");
    name.extend_from_slice(id.as_bytes());
    name.extend_from_slice(SUFFIX.as_bytes());
    PathBuf::from(OsString::from_vec(name))
}

/// Says whether a name is one of those that [`former_name`] gives for this database.
fn belongs(name: &OsStr, stem: &OsStr) -> bool {
    let rest = name.as_bytes().strip_prefix(stem.as_bytes()).and_then(|rest| rest.strip_prefix(b"-"));
    rest.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes())).is_some_and(is_id)
}

fn is_id(id: &[u8]) -> bool {
    id.len() == ID && id.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Says whether this is still the file of that name.
fn is_at(file: &File, name: &Path) -> Result<bool, SqliteError> {
    let failed = |error| SqliteError::from_io(name, &error);
    let held = file.metadata().map_err(failed)?;
    match std::fs::symlink_metadata(name) {
        Ok(found) => Ok((found.dev(), found.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting() -> impl FnMut() -> Result<String, SqliteError> {
        let mut next = 0_u32;
        move || {
            next += 1;
            Ok(format!("{next:032x}"))
        }
    }

    #[test]
    fn lives_until_it_is_dropped_or_its_process_ends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let mut draw = counting();
        let first = Instance::begin(&path, &mut draw).unwrap();
        let second = Instance::begin(&path, counting()).unwrap();
        assert_ne!(first.id(), second.id());
        for (id, alive) in [
            (first.id(), true),
            (second.id(), true),
            ("ffffffffffffffffffffffffffffffff", false),
            ("../../../../../../../../etc/pass", false),
            ("", false),
        ] {
            assert_eq!(lives(&path, id).unwrap(), alive, "{id}");
        }
        sweep(&path).unwrap();
        assert!(lives(&path, first.id()).unwrap());
        let id = first.id().to_owned();
        drop(first);
        assert!(!lives(&path, &id).unwrap());
        assert!(!name(&path, &id).exists());
    }

    #[test]
    fn sweeps_the_dead_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let id = "0123456789abcdef0123456789abcdef";
        let kept = ["x.db", "x.db-wal", "y.db-0123456789abcdef0123456789abcdef.live", "x.db-012.live"];
        for kept in kept {
            std::fs::write(directory.path().join(kept), "").unwrap();
        }
        make_folder(&path).unwrap();
        for name in [name(&path, id), former_name(&path, id)] {
            let held = file::open_new(&name).unwrap();
            held.try_lock().unwrap();
            assert!(lives(&path, id).unwrap(), "{}", name.display());
            drop(held);
            assert!(!lives(&path, id).unwrap());
            sweep(&path).unwrap();
            assert!(!name.exists());
        }
        for kept in kept {
            assert!(directory.path().join(kept).exists(), "{kept}");
        }
    }

    #[test]
    fn a_file_that_was_swept_before_it_was_locked_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        make_folder(&path).unwrap();
        let file = file::open_new(&name(&path, "0123456789abcdef0123456789abcdef")).unwrap();
        sweep(&path).unwrap();
        file.try_lock().unwrap();
        assert!(!is_at(&file, &name(&path, "0123456789abcdef0123456789abcdef")).unwrap());
    }
}
