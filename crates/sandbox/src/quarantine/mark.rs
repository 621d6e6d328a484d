//! Marks on disk of runs that are not done: what was there before each, so that a quarantine that never came is made up for.
//!
//! A mark is written before the command starts and removed when the quarantine has moved everything. Whoever runs the command holds
//! a lock on it, which ends with the process; so a mark without a lock is one of a run that was killed.
//!
//! INVARIANT: only a mark that is whole, ours and in a folder of ours is believed. One that is not stops every run that may write,
//! until somebody has looked: it cannot be known what it was about.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::before::{Before, Known};
use crate::git::Target;
use crate::host::Identity;

/// The most a mark takes: a tree with more protected files is not granted.
const MAX_MARK: u64 = 256 << 20;
const ENDING: &str = "mark";

/// The folder of marks.
#[derive(Clone, Debug)]
pub(crate) struct Marks(PathBuf);

/// The mark of a run that is going on.
#[derive(Debug)]
pub(crate) struct Mark {
    path: PathBuf,
    _lock: File,
}

/// The mark of a run that was killed.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub(crate) path: PathBuf,
    pub(crate) before: Before,
    /// Held, so that nobody else looks at the same time.
    _lock: File,
}

impl Mark {
    /// Removes it: everything is done.
    ///
    /// # Errors
    ///
    /// It cannot be removed, and will be looked at again.
    pub(crate) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

impl Unfinished {
    /// Removes it: everything is done.
    ///
    /// # Errors
    ///
    /// It cannot be removed, and will be looked at again.
    pub(crate) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

impl Marks {
    /// Takes the folder, and makes it if it is missing.
    ///
    /// # Errors
    ///
    /// It cannot be made, or somebody else could write to it.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        if folder.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let found = folder.symlink_metadata()?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw();
        if found.is_dir() && is_ours && found.mode() & 0o077 == 0 {
            Ok(Self(folder.to_path_buf()))
        } else {
            Err(io::Error::other("it is not a folder that only this user can use"))
        }
    }

    /// Marks that a run begins.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn begin(&self, before: &Before) -> io::Result<Mark> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "{}-{}-{:016x}",
            rustix::process::getpid().as_raw_nonzero(),
            NEXT.fetch_add(1, Ordering::Relaxed),
            random()
        );
        // It gets its name when it is whole and locked.
        let (new, path) = (self.0.join(format!("{name}.new")), self.0.join(format!("{name}.{ENDING}")));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let made = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(&encode(before)?))
            .and_then(|()| std::fs::rename(&new, &path));
        if let Err(error) = made {
            let _removed = std::fs::remove_file(&new);
            return Err(error);
        }
        Ok(Mark { path, _lock: file })
    }

    /// Returns the marks of runs that were killed, as far as they are about folders that `concerns` names.
    ///
    /// # Errors
    ///
    /// One cannot be believed: which, and why.
    pub(crate) fn unfinished(
        &self,
        concerns: impl Fn(&Path) -> bool,
    ) -> Result<Vec<Unfinished>, (PathBuf, io::Error)> {
        let at = |error| (self.0.clone(), error);
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&self.0).map_err(at)? {
            let path = entry.map_err(at)?.path();
            if path.extension() != Some(OsStr::new(ENDING)) {
                continue;
            }
            match read(&path) {
                Ok(None) => {}
                Ok(Some((before, lock))) => {
                    if before.trees.iter().any(|tree| concerns(tree)) {
                        all.push(Unfinished { path, before, _lock: lock });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err((path, error)),
            }
        }
        Ok(all)
    }
}

fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Reads a mark and locks it; nothing where its run goes on, or has just ended.
fn read(path: &Path) -> io::Result<Option<(Before, File)>> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(nofollow).open(path)?;
    let found = file.metadata()?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if !found.is_file() || !is_ours || found.mode() & 0o077 != 0 || found.nlink() > 1 {
        return Err(io::Error::other("it is not a file that only this user can use"));
    }
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    // Whoever held the lock may have removed it in the meantime.
    if file.metadata()?.nlink() == 0 {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    (&mut file).take(MAX_MARK + 1).read_to_end(&mut bytes)?;
    let before = decode(&bytes).ok_or_else(|| io::Error::other("it is damaged"))?;
    Ok(Some((before, file)))
}

/// What stands in the file. Paths are bytes, in hexadecimal.
#[derive(Deserialize, Serialize)]
struct Stored {
    version: u32,
    trees: Vec<String>,
    named: Vec<String>,
    home: Option<String>,
    pointed: Vec<(String, bool)>,
    known: Vec<StoredFile>,
}

/// Path, device, inode, when a link was made, whether it is protected.
type StoredFile = (String, u64, u64, Option<(i64, i64)>, bool);

fn encode(before: &Before) -> io::Result<Vec<u8>> {
    let all = |paths: &[PathBuf]| paths.iter().map(|path| hex(path)).collect();
    let known = before.known.iter().map(|(path, known)| {
        (hex(path), known.identity.device, known.identity.inode, known.made, known.is_protected)
    });
    let stored = Stored {
        version: 1,
        trees: all(&before.trees),
        named: all(&before.named),
        home: before.home.as_deref().map(hex),
        pointed: before.pointed.iter().map(|target| (hex(&target.path), target.only_file)).collect(),
        known: known.collect(),
    };
    let body = serde_json::to_vec(&stored)?;
    let mut bytes = digest(&body).into_bytes();
    bytes.push(b'\n');
    bytes.extend(body);
    Ok(bytes)
}

fn decode(bytes: &[u8]) -> Option<Before> {
    let (head, body) = bytes.split_at_checked(64)?;
    let body = body.strip_prefix(b"\n")?;
    if digest(body).as_bytes() != head {
        return None;
    }
    let stored: Stored = serde_json::from_slice(body).ok().filter(|stored: &Stored| stored.version == 1)?;
    let all = |paths: Vec<String>| paths.iter().map(|path| unhex(path)).collect::<Option<Vec<_>>>();
    let pointed = |(path, only_file): (String, bool)| Some(Target { path: unhex(&path)?, only_file });
    let known = |(path, device, inode, made, is_protected): StoredFile| {
        Some((unhex(&path)?, Known { identity: Identity { device, inode }, made, is_protected }))
    };
    Some(Before {
        trees: all(stored.trees)?,
        named: all(stored.named)?,
        home: match stored.home {
            None => None,
            Some(home) => Some(unhex(&home)?),
        },
        pointed: stored.pointed.into_iter().map(pointed).collect::<Option<_>>()?,
        known: stored.known.into_iter().map(known).collect::<Option<_>>()?,
    })
}

fn digest(body: &[u8]) -> String {
    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<PathBuf> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Vec<u8> = text.as_bytes().chunks(2).map(byte).collect::<Option<_>>()?;
    let path = PathBuf::from(OsStr::from_bytes(&bytes));
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests;
